//! Which worker computes which shard.
//!
//! Each worker has a contiguous piece of the run's [order](fathom_engine::run::ShardOrder), in which
//! neighbours share sources; a piece stays with the worker that holds most of its files. A shard goes to the
//! worker with its piece, unless that worker would exceed its share of the bytes by more than one shard. Then
//! the shard stays with a holder of its files that is below its share, or else goes to another worker below
//! its share. A worker without tasks takes over tasks that others have not started, but only in a layer that
//! takes long enough to justify the copying.

use crate::cluster::event::Millis;
use crate::cluster::parts::{FileHolders, Worker};
use crate::cluster::state::State;
use fathom_engine::run::{Depth, Task};
use fathom_proto::WorkerId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Shards are taken over only once the layer has taken this long: in shorter layers copying costs more.
const WORTH_TAKING_OVER: Duration = Duration::from_secs(1);

/// The constant part of a shard's weight, in bytes: some work is the same for all shards.
const SHARD_BYTES: u64 = 4096;

/// A worker that is not leaving.
struct Candidate {
    id: WorkerId,
    threads: u32,
    /// Whether it can compute shards now.
    is_able: bool,
    /// The weight of its shards so far, in bytes.
    load: u64,
    /// The target weight, in bytes.
    share: u64,
}

impl State {
    /// Assigns the shards of the current layer to workers.
    pub(in crate::cluster) fn plan_owners(&mut self, now: Millis) {
        self.find_cut_off(now);
        self.scheduler.bound_ahead(self.members.alive().map(|(_, worker)| u64::from(worker.threads)).sum());
        let candidates: Vec<Candidate> = self
            .members
            .alive()
            .filter(|(_, worker)| worker.is_staying())
            .map(|(id, worker)| {
                let is_able = worker.is_able(now);
                Candidate { id, threads: worker.threads, is_able, load: 0, share: 0 }
            })
            .collect();
        let owners = self.deal(candidates);
        self.dirty += self.scheduler.deal(owners);
    }

    /// Finds the workers that cannot reach a file that tasks read, and the files for which another copy would
    /// help.
    fn find_cut_off(&mut self, now: Millis) {
        let ids: Vec<WorkerId> = self.members.alive().map(|(id, _)| id).collect();
        let mut relayed = BTreeSet::new();
        for id in ids {
            let beyond = self.beyond_reach(id, now);
            self.members.set_cut_off(id, !beyond.is_empty());
            relayed.extend(beyond);
        }
        self.dirty += self.files.set_relayed(relayed);
    }

    /// Returns the owner of each shard; `None` for all if no candidate is able.
    fn deal(&self, mut candidates: Vec<Candidate>) -> Vec<Option<WorkerId>> {
        let able = candidates.iter().filter(|candidate| candidate.is_able);
        let threads: u128 = able.map(|candidate| u128::from(candidate.threads)).sum();
        if threads == 0 {
            return vec![None; self.rules.shards as usize];
        }
        let newest = self.depth().previous().map(|depth| self.layer(depth));
        let own = self.layer(self.depth());
        // The cost of a shard is estimated by its size in the newest layer.
        let newest_of = |shard: usize| newest.as_ref().and_then(|layer| layer[shard]);
        let weights: Vec<u64> =
            (0..own.len()).map(|shard| newest_of(shard).map_or(0, |file| file.bytes) + SHARD_BYTES).collect();
        let total: u128 = weights.iter().copied().map(u128::from).sum();
        let largest = weights.iter().copied().max().unwrap_or(0);
        // The shares add up to the total, except for rounding.
        for candidate in candidates.iter_mut().filter(|candidate| candidate.is_able) {
            candidate.share = (total * u128::from(candidate.threads) / threads) as u64;
        }
        let index: HashMap<WorkerId, usize> =
            candidates.iter().map(|candidate| candidate.id).zip(0..).collect();
        // The homes of a shard are the holders of its file in the current layer, or else in the newest one.
        let is_held = |file: &&FileHolders| file.holders.iter().any(|&holder| self.members.is_alive(holder));
        let homes_of = |shard: usize| -> Vec<usize> {
            let known = own[shard].filter(is_held).or_else(|| newest_of(shard));
            known.into_iter().flat_map(|file| &file.holders).filter_map(|id| index.get(id)).copied().collect()
        };
        let homes: Vec<Vec<usize>> = (0..weights.len()).map(homes_of).collect();
        let pieces = self.pieces(&candidates, &homes);
        let mut owners = vec![None; weights.len()];
        let mut rest: Vec<usize> =
            self.scheduler.order().shards().iter().map(|shard| shard.0 as usize).collect();
        for by_piece in [true, false] {
            rest.retain(|&shard| {
                // A computed shard counts for its producer.
                let is_made = own[shard].filter(is_held).is_some();
                let wish = if by_piece && !is_made { &pieces[shard..=shard] } else { &homes[shard] };
                let able = wish.iter().copied().filter(|&at| candidates[at].is_able);
                let least = able.min_by_key(|&at| candidates[at].load);
                let has_room =
                    |at: &usize| candidates[*at].load + weights[shard] <= candidates[*at].share + largest;
                let owner = least.filter(has_room);
                if let Some(at) = owner {
                    owners[shard] = Some(candidates[at].id);
                    candidates[at].load += weights[shard];
                }
                owner.is_none()
            });
        }
        // Fill the workers up to their shares; the last worker takes the rounding remainder.
        candidates.retain(|candidate| candidate.is_able);
        candidates.sort_by_key(|candidate| Reverse(candidate.share.saturating_sub(candidate.load)));
        let mut at = 0;
        for shard in rest {
            let weight = weights[shard];
            while at + 1 < candidates.len() && candidates[at].load + weight / 2 >= candidates[at].share {
                at += 1;
            }
            owners[shard] = Some(candidates[at].id);
            candidates[at].load += weight;
        }
        owners
    }

