//! The loop around the decisions: events go in one by one, and effects are carried out in order.
//!
//! The loop runs on a separate thread, because writes to the journal block. Requests come from the services
//! through a channel, and each waits for its reply.

use crate::cluster::damage_check::Checker;
use crate::cluster::end_check::{EndCheck, LayerFiles, Row};
use crate::cluster::event::{
    Effect, Ending, Event, Held, Holding, Millis, Note, NoteLevel, Reply, RequestId,
};
use crate::cluster::handle::{Answer, CoordinatorHandle, KeptFiles, Message};
use crate::cluster::layer_remover::Retirer;
use crate::cluster::page_view::{LayerProgress, News, ShardStory, View};
use crate::cluster::parts::{GRACE, Secret};
use crate::cluster::report_bounds::Bounds;
use crate::cluster::restore::{check_committed, compare, drop_false, past, store_of};
use crate::cluster::service::require_small_shards;
use crate::cluster::state::{Rules, State};
use crate::cluster::suggested_commands::Commands;
use crate::cluster::wait_log::{self, Waiting};
use crate::cluster::{free_space, journal_tables, status};
use crate::far_layers::KeptShard;
use anyhow::{Context, Result, anyhow};
use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};
use fathom_command::{failpoint, machine};
use fathom_engine::commit::{Commit, commit_layer};
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::journal::{Files, LayerRow, LayersAt};
use fathom_engine::run::{Depth, Geometry, Keep, ShardId, ShardOrder, ShardReport, Task};
use fathom_engine::task::Store;
use fathom_layer::{Digest, Disk};
use fathom_proto::access::Access;
use fathom_proto::{Done, Failure, Latencies, Outcome, StoredFile, WorkerId};
use fathom_report::text::many;
use rusqlite::Connection;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{broadcast, oneshot};
use tracing::{debug, info, warn};

/// The last event of a coordinator. Its detail says how the run ended.
pub const SERVING_ENDS: &str = "serving ends";
/// Interval of [`Event::Tick`].
const TICK: Duration = Duration::from_millis(100);
/// Time for which the loop waits for the check of the last layers before it turns to other events. Few checks take
/// longer.
const CHECK_WAIT: Duration = Duration::from_millis(200);
/// Number of lines that a watcher of events may lag behind before lines are dropped.
const EVENTS: usize = 1024;

/// The state of the loop.
pub struct Coordinator<'d> {
    run: RunDirectory,
    disk: &'d dyn Disk,
    geometry: Geometry,
    symmetries: u64,
    layers_at: LayersAt,
    /// The store that all workers share; `None` if each has its own.
    store: Option<Arc<Store<'d>>>,
    /// Deletes or compresses layers in that store, while the run is served.
    retirer: Option<Retirer>,
    /// Checks files in that store that workers have reported as damaged.
    checker: Option<Checker>,
    state: State,
    /// The effects that were not carried out yet: they wait while the last layers are checked.
    effects: VecDeque<Effect>,
    /// The check of the last layers, while it is under way.
    end_check: Option<EndCheck>,
    /// The credentials for calls to workers.
    access: Access,
    messages: Receiver<Message>,
    /// Questions that arrived during the check, when the journal is behind the decisions.
    questions: VecDeque<Message>,
    events: broadcast::Sender<String>,
    requests: HashMap<RequestId, oneshot::Sender<Answer>>,
    addresses: Arc<BTreeMap<WorkerId, String>>,
    asked: u64,
    begun: Instant,
    /// Latencies of writes to the journal.
    journal: Latencies,
    /// The state of log messages about waits.
    waiting: Waiting,
    /// Events for a page.
    news: News,
    /// The last view, for a page that asks after the loop has ended.
    last_view: Arc<Mutex<Option<View>>>,
    /// Whether the run is ending.
    is_ending: Arc<AtomicBool>,
}

