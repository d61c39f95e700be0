//! Who makes which shard.
//!
//! A shard stays where its layers are, as long as no worker has more than its share by more than a shard: what is over goes to those that have
//! less. What nobody has yet is dealt out in contiguous pieces, because cosets that follow each other share sources. A
//! worker that has nothing left to do takes over what others have not begun, once the layer has taken long enough for
//! that to be worth the copying.

use crate::cluster::event::Millis;
use crate::cluster::state::{Making, State};
use fathom_proto::WorkerId;
use fathom_run::{ShardId, Task};
use std::collections::BTreeMap;
use std::time::Duration;

/// A layer that takes less is not worth moving shards for.
const WORTH_TAKING_OVER: Duration = Duration::from_secs(1);

/// What a shard weighs besides its bytes: some work is the same for all.
const SHARD_BYTES: u64 = 4096;

impl State {
    /// Deals out the shards of the layer in the making.
    pub fn plan_owners(&mut self) {
        let candidates: BTreeMap<WorkerId, u64> = self
            .alive()
            .filter(|(_, worker)| !worker.draining && worker.leaving.is_none())
            .map(|(id, worker)| (id, u64::from(worker.threads)))
            .collect();
        let threads: u64 = candidates.values().sum();
        if threads == 0 {
            self.owners.fill(None);
            return;
        }
        let weights: Vec<u64> = self.shards().map(|shard| self.weight(shard)).collect();
        let total: u64 = weights.iter().sum();
        let largest = weights.iter().copied().max().unwrap_or(0);
        // Shares add up to the whole; what is over by less than a shard is not worth moving.
        let share = |id: &WorkerId| total * candidates[id] / threads;
        let mut load: BTreeMap<WorkerId, u64> = candidates.keys().map(|&id| (id, 0)).collect();
        let mut owners = vec![None; weights.len()];
        let mut homeless = Vec::new();
        for (shard, &weight) in self.shards().zip(&weights) {
            let home = self.homes(shard).filter(|id| candidates.contains_key(id)).min_by_key(|id| load[id]);
            match home.filter(|id| load[id] + weight <= share(id) + largest) {
                Some(id) => {
                    owners[shard.0 as usize] = Some(id);
                    *load.get_mut(&id).expect("homes are candidates") += weight;
                }
                None => homeless.push(shard),
            }
        }
        // The rest in order, each worker up to its share; the last takes what rounding leaves.
        let mut takers: Vec<WorkerId> = candidates.keys().copied().collect();
        takers.sort_by_key(|id| std::cmp::Reverse(share(id).saturating_sub(load[id])));
        let mut takers = takers.into_iter().peekable();
        for shard in homeless {
            let weight = weights[shard.0 as usize];
            while let Some(id) = takers.peek()
                && load[id] + weight / 2 >= share(id)
                && takers.len() > 1
            {
                takers.next();
            }
            let id = *takers.peek().expect("the last one stays");
            owners[shard.0 as usize] = Some(id);
            *load.get_mut(&id).expect("takers are candidates") += weight;
        }
        self.owners = owners;
    }

    /// About what a shard takes, by its size in the newest layer.
    fn weight(&self, shard: ShardId) -> u64 {
        let newest = self.depth.previous().and_then(|depth| self.files.get(&Task { depth, shard }));
        newest.map_or(0, |file| file.bytes) + SHARD_BYTES
    }

    /// The workers that have the file of a shard already, or else those that have the layers that it is made from.
    fn homes(&self, shard: ShardId) -> impl Iterator<Item = WorkerId> {
        let own = Task { depth: self.depth, shard };
        let newest = self.depth.previous().map(|depth| Task { depth, shard });
        let known = if self.is_held(own) { Some(own) } else { newest };
        known.into_iter().flat_map(|task| self.holders_alive(task))
    }

    /// The tasks that a worker gets, at most so many.
    pub fn tasks_for(&self, worker: WorkerId, most: usize, now: Millis) -> Vec<Task> {
        let open = |task: &Task| {
            let state = &self.tasks[task];
            matches!(state.making, Making::Waiting) && state.not_before <= now
        };
        // A layer without all of its shards can be made no further. What is missing may itself be made again.
        let (repairs, tasks): (Vec<Task>, Vec<Task>) =
            self.tasks.keys().copied().filter(open).partition(|task| task.depth != self.depth);
        if !self.missing.is_empty() {
            return repairs.into_iter().take(most).collect();
        }
        let owner = |task: &Task| self.owners[task.shard.0 as usize];
        let mut chosen: Vec<Task> = repairs;
        chosen.extend(tasks.iter().copied().filter(|task| owner(task).is_none_or(|owner| owner == worker)));
        if chosen.is_empty() && now.since(self.begun) >= WORTH_TAKING_OVER {
            chosen.extend(self.taken_over(&tasks, now));
        }
        chosen.truncate(most);
        chosen
    }

    /// The last task of the worker that has most left, beyond what it can begin at once; that is nothing if its disk is full.
    fn taken_over(&self, tasks: &[Task], now: Millis) -> Option<Task> {
        let mut left: BTreeMap<WorkerId, Vec<Task>> = BTreeMap::new();
        for task in tasks {
            if let Some(owner) = self.owners[task.shard.0 as usize] {
                left.entry(owner).or_default().push(*task);
            }
        }
        let threads = |id: &WorkerId| self.workers.get(id).map_or(1, |worker| worker.threads as usize);
        let is_full = |id: &WorkerId| self.workers.get(id).is_some_and(|worker| worker.full_until > now);
        left.retain(|id, tasks| tasks.len() > threads(id) || !self.is_alive(*id) || is_full(id));
        let (_, tasks) = left.into_iter().max_by_key(|(id, tasks)| tasks.len() / threads(id))?;
        tasks.last().copied()
    }
}
