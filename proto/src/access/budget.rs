//! A memory budget for the requests of all callers together.
//!
//! A request takes from the budget what has arrived of its message, and releases it when it is answered. A
//! message that does not fit is refused with [`ResourceExhausted`](tonic::Code::ResourceExhausted), and may
//! be sent again later. The size of a single message is limited by each service.

use bytes::Buf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, BoxFuture, Service, http};
use tower::Layer;

/// The memory for the messages of all requests, in bytes.
#[derive(Clone, Debug)]
pub struct Budget {
    most: u64,
    taken: Arc<AtomicU64>,
}

impl Budget {
    /// Creates a budget of `most` bytes.
    pub fn new(most: u64) -> Self {
        Self { most, taken: Arc::default() }
    }
}

/// The bytes that one request has taken.
#[derive(Debug)]
struct Share {
    budget: Budget,
    taken: AtomicU64,
}

impl Share {
    fn take(&self, bytes: u64) -> Result<(), Status> {
        let most = self.budget.most;
        let fits = |taken: u64| taken.checked_add(bytes).filter(|&sum| sum <= most);
        match self.budget.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => {
                self.taken.fetch_add(bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => Err(Status::resource_exhausted(format!(
                "the messages of all callers exceed the budget of {most} bytes: try again later"
            ))),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.taken.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The body of a request, which takes its bytes from the budget.
struct Counted {
    body: Body,
    share: Arc<Share>,
}

impl HttpBody for Counted {
    type Data = bytes::Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(status) = self.share.take(data.remaining() as u64)
        {
            return Poll::Ready(Some(Err(status)));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

impl<S> Layer<S> for Budget {
    type Service = Budgeted<S>;

    fn layer(&self, service: S) -> Self::Service {
        Budgeted { service, budget: self.clone() }
    }
}

/// A service whose requests take their bytes from the budget.
#[derive(Clone, Debug)]
pub struct Budgeted<S> {
    service: S,
    budget: Budget,
}

impl<S> Service<http::Request<Body>> for Budgeted<S>
where
    S: Service<http::Request<Body>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<S::Response, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let share = Arc::new(Share { budget: self.budget.clone(), taken: AtomicU64::new(0) });
        let counted = Arc::clone(&share);
        let answer = self.service.call(request.map(|body| Body::new(Counted { body, share: counted })));
        Box::pin(async move {
            let answer = answer.await;
            drop(share);
            answer
        })
    }
}