impl<'d> Coordinator<'d> {
    /// Continues a run from its journal, and starts a new epoch. `access` is for calls to workers.
    ///
    /// # Errors
    /// If the run does not pass its checks, or the journal or the store cannot be read or written.
    pub fn new(
        mut run: RunDirectory,
        disk: &'d dyn Disk,
        mut rules: Rules,
        layers_at: LayersAt,
        (access, commands): (Access, Commands),
    ) -> Result<(Self, CoordinatorHandle)> {
        let (space, colouring) = run.manifest.open()?;
        let geometry = Geometry::new(&run.manifest, &space, &colouring)?;
        require_small_shards(&geometry)?;
        let symmetries = space.symmetries().len() as u64;
        let Visited { layers, .. } = run.visited()?;
        let all = run.all_states()?;
        rules.states = all;
        let counted =
            layers.first().map(|layer| (layer.classes.is_some(), layer.classes_with_inverse.is_some()));
        let watched = run.journal.watched().context("cannot read run.db")?.len();
        rules.bounds = Bounds::new(geometry, &space, watched, counted);
        let epoch =
            journal_tables::begin_epoch(&mut run.journal, &layers_at).context("cannot write run.db")?;
        let mut past = past(&run.journal, &layers, &rules).context("cannot read run.db")?;
        let store = store_of(&layers_at, &run.path, disk)?;
        if let Some(store) = &store {
            let next = Depth(layers.len() as u32);
            let read: Vec<Depth> = rules.lookback.below(next).collect();
            check_committed(&run.journal, store, &geometry, &read).with_context(|| {
                format!("the run in {} cannot continue until the right file is restored", run.path.display())
            })?;
            drop_false(&mut past, store, &geometry);
        }
        let addresses = past.workers.iter().map(|(id, _, address)| (*id, address.clone())).collect();
        let given_back: Vec<ShardId> = past.given_back.keys().copied().collect();
        let secret = Secret::random().context("cannot get random bytes for session numbers")?;
        let mut state = State::new(rules, epoch, past).with_secret(secret).with_commands(commands);
        state.draw_again();
        let (sender, messages) = unbounded();
        let (events, _) = broadcast::channel(EVENTS);
        let last_view: Arc<Mutex<Option<View>>> = Arc::default();
        let is_ending = Arc::<AtomicBool>::default();
        let handle = CoordinatorHandle {
            messages: sender,
            events: events.clone(),
            last_view: Arc::clone(&last_view),
            is_ending: Arc::clone(&is_ending),
        };
        let coordinator = Self {
            run,
            disk,
            geometry,
            symmetries,
            layers_at,
            store: store.map(Arc::new),
            retirer: None,
            checker: None,
            state,
            effects: VecDeque::new(),
            end_check: None,
            access,
            messages,
            questions: VecDeque::new(),
            events,
            requests: HashMap::new(),
            addresses: Arc::new(addresses),
            asked: 0,
            begun: Instant::now(),
            journal: Latencies::default(),
            waiting: Waiting::default(),
            news: News::default(),
            last_view,
            is_ending,
        };
        coordinator.sweep(&layers, &given_back)?;
        Ok((coordinator, handle))
    }

