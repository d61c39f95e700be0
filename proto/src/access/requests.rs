//! The bodies of requests.

use bytes::Bytes;
use http_body::Frame;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::Request;

/// Marks the last frame of a request's body as the last. Otherwise an empty frame would mark the end,
/// which is sent and read separately.
pub(super) fn with_marked_end(request: Request<Body>) -> Request<Body> {
    request.map(|body| Body::new(Marked { body, next: None, has_ended: false }))
}

/// A body that looks one frame ahead.
struct Marked<B> {
    body: B,
    next: Option<Result<Frame<Bytes>, Status>>,
    has_ended: bool,
}

impl<B: http_body::Body<Data = Bytes, Error = Status> + Unpin> http_body::Body for Marked<B> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = match self.next.take() {
            Some(frame) => Some(frame),
            None => ready!(Pin::new(&mut self.body).poll_frame(context)),
        };
        if frame.is_some()
            && let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context)
        {
            self.has_ended = next.is_none();
            self.next = next;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;
    use std::task::Waker;

    /// Frames that come one by one, with a pause before the last one if `pauses`.
    struct Frames {
        left: Vec<&'static str>,
        pauses: bool,
    }

    impl http_body::Body for Frames {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            if self.left.len() == 1 && std::mem::take(&mut self.pauses) {
                return Poll::Pending;
            }
            let frame = (!self.left.is_empty()).then(|| self.left.remove(0));
            Poll::Ready(frame.map(|frame| Ok(Frame::data(Bytes::from_static(frame.as_bytes())))))
        }
    }

    #[test]
    fn last_frame_is_marked() {
        for pauses in [false, true] {
            let frames = Frames { left: vec!["a", "b", "c"], pauses };
            let mut marked = Marked { body: frames, next: None, has_ended: false };
            let mut context = Context::from_waker(Waker::noop());
            let mut came = Vec::new();
            while !marked.is_end_stream() {
                match Pin::new(&mut marked).poll_frame(&mut context) {
                    Poll::Ready(Some(frame)) => came.push(frame.unwrap().into_data().unwrap()),
                    Poll::Ready(None) => panic!("the end is not marked: {came:?}"),
                    Poll::Pending => {}
                }
            }
            assert_eq!(came, ["a", "b", "c"]);
        }
    }
}
