//! Who makes which shard.
//!
//! A shard stays where its layers are, as long as no worker has more than its share by more than a shard:
//! what is over goes to those that have less. What nobody has yet is dealt out in contiguous pieces, because
//! cosets that follow each other share sources. A worker that has nothing left to do takes over what others
//! have not begun, once the layer has taken long enough for that to be worth the copying.

use crate::cluster::event::Millis;
use crate::cluster::state::{HeldFile, State, Worker};
use fathom_run::WorkerId;
use fathom_run::{Depth, Task};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// A layer that takes less is not worth moving shards for.
const WORTH_TAKING_OVER: Duration = Duration::from_secs(1);

/// What a shard weighs besides its bytes: some work is the same for all.
const SHARD_BYTES: u64 = 4096;

/// A worker that can make shards.
struct Candidate {
    id: WorkerId,
    threads: u32,
    /// What it has been dealt, in bytes.
    load: u64,
    /// What it should have.
    share: u64,
}

impl State {
    /// Deals out the shards of the current layer.
    pub fn plan_owners(&mut self, now: Millis) {
        self.find_cut_off(now);
        self.bound_ahead(self.workers.alive().map(|(_, worker)| u64::from(worker.threads)).sum());
        let candidates: Vec<Candidate> = self
            .workers
            .alive()
            .filter(|(_, worker)| worker.is_able(now))
            .map(|(id, worker)| Candidate { id, threads: worker.threads, load: 0, share: 0 })
            .collect();
        let owners = self.deal(candidates);
        self.tasks.deal(owners);
        self.unsettled.all_awake = true;
    }

    /// Finds who cannot reach what tasks read, and the files that would help if others had them.
    fn find_cut_off(&mut self, now: Millis) {
        let ids: Vec<WorkerId> = self.workers.alive().map(|(id, _)| id).collect();
        let before = std::mem::take(&mut self.bridged);
        for id in ids {
            let beyond = self.beyond_reach(id, now);
            self.worker(id).is_cut_off = !beyond.is_empty();
            self.bridged.extend(beyond);
        }
        self.unsettled.files.extend(self.bridged.difference(&before));
    }

    /// The owner of each shard, if there are any candidates. Takes time in proportion to the shards.
    fn deal(&self, mut candidates: Vec<Candidate>) -> Vec<Option<WorkerId>> {
        let threads: u128 = candidates.iter().map(|candidate| u128::from(candidate.threads)).sum();
        if threads == 0 {
            return vec![None; self.rules.shards as usize];
        }
        let newest = self.depth.previous().map(|depth| self.layer(depth));
        let own = self.layer(self.depth);
        // About what each shard takes: by its size in the newest layer.
        let newest_of = |shard: usize| newest.as_ref().and_then(|layer| layer[shard]);
        let weights: Vec<u64> =
            (0..own.len()).map(|shard| newest_of(shard).map_or(0, |file| file.bytes) + SHARD_BYTES).collect();
        let total: u128 = weights.iter().copied().map(u128::from).sum();
        let largest = weights.iter().copied().max().unwrap_or(0);
        // Shares add up to the whole; what is over by less than a shard is not worth moving.
        for candidate in &mut candidates {
            candidate.share = (total * u128::from(candidate.threads) / threads) as u64;
        }
        let index: HashMap<WorkerId, usize> =
            candidates.iter().map(|candidate| candidate.id).zip(0..).collect();
        // A shard's home: who has its file already, or else the file before.
        let mut owners = vec![None; weights.len()];
        let mut homeless = Vec::new();
        for (shard, &weight) in weights.iter().enumerate() {
            let is_held = |file: &&HeldFile| file.holders.iter().any(|&holder| self.is_alive(holder));
            let known = own[shard].filter(is_held).or_else(|| newest_of(shard));
            let homes = known.into_iter().flat_map(|file| &file.holders).filter_map(|id| index.get(id));
            let home = homes.copied().min_by_key(|&home| candidates[home].load);
            match home.filter(|&home| candidates[home].load + weight <= candidates[home].share + largest) {
                Some(home) => {
                    owners[shard] = Some(candidates[home].id);
                    candidates[home].load += weight;
                }
                None => homeless.push(shard),
            }
        }
        // The rest in order, each worker up to its share; the last takes what rounding leaves.
        candidates.sort_by_key(|candidate| Reverse(candidate.share.saturating_sub(candidate.load)));
        let mut at = 0;
        for shard in homeless {
            let weight = weights[shard];
            while at + 1 < candidates.len() && candidates[at].load + weight / 2 >= candidates[at].share {
                at += 1;
            }
            owners[shard] = Some(candidates[at].id);
            candidates[at].load += weight;
        }
        owners
    }

    /// The tasks that a worker gets, at most so many. Clears `may_take_over` when nothing is left that could
    /// be.
    pub fn tasks_for(
        &self,
        worker: WorkerId,
        most: usize,
        now: Millis,
        may_take_over: &mut bool,
    ) -> Vec<Task> {
        // A layer without all of its shards can be made no further. What is missing may itself be made again.
        if !self.missing.is_empty() {
            let repairs = self.tasks.unowned().iter().take_while(|task| task.depth != self.depth);
            let mut whole: BTreeMap<Depth, bool> = BTreeMap::new();
            // A repair whose own sources were lost since it was begun waits for their repair.
            let mut has_sources = |task: &&Task| {
                let mut below = self.rules.lookback.below(task.depth);
                let newest = below.next();
                let mut older = below.map(|depth| Task { depth, shard: task.shard });
                newest.is_none_or(|newest| {
                    *whole.entry(newest).or_insert_with(|| self.unheld(newest).is_empty())
                }) && older.all(|file| self.is_held(file))
            };
            return repairs
                .filter(|task| self.is_open(task, now) && has_sources(task))
                .take(most)
                .copied()
                .collect();
        }
        let most = most.min(self.room_ahead());
        if most == 0 {
            return Vec::new();
        }
        let queued = self.tasks.unowned().iter().chain(self.tasks.queue(worker));
        let mut chosen: Vec<Task> =
            queued.filter(|task| self.is_open(task, now)).take(most).copied().collect();
        if chosen.is_empty() && *may_take_over && now.since(self.begun) >= WORTH_TAKING_OVER {
            chosen.extend(self.taken_over(now));
            *may_take_over = !chosen.is_empty();
        }
        chosen
    }

    /// Whether a task that waits may be given out now.
    fn is_open(&self, task: &Task, now: Millis) -> bool {
        self.tasks.get(*task).is_some_and(|state| state.not_before <= now)
    }

    /// The last task of the worker that has most left, beyond what it can begin at once.
    fn taken_over(&self, now: Millis) -> Option<Task> {
        let over = |(id, worker): &(WorkerId, &Worker)| {
            let begins = if worker.is_able(now) { worker.threads as usize } else { 0 };
            let queue = self.tasks.queue(*id);
            queue.len() > begins && queue.iter().any(|task| self.is_open(task, now))
        };
        let per_thread =
            |(id, worker): &(WorkerId, &Worker)| self.tasks.queue(*id).len() / worker.threads as usize;
        let (most, _) = self.workers.iter().filter(over).max_by_key(per_thread)?;
        self.tasks.queue(most).iter().rev().find(|task| self.is_open(task, now)).copied()
    }
}
