//! How a space grows, coset by coset: from a search where a search is quick, and otherwise from a model.

use crate::model::{GrowthModel, first_counts};
use crate::sizes::{CosetSize, GrowthSource, LayerSizes};
use crate::wire;
use anyhow::{Context, Result};
use fathom_command::doing::doing;
use fathom_command::machine;
use fathom_command::scratch::Scratch;
use fathom_engine::directory::RunDirectory;
use fathom_engine::observer::Silent;
use fathom_engine::run::Depth;
use fathom_engine::run::manifest::{Keep, RunManifest};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::{Job, Kernel, Resources, Store};
use fathom_layer::LocalDisk;
use fathom_layer::disk::{Disk, DiskFile};
use fathom_puzzle::Metric;
use fathom_space::{CosetGraph, CosetId, Space};
use rayon::prelude::*;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The largest number of states of a space that is searched: a search of so few states takes less than a
/// second.
const QUICKLY_SEARCHED: u64 = 1_000_000_000;

/// States of the 4x4 board by depth in the metric multi, from `records/4x4-multi.json`.
pub(crate) const BOARD: [u64; 15] = [
    1,
    24,
    396,
    6264,
    97_558,
    1_486_728,
    22_201_916,
    324_714_424,
    4_612_908_913,
    62_546_431_704,
    761_114_737_756,
    6_477_461_009_768,
    13_117_496_920_628,
    499_209_363_040,
    8_880,
];

/// Growth functions of 16! states, from `records/4x4-multi.json` and `records/4x4-single.json`.
const KNOWN: [(&str, Metric, &[u64]); 2] = [
    ("4x4", Metric::Multi, &BOARD),
    (
        "4x4",
        Metric::Single,
        &[
            1,
            16,
            184,
            2032,
            21_932,
            230_480,
            2_377_512,
            24_093_488,
            239_515_262,
            2_325_051_968,
            21_748_418_824,
            189_023_504_040,
            1_374_704_837_536,
            6_084_797_063_672,
            8_959_617_240_656,
            4_185_223_547_376,
            105_082_532_061,
            1_450_928,
            32,
        ],
    ),
];

/// Returns the growth function of a space, if it is among the known ones.
pub(crate) fn known(space: &Space) -> Option<&'static [u64]> {
    let is_meant = |&(board, metric, _): &(&str, Metric, _)| {
        space.piece_labels().are_distinct()
            && (board, metric) == (space.puzzle().name.as_str(), space.metric())
    };
    KNOWN.into_iter().find(is_meant).map(|(_, _, counts)| counts)
}

/// The layers of a search, one after the other.
#[derive(Debug)]
pub enum Growth<'g> {
    /// Layers of a search that was carried out.
    Searched(Box<Searched>),
    /// Layers of the model.
    Modelled(GrowthModel<'g>),
}

impl<'g> Growth<'g> {
    /// Makes the growth of a run. `graph` must be the graph of `manifest`. A space that is small enough is
    /// searched now, in a temporary directory.
    ///
    /// # Errors
    /// If the temporary directory cannot be written, or the search fails.
    pub fn of(manifest: &RunManifest, graph: &'g CosetGraph) -> Result<Self> {
        let space = graph.space();
        if u64::try_from(space.states()).is_ok_and(|states| states <= QUICKLY_SEARCHED) {
            return Ok(Self::Searched(Box::new(Searched::search(manifest)?)));
        }
        Ok(Self::Modelled(match known(space) {
            Some(counts) => GrowthModel::new(graph, counts.to_vec(), GrowthSource::Known),
            None => GrowthModel::new(graph, first_counts(space), GrowthSource::Modelled),
        }))
    }

    /// Returns where the growth comes from.
    pub fn source(&self) -> GrowthSource {
        match self {
            Self::Searched(_) => GrowthSource::Measured,
            Self::Modelled(model) => model.source,
        }
    }

    /// Returns the next layer, beginning with the layer of the solved state; `None` after the last layer.
    ///
    /// # Errors
    /// If files of a search cannot be read.
    pub fn next_layer(&mut self) -> Result<Option<LayerSizes>> {
        match self {
            Self::Searched(searched) => searched.next_layer(),
            Self::Modelled(model) => Ok(model.next_layer()),
        }
    }
}

/// A disk for files that nobody reads after this process: nothing is made durable.
#[derive(Debug)]
struct ScratchDisk;

impl Disk for ScratchDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(ScratchFile(LocalDisk.create(path)?)))
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_file(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// A file of a [`ScratchDisk`].
#[derive(Debug)]
struct ScratchFile(Box<dyn DiskFile>);

impl DiskFile for ScratchFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn uncache(&mut self) {
        self.0.uncache();
    }
}

/// A finished search, and the next layer to read.
#[derive(Debug)]
pub struct Searched {
    directory: Scratch,
    job: Job,
    states: Vec<u64>,
    next: Depth,
}

impl Searched {
    fn search(manifest: &RunManifest) -> Result<Self> {
        let _searching = doing(&format!("searching {} for the forecast", manifest.spec.source.name()));
        let directory = Scratch::new().context("cannot make a temporary directory")?;
        let manifest = RunManifest { keep: Keep::All, ..manifest.clone() };
        let options = Options {
            threads: machine::processors(),
            kernel: Kernel::Fastest,
            max_depth: None,
            memory_bytes: machine::memory_bytes(None),
            checkpoint_every: Duration::MAX,
        };
        let path = directory.path().join("run");
        let mut run = RunDirectory::create(&path, manifest.clone(), &[], &ScratchDisk)?;
        search(&mut run, &ScratchDisk, options, &Stop::default(), &Silent)?;
        let resources = Resources {
            kernel: options.kernel,
            threads: options.threads,
            memory_bytes: options.memory_bytes,
            max_depth: None,
        };
        let job = Job::load(&manifest, &path, resources, &LocalDisk)?;
        let states = run.visited()?.layers.iter().map(|layer| layer.states).collect();
        Ok(Self { directory, job, states, next: Depth(0) })
    }