    /// Returns, for each shard, the candidate whose piece of the order contains it. Pieces are in
    /// proportion to threads, and a worker that cannot compute for a while keeps a piece, so that the others
    /// keep theirs. `homes` are the candidates that have the files of each shard.
    fn pieces(&self, candidates: &[Candidate], homes: &[Vec<usize>]) -> Vec<usize> {
        let threads_of = |at: usize| u64::from(candidates[at].threads);
        let threads: u64 = (0..candidates.len()).map(threads_of).sum();
        let order = self.scheduler.order().shards();
        let mut pieces = vec![0; order.len()];
        let mut has_files = vec![false; candidates.len()];
        homes.iter().flatten().for_each(|&home| has_files[home] = true);
        let mut left: Vec<usize> = (0..candidates.len()).collect();
        let mut held = vec![0; candidates.len()];
        let (mut start, mut threads_before) = (0, 0);
        while !left.is_empty() {
            let end_with = |threads_here: u64| {
                let end = ((threads_before + threads_here) * order.len() as u64).div_ceil(threads);
                (end as usize).min(order.len())
            };
            let end = |at: usize| end_with(threads_of(at));
            // By candidate: how many shards of the piece it would get it already holds.
            let widest = left.iter().copied().map(threads_of).max().unwrap_or(0);
            held.fill(0);
            for (place, shard) in order.iter().enumerate().take(end_with(widest)).skip(start) {
                let here = homes[shard.0 as usize].iter().filter(|&&home| place < end(home));
                here.for_each(|&home| held[home] += 1);
            }
            let most = left.iter().copied().max_by_key(|&at| (held[at], Reverse(at)));
            // A piece that no worker holds most of goes to a worker without files, such as the replacement of
            // a lost worker.
            let newcomer = || left.iter().copied().find(|&at| !has_files[at]);
            let is_theirs = |at: &usize| 2 * held[*at] > end(*at) - start;
            let next = most.filter(is_theirs).or_else(newcomer).or(most);
            let next = next.expect("a candidate is left");
            order[start..end(next)].iter().for_each(|shard| pieces[shard.0 as usize] = next);
            (start, threads_before) = (end(next), threads_before + threads_of(next));
            left.retain(|&at| at != next);
        }
        pieces
    }

    /// Returns at most `most` tasks for a worker. Clears `may_take_over` if no task could be taken over.
    pub(super) fn tasks_for(
        &self,
        worker: WorkerId,
        most: usize,
        now: Millis,
        may_take_over: &mut bool,
    ) -> Vec<Task> {
        let is_open = |task: &Task| self.is_open(task, now);
        // Tasks of the current layer need all files of the layers below. A missing file may itself be
        // recomputed.
        if !self.files.missing().is_empty() {
            let repairs = self.tasks().unowned().iter().take_while(|task| task.depth != self.depth());
            let mut whole: BTreeMap<Depth, bool> = BTreeMap::new();
            // A repair whose own sources were lost after it started waits for their repair.
            let mut has_sources = |task: &&Task| {
                let mut below = self.rules.lookback.below(task.depth);
                let newest = below.next();
                let mut older = below.map(|depth| Task { depth, shard: task.shard });
                newest.is_none_or(|newest| {
                    *whole.entry(newest).or_insert_with(|| self.orphaned(newest).is_empty())
                }) && older.all(|file| self.is_held(file))
            };
            return repairs.filter(|task| is_open(task) && has_sources(task)).take(most).copied().collect();
        }
        let most = most.min(self.scheduler.room_ahead());
        if most == 0 {
            return Vec::new();
        }
        let queued = self.tasks().unowned().iter().copied().chain(self.tasks().queue(worker));
        let mut chosen: Vec<Task> = queued.filter(is_open).take(most).collect();
        if chosen.is_empty() && *may_take_over && now.since(self.scheduler.begun()) >= WORTH_TAKING_OVER {
            chosen.extend(self.taken_over(now));
            *may_take_over = !chosen.is_empty();
        }
        chosen
    }

    /// Returns whether a waiting task may be assigned now.
    fn is_open(&self, task: &Task, now: Millis) -> bool {
        self.tasks().get(*task).is_some_and(|state| state.not_before <= now)
    }

    /// Returns the last task of the worker with the most waiting tasks per thread, beyond those for which it
    /// has free threads.
    fn taken_over(&self, now: Millis) -> Option<Task> {
        let is_open = |task: &Task| self.is_open(task, now);
        let over = |(id, worker): &(WorkerId, &Worker)| {
            let threads = if worker.is_able(now) { worker.threads as usize } else { 0 };
            let busy = self.tasks().running(*id).len() + self.audits.running_with(*id);
            let begins = threads.saturating_sub(busy);
            let mut queue = self.tasks().queue(*id);
            queue.len() > begins && queue.any(|task| is_open(&task))
        };
        let per_thread =
            |(id, worker): &(WorkerId, &Worker)| self.tasks().queue(*id).len() / worker.threads as usize;
        let (most, _) = self.members.iter().filter(over).max_by_key(per_thread)?;
        self.tasks().queue(most).rev().find(is_open)
    }
}