    /// Deletes the layers and shards that an earlier epoch recorded as removed but did not delete in time, if
    /// the coordinator has access to the store.
    fn sweep(&self, layers: &[LayerRow], given_back: &[ShardId]) -> Result<()> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        store.require_run(Digest(self.geometry.fingerprint))?;
        let older = self.state.scheduler().given_layer();
        let is_removed = |depth: Depth| {
            Some(depth) != older && layers.get(depth.0 as usize).is_some_and(|l| l.files == Files::Removed)
        };
        let removed = store.depths()?.into_iter().filter(|&depth| is_removed(depth));
        removed.into_iter().try_for_each(|depth| store.remove(depth))?;
        let given = older.into_iter().flat_map(|depth| given_back.iter().map(move |&shard| (depth, shard)));
        given.into_iter().try_for_each(|(depth, shard)| Ok(store.discard(Task { depth, shard })?))
    }

    /// Returns the partition of cosets into files, and their size.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the order in which workers get shards.
    pub fn order(&self) -> &ShardOrder {
        self.state.scheduler().order()
    }

    /// Returns the run.
    pub fn run(&self) -> &RunDirectory {
        &self.run
    }

    /// Serves until the run ends. Returns how the run ended, and the run.
    ///
    /// If the journal or the shared store cannot be read or written, or the counts of a layer are impossible.
    /// If the journal or the shared store cannot be read or written, or the counts of a layer cannot be true.
    pub fn serve(mut self) -> Result<(Ending, RunDirectory)> {
        std::thread::scope(|scope| {
            if let Some(store) = &self.store {
                let (geometry, keep) = (self.geometry, self.run.manifest.keep);
                let shared = Arc::clone(store);
                let retirer = Retirer::start(scope, move |depth| match keep {
                    Keep::Last | Keep::Two => shared.remove(depth),
                    Keep::All => shared.archive(&geometry, depth).map(drop),
                });
                let mut retirer = retirer.context("cannot start a thread")?;
                // Layers that an earlier coordinator did not compress in time.
                let layers = self.run.visited()?.layers;
                let old = layers.iter().rev().skip(2).filter(|layer| layer.files == Files::Live);
                old.for_each(|layer| retirer.retire(layer.depth));
                self.retirer = Some(retirer);
                let shared = Arc::clone(store);
                let checker = Checker::start(scope, shared, self.geometry);
                self.checker = Some(checker.context("cannot start a thread")?);
            }
            self.until_end()
        })
    }

    fn until_end(mut self) -> Result<(Ending, RunDirectory)> {
        info!(
            run = self.name(),
            depth = self.state.depth().0,
            epoch = self.state.epoch(),
            shards = self.state.rules().shards,
            layers_at = %self.layers_at,
            "serving"
        );
        if self.state.ending().is_some() {
            info!(patience_s = GRACE.as_secs(), "the run has ended; waiting to inform its workers");
        }
        let mut ticked = Instant::now();
        loop {
            self.note_retired(false)?;
            while let Some(event) = self.checker.as_ref().and_then(Checker::next) {
                if let Some(ending) = self.happened(event)? {
                    return self.ended(ending);
                }
            }
            // Ticks must occur even if requests never stop.
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                if let Some(ending) = self.happened(Event::Tick)? {
                    return self.ended(ending);
                }
            }
            self.is_ending.store(self.state.ending().is_some(), Ordering::Relaxed);
            self.tell_of_waits();
            let left = TICK.saturating_sub(ticked.elapsed());
            let event = match self.message(left) {
                Ok(Message::Ask(event, sender)) => {
                    self.asked += 1;
                    let request = RequestId(self.asked);
                    self.requests.insert(request, sender);
                    let event = self.compared(event(request));
                    match (&self.checker, self.called_damaged(&event)) {
                        (Some(checker), files) if !files.is_empty() => {
                            checker.check(event, files);
                            continue;
                        }
                        _ => event,
                    }
                }
                Ok(Message::Status(sender)) => {
                    let status = status::Status::new(&self.run, &self.state, self.now())?;
                    // The client may have disconnected.
                    let _ = sender.send(serde_json::to_string(&status)?);
                    continue;
                }
                Ok(Message::View(known_layers, sender)) => {
                    let _ = sender.send(self.view(known_layers)?);
                    continue;
                }
                Ok(Message::Progress(known_layers, sender)) => {
                    let _ = sender.send(LayerProgress::new(
                        &self.run,
                        &self.state,
                        self.geometry.cut,
                        known_layers,
                        self.now(),
                    )?);
                    continue;
                }
                Ok(Message::Files(sender)) => {
                    let layers = self.run.visited()?.layers;
                    let (holders, addresses) = (self.state.kept(), Arc::clone(&self.addresses));
                    let _ = sender.send(KeptFiles { holders, addresses, layers });
                    continue;
                }
                Ok(Message::Story(shard, sender)) => {
                    let _ = sender.send(ShardStory::new(&self.state, shard, self.now()));
                    continue;
                }
                // As if this process had been killed before the last layer was committed.
                Ok(Message::Terminate) if self.end_check.is_some() => return self.ended(Ending::Terminated),
                Ok(Message::Terminate) => Event::Terminate,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => Event::Terminate,
            };
            if let Some(ending) = self.happened(event)? {
                return self.ended(ending);
            }
        }
    }

    /// Applies an event, and carries out the effects. Returns how the run ended, if it has.
    fn happened(&mut self, event: Event) -> Result<Option<Ending>> {
        let now = self.now();
        for effect in self.state.apply(now, event) {
            match effect {
                // A worker sends its next heartbeat only after this answer, and counts as lost without it.
                Effect::Reply(_, Reply::Known | Reply::Unknown) if self.end_check.is_some() => {
                    self.carry_out(effect)?;
                }
                effect => self.effects.push_back(effect),
            }
        }
        self.carry_out_all()
    }

    /// Waits for a message. Questions wait while the last layers are checked.
    fn message(&mut self, wait: Duration) -> Result<Message, RecvTimeoutError> {
        let is_checking = self.end_check.is_some();
        if let Some(question) = self.questions.pop_front_if(|_| !is_checking) {
            return Ok(question);
        }
        match self.messages.recv_timeout(wait)? {
            message @ (Message::Ask(..) | Message::Terminate) => Ok(message),
            question if is_checking => {
                self.questions.push_back(question);
                Err(RecvTimeoutError::Timeout)
            }
            question => Ok(question),
        }
    }

    /// Returns the files that a report calls damaged.
    fn called_damaged(&self, event: &Event) -> Vec<StoredFile> {
        let Event::Report { outcomes, .. } = event else {
            return Vec::new();
        };
        let named = |outcome: &Outcome| match &outcome.result {
            Err(Failure::Damaged { file, .. }) => Some(*file),
            _ => None,
        };
        let named: BTreeSet<Task> = outcomes.iter().filter_map(named).collect();
        named.into_iter().map(|file| self.state.stored(file)).collect()
    }

    /// Returns the view for a page that has `known_layers` committed layers.
    fn view(&mut self, known_layers: usize) -> Result<View> {
        let told = (&self.journal, self.news.take());
        View::new(&self.run, &self.state, self.now(), known_layers, told)
    }

    /// Keeps the last view for the page, if there is one.
    fn ended(mut self, ending: Ending) -> Result<(Ending, RunDirectory)> {
        // Without workers a run ends immediately when it is stopped.
        self.is_ending.store(true, Ordering::Relaxed);
        if matches!(ending, Ending::Complete | Ending::MaxDepth) {
            self.note_retired(true)?;
        }
        if self.news.pieces.is_some() {
            let view = self.view(0)?;
            *self.last_view.lock().expect("no thread panics while it holds the lock") = Some(view);
        }
        Ok((ending, self.run))
    }

    /// Turns the reports in an event that contradict their files into failures, so that they never get into
    /// the journal. Only possible in a shared store, which the coordinator can read.
    fn compared(&self, event: Event) -> Event {
        let Some(store) = &self.store else {
            return event;
        };
        let mut event = event;
        let Event::Report { outcomes, .. } = &mut event else {
            return event;
        };
        for outcome in outcomes {
            // An audit keeps no file: its report is compared with that of the producer.
            if let Ok(Done::Made(report) | Done::Found(report)) = &outcome.result
                && !self.state.is_audit(outcome)
                && let Err(reason) = compare(store, &self.geometry, report)
            {
                outcome.result = Err(Failure::Other(format!("the report contradicts the file: {reason}")));
            }
        }
        event
    }

    fn now(&self) -> Millis {
        Millis(self.begun.elapsed().as_millis() as u64)
    }

    /// Returns the short name of the run, for logs.
    fn name(&self) -> String {
        self.run.manifest.fingerprint.to_string()[..16].to_owned()
    }

    /// Records which layers were deleted or compressed in the shared store. `waits` for all that are under
    /// way.
    fn note_retired(&mut self, waits: bool) -> Result<()> {
        while let Some(depth) = self.retirer.as_mut().and_then(|retirer| retirer.next(waits)) {
            let depth = depth?;
            if self.run.manifest.keep == Keep::All {
                self.run.journal.set_files(depth, Files::Archived).context("cannot write run.db")?;
            }
        }
        let is_behind = self.retirer.as_ref().is_some_and(Retirer::is_behind);
        self.state.set_behind(is_behind);
        Ok(())
    }

    fn carry_out_all(&mut self) -> Result<Option<Ending>> {
        while let Some(effect) = self.effects.pop_front() {
            if let Effect::Commit(reports, ..) = &effect
                && !self.may_commit(reports)?
            {
                self.effects.push_front(effect);
                return Ok(None);
            }
            if let Some(ending) = self.carry_out(effect)? {
                self.tell(json!({ "message": SERVING_ENDS, "detail": ending.words() }));
                return Ok(Some(ending));
            }
        }
        Ok(None)
    }

    /// Logs why the run waits, if it has waited for long, and that it continues.
    fn tell_of_waits(&mut self) {
        let now = self.now();
        match self.waiting.look(now, || status::obstacle(&self.state, now)) {
            Some(wait_log::News::Waits(detail)) => {
                warn!(run = self.name(), detail, "run waits");
                self.tell(json!({"message": "run waits", "detail": detail}));
            }
            Some(wait_log::News::GoesOn) => {
                info!(run = self.name(), "run continues");
                self.tell(json!({"message": "run continues"}));
            }
            None => {}
        }
    }

    /// Checks states of the last layers before the last one is committed. Returns whether the layer may be
    /// committed now; otherwise the check is under way.
    ///
    /// # Errors
    /// If a state contradicts the moves.
    fn may_commit(&mut self, reports: &[Arc<ShardReport>]) -> Result<bool> {
        let Visited { layers, visited, .. } = self.run.visited()?;
        let depth = Depth(layers.len() as u32);
        let wait = if self.end_check.is_some() { Duration::ZERO } else { CHECK_WAIT };
        if self.end_check.is_none() {
            let states: u64 = reports.iter().map(|report| report.totals.states).sum();
            let Rules { states: all, max_depth, .. } = *self.state.rules();
            if visited.saturating_add(states) < all && max_depth != Some(depth.0) {
                return Ok(true);
            }
            let check = self.rows(&layers, reports).and_then(|rows| {
                let check = EndCheck::start(self.run.manifest.clone(), rows, self.access.clone());
                check.context("cannot start a thread")
            });
            self.end_check = match check {
                Ok(check) => Some(check),
                Err(error) => {
                    warn!(depth = depth.0, error = format!("{error:#}"), "spot check failed to run");
                    return Ok(true);
                }
            };
        }
        let Some(found) = self.end_check.as_ref().and_then(|check| check.result(wait)) else {
            return Ok(false);
        };
        self.end_check = None;
        match found {
            Ok((states, None)) => debug!(depth = depth.0, states, "spot check agrees"),
            Ok((_, Some(contradiction))) => {
                let at = contradiction.depth.unwrap_or(depth.0);
                return Err(anyhow!(
                    "depth {depth} contradicts the puzzle's moves in the state {}, at depth {at}: {}. The run is wrong: do not use its results",
                    contradiction.state,
                    contradiction.reason
                ));
            }
            Err(error) => {
                warn!(depth = depth.0, error = format!("{error:#}"), "spot check failed to run");
            }
        }
        Ok(true)
    }

    /// Returns all layers for the check, and the one that is about to be committed.
    fn rows(&self, layers: &[LayerRow], reports: &[Arc<ShardReport>]) -> Result<Vec<Row>> {
        let newest = Depth(layers.len() as u32);
        let mut rows = Vec::with_capacity(layers.len() + 1);
        for row in layers {
            // Shards of the older of two layers are released.
            let before = if self.run.manifest.keep == Keep::Two { 1 } else { 2 };
            let is_read = row.depth.0 + before >= newest.0 && row.files != Files::Removed;
            let files = if is_read { self.layer_files(row.depth)? } else { LayerFiles::Unread };
            rows.push(Row { states: row.states, stored: row.stored, files });
        }
        let sum =
            |number: fn(&ShardReport) -> u64| -> u64 { reports.iter().map(|report| number(report)).sum() };
        let (states, stored) = (sum(|report| report.totals.states), sum(|report| report.totals.stored));
        rows.push(Row { states, stored, files: self.layer_files(newest)? });
        Ok(rows)
    }

    /// Returns the files of one of the newest layers.
    fn layer_files(&self, depth: Depth) -> Result<LayerFiles> {
        if let Some(store) = &self.store {
            return Ok(LayerFiles::Here(Arc::new(store.open(&self.geometry, depth)?)));
        }
        let Some((_, holdings)) = self.state.newest().iter().find(|(held, _)| *held == depth) else {
            return Ok(LayerFiles::Unread);
        };
        let kept = |(shard, holding): (u32, &Holding)| KeptShard {
            depth: depth.0,
            shard,
            digest: holding.digest.map(|digest| digest.0.to_vec()).unwrap_or_default(),
            holders: holding.holders.iter().filter_map(|id| self.addresses.get(id).cloned()).collect(),
        };
        let shards: Vec<KeptShard> = (0..).zip(holdings).map(kept).collect();
        Ok(match shards.iter().all(|shard| !shard.holders.is_empty()) {
            true => LayerFiles::Far(shards),
            false => LayerFiles::Unread,
        })
    }

    fn commit(&mut self, reports: &[Arc<ShardReport>], took: Duration, held: &Held) -> Result<()> {
        failpoint::point("committing");
        let seconds = took.as_secs_f64();
        let note_commit =
            |database: &Connection, retired| journal_tables::note_commit(database, retired, held);
        let commit = Commit { symmetries: self.symmetries, seconds, process: None, waits: None };
        let begun = Instant::now();
        let layer = commit_layer(&mut self.run, self.disk, reports, commit, &note_commit)?;
        self.journal.note(begun.elapsed());
        failpoint::point("committed");
        self.news.layer(layer.depth, format!("{} in {seconds:.1} s", many(layer.states, "state")));
        self.tell(json!({"message": "layer done", "depth": layer.depth.0, "states": layer.states}));
        if let Some(detail) = free_space::warning(&self.run, &self.state, &self.geometry)? {
            warn!(depth = layer.depth.0, detail, "low disk space");
            self.news.room(layer.depth, detail);
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<Option<Ending>> {
        let failed = "cannot write run.db";
        match effect {
            Effect::Reply(request, reply) => {
                if let Some(sender) = self.requests.remove(&request) {
                    failpoint::point("replying");
                    // A worker that no longer waits will ask again.
                    let _ = sender.send(Answer { reply, addresses: Arc::clone(&self.addresses) });
                }
            }
            Effect::SaveReports(made, held) => {
                failpoint::point("saving");
                let begun = Instant::now();
                journal_tables::save_reports(&mut self.run.journal, &made, &held).context(failed)?;
                self.journal.note(begun.elapsed());
            }
            Effect::Release(files, held) => {
                let begun = Instant::now();
                journal_tables::give_back(&mut self.run.journal, &files, &held).context(failed)?;
                self.journal.note(begun.elapsed());
                failpoint::point("releasing");
                if let Some(store) = &self.store {
                    files.iter().try_for_each(|&(file, _)| store.discard(file))?;
                }
                failpoint::point("released");
            }
            Effect::ForgetReports(tasks) => {
                journal_tables::forget_reports(&mut self.run.journal, &tasks).context(failed)?;
            }
            Effect::Doubt(task) => self.run.journal.doubt(task).context(failed)?,
            Effect::Quarantined(id) => {
                journal_tables::quarantine(&mut self.run.journal, id).context(failed)?
            }
            Effect::SaveWorker(id, name, address) => {
                let begun = Instant::now();
                journal_tables::save_worker(&mut self.run.journal, id, &name, &address).context(failed)?;
                self.journal.note(begun.elapsed());
                Arc::make_mut(&mut self.addresses).insert(id, address);
            }
            Effect::Commit(reports, took, held) => self.commit(&reports, took, &held)?,
            Effect::RetireShared(depth) => {
                if let Some(retirer) = &mut self.retirer {
                    retirer.retire(depth);
                }
            }
            Effect::DiscardShared(task) => {
                if let Some(store) = &self.store {
                    store.discard_wrong(&self.geometry, task)?;
                }
            }
            Effect::NoteTold => journal_tables::note_told(&mut self.run.journal).context(failed)?,
            Effect::Note(note) => self.note(&note),
            Effect::End(ending) => {
                let sent: u64 =
                    self.state.members().iter().map(|(_, worker)| worker.progress.sent_bytes).sum();
                info!(
                    run = self.name(),
                    ending = ending.words(),
                    sent_bytes = sent,
                    seconds = self.begun.elapsed().as_secs_f64(),
                    processor_seconds = machine::processor_seconds(),
                    "{SERVING_ENDS}"
                );
                return Ok(Some(ending));
            }
        }
        Ok(None)
    }

    fn note(&mut self, note: &Note) {
        let Note { kind, worker, task, attempt, detail } = note;
        let (depth, shard) = (task.map(|task| task.depth.0), task.map(|task| task.shard.0));
        let worker = worker.map(|worker| worker.to_string());
        let attempt = attempt.map(|attempt| attempt.to_string());
        let (run, what) = (self.name(), kind.message());
        self.news.note(note);
        match kind.level() {
            NoteLevel::Detail => debug!(run, depth, shard, attempt, worker, detail, "{what}"),
            NoteLevel::Warning => warn!(run, depth, shard, attempt, worker, detail, "{what}"),
            NoteLevel::Info => info!(run, depth, shard, attempt, worker, detail, "{what}"),
        }
        self.tell(json!({
            "message": what, "depth": depth, "shard": shard, "attempt": attempt, "worker": worker, "detail": detail,
        }));
    }

    /// Sends an event to the watchers, if there are any.
    fn tell(&self, event: serde_json::Value) {
        if self.events.receiver_count() == 0 {
            return;
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let mut event = event;
        event["time_unix_ms"] = json!(time);
        // An error means that there are no watchers.
        let _ = self.events.send(event.to_string());
    }
}
