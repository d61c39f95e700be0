//! Checks of files for commands that verify or audit a run.

use super::{Counting, Exchange, refusal};
use fathom_engine::task::Words;
use fathom_engine::verify::verify_file;
use fathom_layer::LayerError;
use fathom_proto::StoredFile;
use fathom_proto::v1::{self, fetch_failure::Kind};
use fathom_space::CosetId;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tonic::Status;

impl Exchange {
    /// Runs `look` on a blocking thread, once a turn is free.
    pub(super) async fn inspect<T: Send + 'static>(
        &self,
        peer: Option<SocketAddr>,
        fingerprint: &[u8],
        turns: &Arc<Semaphore>,
        look: impl FnOnce(&Self) -> Result<T, v1::FetchFailure> + Send + 'static,
    ) -> Result<Result<T, v1::FetchFailure>, Status> {
        if let Some(failure) = self.other_run(fingerprint) {
            return Ok(Err(failure));
        }
        let never_closed = "the semaphores are never closed";
        let _of_peer = self.of_peer(peer).acquire_owned().await.expect(never_closed);
        let turn = Arc::clone(turns).acquire_owned().await.expect(never_closed);
        let this = self.clone();
        let found = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            look(&this)
        });
        found.await.map_err(|_| Status::internal("the file could not be inspected"))
    }

    fn counting(&self) -> Result<Counting, v1::FetchFailure> {
        let message = "this worker cannot count states".into();
        let other = Kind::Other(v1::Other { message });
        self.counting.ok_or(v1::FetchFailure { kind: Some(other) })
    }

    /// Checks a whole file, and counts its states again.
    pub(super) fn verify(&self, stored: StoredFile) -> Result<v1::VerifiedFile, v1::FetchFailure> {
        let task = stored.task;
        let Counting { job, store } = self.counting()?;
        // Map the file again, because an open file would not repeat its earlier checks.
        let open = || {
            let file = store.open_shard(&self.geometry, task.depth, task.shard)?;
            stored.digest.map_or(Ok(()), |digest| file.check_digest(digest)).map(|()| file)
        };
        let file = open().map_err(|error| refusal(task, &error))?;
        let report = verify_file(job, store, &file, task.depth).map_err(|error| {
            match error.downcast_ref::<LayerError>() {
                Some(error) => refusal(task, error),
                None => v1::FetchFailure {
                    kind: Some(Kind::Damaged(v1::Damaged {
                        file: Some(task.into()),
                        address: String::new(),
                        message: format!("{error:#}"),
                    })),
                },
            }
        })?;
        Ok(v1::VerifiedFile { file_bytes: report.bytes, states: report.totals.states })
    }

    /// Returns which of the given places (coset, position) have a state, and the stored states of the given
    /// words. The words of a shard are numbered from 0 in the order of cosets. They can be looked up only if
    /// `places` is empty, because the words are counted only then.
    pub(super) fn look_up(
        &self,
        stored: StoredFile,
        places: &[(u32, u32)],
        words: &[u64],
    ) -> Result<v1::LookedUp, v1::FetchFailure> {
        let refused = |error: LayerError| refusal(stored.task, &error);
        let graph = &self.counting()?.job.graph;
        let file = self.files.open(stored.task).map_err(refused)?;
        stored.digest.map_or(Ok(()), |digest| file.check_digest(digest)).map_err(refused)?;
        let cosets = self.geometry.cut.range(stored.task.shard);
        let first = cosets.start;
        let read = |coset: CosetId| file.coset(coset.0 - first);
        let has = |&(coset, position): &(u32, u32)| Ok(read(CosetId(coset))?.contains(position));
        let found = places.iter().map(has).collect::<Result<_, _>>().map_err(refused)?;
        // Counting reads the whole directory, and most requests are for places only.
        let counted = if places.is_empty() { cosets } else { first..first };
        let states = |coset: CosetId| Ok(file.states(coset.0 - first)?.0);
        let all = Words::count(graph, counted, states).map_err(refused)?;
        let place = |&word: &u64| all.place(graph, word.into(), read).map_err(refused);
        let of_words = words.iter().map(place).collect::<Result<Option<Vec<_>>, _>>()?;
        let number = u64::try_from(all.number()).ok();
        let (Some(of_words), Some(words)) = (of_words, number) else {
            let message = "the file has fewer words than requested, or too many to number".into();
            return Err(v1::FetchFailure { kind: Some(Kind::Other(v1::Other { message })) });
        };
        let of_words = of_words.into_iter().map(|(coset, position)| v1::Place { coset: coset.0, position });
        Ok(v1::LookedUp { found, of_words: of_words.collect(), words })
    }
}
