//! Binds threads to NUMA nodes, so that a thread and the memory that it touches first stay on one socket.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::path::Path;

/// Binds the calling thread, number `number` of `threads`, to the processors of one node. Threads with neighbouring numbers
/// share a node. Does nothing if this process may use one node only, or if the threads fit into one.
pub fn bind(number: usize, threads: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let nodes = nodes(Path::new("/sys/devices/system/node"), |cpu| allowed.is_set(cpu));
    if let Some(node) = node_of(&nodes, number, threads) {
        let mut processors = CpuSet::new();
        node.iter().for_each(|&cpu| processors.set(cpu));
        // A thread that is not bound is only slower.
        let _ = sched_setaffinity(None, &processors);
    }
}

/// Returns the processors of the node for a thread; `None` if it need not be bound.
fn node_of(nodes: &[Vec<usize>], number: usize, threads: usize) -> Option<&Vec<usize>> {
    let largest = nodes.iter().map(Vec::len).max()?;
    (nodes.len() > 1 && threads > largest).then(|| &nodes[number % threads * nodes.len() / threads])
}

/// Returns the processors of each node that are allowed, without nodes that have none, as the directories
/// `node0`, `node1`, … below `root` list them.
fn nodes(root: &Path, is_allowed: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let lists = (0..).map_while(|node| fs::read_to_string(root.join(format!("node{node}/cpulist"))).ok());
    let nodes = lists.map(|list| processors(&list).filter(|&cpu| is_allowed(cpu)).collect::<Vec<_>>());
    nodes.filter(|node| !node.is_empty()).collect()
}

/// Reads a list such as `0-3,8`. Numbers beyond those of a set of processors are left out.
fn processors(list: &str) -> impl Iterator<Item = usize> + '_ {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    list.split(',').filter_map(range).flatten().filter(|&cpu| cpu < CpuSet::MAX_CPU)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_spread_over_nodes_in_order() {
        let root = tempfile::tempdir().unwrap();
        for (node, list) in ["0-3,8-9\n", "4-7\n", "\n"].iter().enumerate() {
            let directory = root.path().join(format!("node{node}"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("cpulist"), list).unwrap();
        }
        let all = nodes(root.path(), |_| true);
        assert_eq!(all, [vec![0, 1, 2, 3, 8, 9], vec![4, 5, 6, 7]]);
        let first_of = |number, threads| node_of(&all, number, threads).map(|node| node[0]);
        for number in 0..8 {
            assert_eq!(first_of(number, 8), Some(number / 4 * 4));
            assert_eq!(first_of(number, 6), None, "six threads fit into the first node");
        }
        let some = nodes(root.path(), |cpu| cpu < 4);
        assert_eq!(some, [[0, 1, 2, 3]]);
        assert_eq!(node_of(&some, 5, 8), None);
    }

    #[test]
    fn binding_keeps_the_thread_running() {
        bind(0, 1);
        bind(7, 8);
        assert!(sched_getaffinity(None).unwrap().count() > 0);
    }
}
