//! Enumerates a puzzle and prints each depth: `cargo run --release -p fathom-engine --example enumerate --
//! 3x3 /tmp/run`.

use fathom_engine::Enumeration;
use fathom_engine::journal::LayerRow;
use fathom_engine::observer::Observer;

struct Lines;

impl Observer for Lines {
    fn layer_committed(&self, layer: &LayerRow) {
        println!("{} states at distance {}", layer.states, layer.depth);
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(puzzle), Some(path)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: enumerate PUZZLE DIRECTORY");
    };
    let found = Enumeration::of(&puzzle)?.directory(path).threads(2).observed_by(&Lines)?;
    println!("{}", found.to_json());
    Ok(())
}