    fn next_layer(&mut self) -> Result<Option<LayerSizes>> {
        let Some(&states) = self.states.get(self.next.0 as usize) else {
            return Ok(None);
        };
        let path = self.directory.path().join("run");
        let layer = Store::at(&path, &LocalDisk)?.open(&self.job.geometry, self.next)?;
        let Job { graph, geometry, .. } = &self.job;
        let shape = graph.shape();
        let of_shard = |shard| -> Result<Vec<CosetSize>> {
            let mut stream = wire::Stream::default();
            let mut sizes = Vec::new();
            for coset in geometry.cut.range(shard) {
                let (states, visited) = layer.states(CosetId(coset))?;
                stream.push(coset, states, &layer.coset(CosetId(coset))?, shape);
                sizes.push(CosetSize {
                    states: states as f32,
                    left: (graph.states_per_coset() - u64::from(visited)) as f32,
                    data_bytes: wire::data_bytes(f64::from(states), shape) as f32,
                    sent_bytes: 0.0,
                });
            }
            for (size, bytes) in sizes.iter_mut().zip(stream.finish()) {
                size.sent_bytes = bytes as f32;
            }
            Ok(sizes)
        };
        let shards: Vec<_> = geometry.cut.ids().collect();
        let cosets: Vec<_> = shards.into_par_iter().map(of_shard).collect::<Result<_>>()?;
        self.next = self.next.next();
        Ok(Some(LayerSizes { states: states as f64, cosets: cosets.concat() }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cluster::Owners;
    use super::super::load::{LayerStep, Loads};
    use super::*;
    use fathom_engine::run::ShardOrder;
    use fathom_engine::run::SpaceSpec;
    use fathom_puzzle::Board;
    use fathom_space::{Labels, Plan};
    use std::collections::BTreeSet;

    /// The files of a search that only a forecast reads need no `fsync`, which takes most of the time of many
    /// shards.
    #[test]
    fn files_of_a_trial_search_are_not_made_durable() {
        let directory = Scratch::new().unwrap();
        let path = directory.path().join("file");
        let mut file = ScratchDisk.create(&path).unwrap();
        file.write_at(b"bytes", 0).unwrap();
        LocalDisk.remove(&path).unwrap();
        assert!(LocalDisk.sync_file(&path).is_err(), "there is no such file");
        ScratchDisk.sync_file(&path).unwrap();
        ScratchDisk.sync_directory(&path).unwrap();
        file.sync().unwrap();
    }

    /// The model charges each coset its share of a chunk of its shard; this compares that with the chunks
    /// that are really sent.
    #[test]
    fn requests_compress_like_shards() {
        for board in ["3x4", "2x6"] {
            let board: Board = board.parse().unwrap();
            let question = SpaceSpec {
                source: fathom_puzzle::PuzzleSpec::Board(board),
                metric: Metric::Multi,
                labels: Labels::distinct(board.cells()),
            };
            let space = question.space().unwrap();
            let plan = Plan::new(&space).unwrap();
            let manifest = RunManifest::plan(question, &space, &plan, None, Keep::Last, false).unwrap();
            let mut searched = Searched::search(&manifest).unwrap();
            let depths = searched.states.len() as u32;
            let sizes: Vec<LayerSizes> =
                (0..depths).map(|_| searched.next_layer().unwrap().unwrap()).collect();
            let Job { graph, geometry, .. } = &searched.job;
            let cut = &geometry.cut;
            let owners = Owners::new(ShardOrder::by_number(cut.shards()), 2);
            let path = searched.directory.path().join("run");
            let store = Store::at(&path, &LocalDisk).unwrap();
            let (mut expected, mut got) = (0.0, 0.0);
            for depth in 1..depths {
                let [newest, next] = [depth - 1, depth].map(|depth| &sizes[depth as usize]);
                let step = LayerStep { next, newest: Some(newest), older: None };
                let loads = Loads::of(graph, *cut, &owners, step, 1e-6, None);
                expected += loads.sent_bytes.iter().sum::<f64>();
                let layer = store.open(&searched.job.geometry, Depth(depth - 1)).unwrap();
                for worker in 0..2 {
                    let (mut seen, mut confirmed) = (BTreeSet::new(), BTreeSet::new());
                    for &shard in owners.shards(worker) {
                        let cosets = cut.range(shard);
                        let needed = cosets.filter(|&coset| newest.cosets[coset as usize].left > 0.0);
                        let sources = needed
                            .flat_map(|coset| graph.sources(CosetId(coset)).map(|(_, source)| source.0));
                        let remote: BTreeSet<u32> =
                            sources.filter(|&source| owners.of(cut.shard_of(source)) != worker).collect();
                        let mut request = wire::Stream::default();
                        for &coset in remote.iter().filter(|&&coset| seen.insert(coset)) {
                            let source = cut.shard_of(coset);
                            if confirmed.insert(source) {
                                // The checksums of its cosets, of 32 bytes each, are sent before the first.
                                got += 32.0 * cut.range(source).len() as f64;
                            }
                            let id = CosetId(coset);
                            let states = layer.states(id).unwrap().0;
                            request.push(coset, states, &layer.coset(id).unwrap(), graph.shape());
                        }
                        got += request.finish().iter().sum::<f64>();
                    }
                }
            }
            assert!((expected / got - 1.0).abs() < 0.02, "{board}: {expected}, not {got}");
        }
    }
}
