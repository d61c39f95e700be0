//! Prints states of a layer that a run still stores, in the format of `watched.csv`: `states DIR DEPTH
//! NUMBER`. The states are spread evenly over the cosets that have any. Each state represents its class; the
//! numbering of cosets decides which state of a class is printed.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::{Depth, Geometry};
use fathom_engine::task::Store;
use fathom_layer::LocalDisk;
use fathom_space::{CosetGraph, CosetId};
use std::path::Path;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, depth, number] = &arguments[..] else {
        anyhow::bail!("states DIR DEPTH NUMBER");
    };
    let (depth, number): (u32, usize) = (depth.parse()?, number.parse()?);
    let run = RunDirectory::open_for_reading(Path::new(directory))?;
    let (space, colouring) = run.manifest.open()?;
    let graph = CosetGraph::build(&space, &colouring)?;
    let geometry = Geometry::new(&run.manifest, &space, &colouring)?;
    let layer = Store::at(&run.path, &LocalDisk)?.open(&geometry, Depth(depth))?;
    let mut filled = Vec::new();
    for coset in (0..graph.len()).map(CosetId) {
        if layer.states(coset)?.0 > 0 {
            filled.push(coset);
        }
    }
    println!("state,depth");
    for &coset in filled.iter().step_by((filled.len() / number.max(1)).max(1)).take(number) {
        let stored = layer.coset(coset)?;
        let shape = graph.shape();
        let (rows, bits) = (shape.rows(), shape.row_bits());
        // The search for a state starts at a different row in each coset.
        let mut positions = (0..rows)
            .map(|row| (row + coset.0 * 7919) % rows)
            .flat_map(|row| (0..bits).map(move |bit| row * shape.row_bytes() * 8 + bit));
        let position = positions.find(|&position| stored.contains(position)).expect("the coset has states");
        let word = graph.word_at(coset, position);
        let labels: Vec<String> = word.iter().map(u8::to_string).collect();
        println!("{},{depth}", labels.join(" "));
    }
    Ok(())
}
