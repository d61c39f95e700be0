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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Synced(usize),
    Computed(usize),
    Fetched,
}

/// Returns the nanoseconds until all tasks are done and copied. Sources are requested one task a thread
/// ahead.
///
/// # Panics
/// If `threads` is 0.
pub fn worker(tasks: &[TaskTimes], threads: usize) -> u64 {
    assert!(threads > 0, "tasks need a thread");
    let mut events: BinaryHeap<Reverse<(u64, Event)>> = BinaryHeap::new();
    let mut ready: VecDeque<usize> = VecDeque::new();
    let (mut asked, mut fetched, mut idle) = (0, 0, threads);
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
        while asked < tasks.len() && asked < begun + idle + threads {
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
        let task = TaskTimes { fetch: 1, read: 1, compute: 1, write: 1, sync: 0, copy: 1 };
        let of = |task: TaskTimes| worker(&[task; 100], 4);
        assert_eq!(worker(&[], 4), 0);
        assert_eq!(worker(&[task], 4), 4);
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

    #[test]
    fn more_threads_are_never_slower() {
        let tasks: Vec<TaskTimes> = (0..100)
            .map(|n| TaskTimes {
                fetch: n * 7 % 13,
                read: n % 3,
                compute: 20 + n * 5 % 11,
                write: n * 3 % 5,
                sync: 2,
                copy: 0,
            })
            .collect();
        let times: Vec<u64> = [1, 2, 4, 8, 16, 200].map(|threads| worker(&tasks, threads)).into();
        assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    }
}
