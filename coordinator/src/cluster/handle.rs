//! The handle with which services, pages and displays query the loop of the coordinator.

use crate::cluster::event::{Event, Holders, Reply, RequestId};
use crate::cluster::page_view::{LayerProgress, ShardStory, View};
use crossbeam_channel::Sender;
use fathom_engine::journal::{self, LayerRow};
use fathom_engine::run::ShardId;
use fathom_proto::WorkerId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{broadcast, oneshot};

/// The interval between checks whether the loop is blocked.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A reply, with the addresses of the workers.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The reply.
    pub reply: Reply,
    /// The addresses of all known workers.
    pub addresses: Arc<BTreeMap<WorkerId, String>>,
}

/// A request to the loop. All but the last carry the sender of their reply.
pub(super) enum Message {
    Ask(Box<dyn FnOnce(RequestId) -> Event + Send>, oneshot::Sender<Answer>),
    Status(oneshot::Sender<String>),
    View(usize, oneshot::Sender<View>),
    Progress(usize, oneshot::Sender<LayerProgress>),
    Files(oneshot::Sender<KeptFiles>),
    Story(ShardId, oneshot::Sender<ShardStory>),
    Terminate,
}

/// The handle to the loop, for other threads.
#[derive(Clone, Debug)]
pub struct CoordinatorHandle {
    pub(super) messages: Sender<Message>,
    pub(super) events: broadcast::Sender<String>,
    pub(super) last_view: Arc<Mutex<Option<View>>>,
    pub(super) is_ending: Arc<AtomicBool>,
}

/// The kept files of the committed layers.
#[derive(Clone, Debug)]
pub struct KeptFiles {
    /// The holders of each file.
    pub holders: Holders,
    /// The addresses of all known workers.
    pub addresses: Arc<BTreeMap<WorkerId, String>>,
    /// All committed layers, kept or not.
    pub layers: Vec<LayerRow>,
}

/// The error of a request to a loop that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the coordinator is ending")]
pub struct Closed;

/// Waits until the loop is blocked because it cannot write the journal. Returns the reason, as text.
pub async fn held_up() -> String {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if let Some(reason) = journal::obstacle() {
            return format!(
                "the coordinator cannot write run.db and is waiting ({reason}). Free some space on the disk of the run's directory, or end the process that locks run.db"
            );
        }
    }
}

impl CoordinatorHandle {
    /// Sends the message that carries the sender of its reply, and waits for the reply.
    async fn request<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, Closed> {
        let (sender, receiver) = oneshot::channel();
        self.messages.send(message(sender)).map_err(|_| Closed)?;
        receiver.await.map_err(|_| Closed)
    }

    /// Sends an event to the loop, and waits for its reply.
    ///
    /// # Errors
    /// [`Closed`] if the loop has ended.
    pub async fn ask(
        &self,
        event: impl FnOnce(RequestId) -> Event + Send + 'static,
    ) -> Result<Answer, Closed> {
        self.request(|sender| Message::Ask(Box::new(event), sender)).await
    }

    /// Returns the status of the run, as JSON.
    ///
    /// # Errors
    /// [`Closed`] if the loop has ended.
    pub async fn status(&self) -> Result<String, Closed> {
        self.request(Message::Status).await
    }

    /// Requests the view of the run for a page that has `known_layers` committed layers. The caller must wait
    /// for the view, which contains the events since the last one.
    ///
    /// # Errors
    /// [`Closed`] if the loop has ended.
    pub fn view(&self, known_layers: usize) -> Result<oneshot::Receiver<View>, Closed> {
        let (sender, receiver) = oneshot::channel();
        self.messages.send(Message::View(known_layers, sender)).map_err(|_| Closed)?;
        Ok(receiver)
    }

    /// Returns the progress of the current layer for a caller that has `known_layers` committed layers.
    ///
    /// # Errors
    /// [`Closed`] if the loop has ended.
    pub async fn progress(&self, known_layers: usize) -> Result<LayerProgress, Closed> {
        self.request(|sender| Message::Progress(known_layers, sender)).await
    }

    /// Takes the view at the time when the loop ended, with the events since the last view; `None` if there
    /// was no page, or the view was taken before.
    pub fn take_last_view(&self) -> Option<View> {
        self.last_view.lock().expect("no thread panics while it holds the lock").take()
    }

    /// Returns whether the run is ending, so that workers leave.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Returns the kept files of the committed layers, and their holders.
    ///
    /// # Errors
    /// [`Closed`] if the loop has ended.
    pub async fn files(&self) -> Result<KeptFiles, Closed> {
        self.request(Message::Files).await
    }

    /// Returns the history of a shard of the current layer.
    ///
    /// # Errors
    /// [`Closed`] if the loop has ended.
    pub async fn story(&self, shard: ShardId) -> Result<ShardStory, Closed> {
        self.request(|sender| Message::Story(shard, sender)).await
    }

    /// Tells the coordinator to end. The run continues when it is served again.
    pub fn terminate(&self) {
        // An error means that the loop has already ended.
        let _ = self.messages.send(Message::Terminate);
    }

    /// Stops the run and all its workers. The run continues when it is served again.
    pub fn stop(&self) {
        // Nobody waits for the reply.
        let (sender, _) = oneshot::channel();
        let _ = self.messages.send(Message::Ask(Box::new(Event::Stop), sender));
    }

    /// Subscribes to the events from now on, as lines of JSON.
    pub fn events(&self) -> broadcast::Receiver<String> {
        self.events.subscribe()
    }
}
