//! Simulates one worker's depth, event by event: the link brings the sources of tasks in order, threads
//! compute the tasks, all share one disk, and new files are copied to other workers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The time that a task takes of each resource alone, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// Time of the link, to fetch sources from peers.
    pub fetch: u64,
    /// Time of the disk, to write what was fetched and to read layers, while the task computes.
    pub read: u64,
    /// Time of a thread.
    pub compute: u64,
    /// Time of the disk, to write the new file, while the thread waits.
    pub write: u64,
    /// Time after that until the file is synced. The thread waits, but the disk is free for other tasks.
    pub sync: u64,
    /// Time of the link, to send copies of the file.
    pub copy: u64,
    /// Fetched bytes in memory while the task is under way: what lies between these numbers, both counted
    /// from the first byte that was fetched. Neither is smaller than that of an earlier task.
    pub span: [u64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Synced(usize),
    Computed(usize),
    Fetched,
}

/// Returns the nanoseconds until all tasks are done and copied. Sources are requested one task a thread
/// ahead, unless they do not fit into `memory` bytes beside those of the tasks under way.
///
/// # Panics
/// If `threads` is 0.
pub fn worker(tasks: &[TaskTimes], threads: usize, memory: u64) -> u64 {
    assert!(threads > 0, "tasks need a thread");
    let mut events: BinaryHeap<Reverse<(u64, Event)>> = BinaryHeap::new();
    let mut ready: VecDeque<usize> = VecDeque::new();
    let (mut asked, mut fetched, mut idle) = (0, 0, threads);
    // Whether each task was computed, and the first task that was not.
    let mut computed = vec![false; tasks.len()];
    let mut under_way = 0;
    let (mut link_in, mut link_out, mut disk, mut end) = (0, 0, 0, 0);
    let mut now = 0;
    loop {
        while idle > 0
            && let Some(task) = ready.pop_front()
        {
            idle -= 1;
            disk = now.max(disk) + tasks[task].read;
            events.push(Reverse(((now + tasks[task].compute).max(disk), Event::Computed(task))));
        }
        // Running, fetched and requested tasks: at most two for each thread.
        let begun = fetched - ready.len();
        let fits =
            |task: usize| task == under_way || tasks[task].span[1] - tasks[under_way].span[0] <= memory;
        while asked < tasks.len() && asked < begun + idle + threads && fits(asked) {
            link_in = now.max(link_in) + tasks[asked].fetch;
            events.push(Reverse((link_in, Event::Fetched)));
            asked += 1;
        }
        let Some(Reverse((time, event))) = events.pop() else {
            return end;
        };
        now = time;
        match event {
            Event::Fetched => {
                ready.push_back(fetched);
                fetched += 1;
            }
            Event::Computed(task) => {
                computed[task] = true;
                under_way += computed[under_way..].iter().take_while(|&&computed| computed).count();
                disk = now.max(disk) + tasks[task].write;
                events.push(Reverse((disk + tasks[task].sync, Event::Synced(task))));
            }
            Event::Synced(task) => {
                idle += 1;
                link_out = now.max(link_out) + tasks[task].copy;
                end = end.max(link_out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_resource_decides() {
        let task = TaskTimes { fetch: 1, read: 1, compute: 1, write: 1, copy: 1, ..TaskTimes::default() };
        let of = |task: TaskTimes| worker(&[task; 100], 4, 0);
        assert_eq!(worker(&[], 4, 0), 0);
        assert_eq!(worker(&[task], 4, 0), 4);
        for (end, task) in [
            (1003, TaskTimes { fetch: 10, ..task }),
            (250, TaskTimes { compute: 9, read: 0, fetch: 0, ..task }),
            (1000, TaskTimes { write: 9, ..task }),
            (1003, TaskTimes { copy: 10, ..task }),
        ] {
            let got = of(task);
            assert!((end..end + 20).contains(&got), "{task:?}: {got}");
        }
    }

    /// With memory for one task, a task is fetched when the one before is done; with memory for two,
    /// meanwhile.
    #[test]
    fn tasks_wait_for_memory() {
        let task = |number: u64| {
            let span = [number * 10, number * 10 + 10];
            TaskTimes { fetch: 5, compute: 5, span, ..TaskTimes::default() }
        };
        let tasks: Vec<TaskTimes> = (0..100).map(task).collect();
        assert_eq!(worker(&tasks, 1, 10), 1000);
        assert_eq!(worker(&tasks, 1, 19), 1000);
        assert_eq!(worker(&tasks, 1, 20), 505);
        // A task that takes more than all of the memory is made alone.
        assert_eq!(worker(&tasks, 4, 0), 1000);
    }

    #[test]
    fn more_threads_are_never_slower() {
        let tasks: Vec<TaskTimes> = (0..100)
            .map(|n| TaskTimes {
                fetch: n * 7 % 13,
                read: n % 3,
                compute: 20 + n * 5 % 11,
                write: n * 3 % 5,
                sync: 2,
                ..TaskTimes::default()
            })
            .collect();
        let times: Vec<u64> = [1, 2, 4, 8, 16, 200].map(|threads| worker(&tasks, threads, 0)).into();
        assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    }
}
