use super::*;
use crate::run::{Depth, RunManifest};
use crate::run::{Keep, SpaceSpec};
use crate::task::{Kernel as Choice, Resources, Watched};
use fathom_kernel::Bits;
use fathom_layer::LocalDisk;
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::{AxisMap, Labels, Plan};
use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt;

const BATCH: usize = 7;

/// A call of a kernel, with its arguments.
enum Call {
    Pull(Owned, Transform),
    Subtract(Owned),
}

enum Owned {
    Empty,
    Sparse(Vec<u8>),
    Dense(Vec<u8>),
}

impl Owned {
    fn new(bits: Bits<'_>) -> Self {
        match bits {
            Bits::Empty => Self::Empty,
            Bits::Sparse(bytes) => Self::Sparse(bytes.into()),
            Bits::Dense(bytes) => Self::Dense(bytes.into()),
        }
    }

    fn bits(&self) -> Bits<'_> {
        match self {
            Self::Empty => Bits::Empty,
            Self::Sparse(bytes) => Bits::Sparse(bytes),
            Self::Dense(bytes) => Bits::Dense(bytes),
        }
    }
}

/// Maps that are dropped in the middle of a search change nothing.
#[test]
fn results_are_independent_of_map_memory() {
    for (puzzle, states) in [("2x4", 40_320), ("skewb", 3_149_280), ("burnt-pancake:5", 3840)] {
        let source = PuzzleSpec::by_name(puzzle).unwrap();
        let (metric, labels) = (source.metric(), Labels::from_values(source.solved()));
        let question = SpaceSpec { source, metric, labels };
        let space = question.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        let manifest = RunManifest::plan(question, &space, &plan, Some(2), Keep::All, false).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let resources =
            Resources { kernel: Choice::Fastest, threads: 1, memory_bytes: 1 << 30, max_depth: None };
        let load = || Job::load(&manifest, directory.path(), resources, &LocalDisk).unwrap();
        let (job, mut little) = (load(), load());
        little.map_bytes = 1 << 14;
        let store = Store::at(directory.path(), &LocalDisk).unwrap();
        let (counters, stop) = (Counters::default(), AtomicBool::new(false));
        let mut usual = Expander::new(&job, &store, &counters, &stop);
        let engines = SimdLevel::ALL.into_iter().filter(|engine| engine.kernel(job.graph.shape()).is_some());
        let mut limited: Vec<_> = engines
            .map(|engine| {
                let mut expander = Expander::new(&little, &store, &counters, &stop);
                expander.kernel = engine.kernel(job.graph.shape()).expect("the engine does these cosets");
                expander
            })
            .collect();
        let (mut depth, mut all) = (Depth(0), 0);
        while all < states {
            store.prepare(depth).unwrap();
            let open = |below| store.open(&job.geometry, below).unwrap();
            let before: Vec<Layer> = job.lookback.below(depth).map(open).collect();
            let before: Vec<&Layer> = before.iter().collect();
            for shard in job.geometry.cut.ids() {
                let task = Task { depth, shard };
                let mut watch = Stopwatch::start();
                let made = usual.make(task, Leftover::IsReplaced, &before, &mut watch).unwrap();
                let ShardFile::Unfinished(file) = made else { panic!("nothing is left over") };
                let report = file.finish(&job, &store).unwrap().report;
                for expander in &mut limited {
                    // The usual kernel must notice what another one has dropped.
                    for engine in [None, Some(SimdLevel::Portable)] {
                        let again = expander.audit(task, engine, &before).unwrap();
                        assert_eq!(
                            (&again.checksums, again.totals),
                            (&report.checksums, report.totals),
                            "{task:?}"
                        );
                    }
                    assert!(expander.transforms.bytes() <= little.map_bytes, "{puzzle}");
                }
                all += report.totals.states;
            }
            depth = depth.next();
        }
        assert_eq!((all, usual.transforms.dropped()), (states, 0), "{puzzle}");
        assert!(limited.iter().all(|expander| expander.transforms.dropped() > 10), "{puzzle}");
    }
}

/// A kernel that does nothing before the first coset of a batch is packed, as one on a device would.
struct Batching {
    kernel: Box<dyn Kernel + Send>,
    maps: Vec<AxisMap>,
    begun: VecDeque<Vec<Call>>,
}

impl Kernel for Batching {
    fn batch(&self) -> usize {
        BATCH
    }

    fn forget(&mut self) {
        self.begun.clear();
    }

    fn clear(&mut self) {
        self.begun.push_back(Vec::new());
        assert!(self.begun.len() <= BATCH, "no more cosets than the batch are begun");
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        // Maps are only added, so that those of earlier calls are among those of the last one.
        self.maps = maps.to_vec();
        self.begun.back_mut().unwrap().push(Call::Pull(Owned::new(source), transform.clone()));
    }

    fn subtract(&mut self, known: Bits<'_>) {
        self.begun.back_mut().unwrap().push(Call::Subtract(Owned::new(known)));
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        self.kernel.clear();
        for call in self.begun.pop_front().expect("a coset is packed once") {
            match call {
                Call::Pull(source, transform) => self.kernel.pull(source.bits(), &transform, &self.maps),
                Call::Subtract(known) => self.kernel.subtract(known.bits()),
            }
        }
        self.kernel.pack(packed)
    }
}

#[test]
fn batching_kernel_gives_same_results() {
    let board: Board = "2x4".parse().unwrap();
    let question =
        SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Single, labels: Labels::distinct(8) };
    let space = question.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let manifest = RunManifest::plan(question, &space, &plan, Some(2), Keep::All, false).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let resources = Resources { kernel: Choice::Fastest, threads: 1, memory_bytes: 1 << 30, max_depth: None };
    let mut job = Job::load(&manifest, directory.path(), resources, &LocalDisk).unwrap();
    let words: Vec<_> = (0..4).map(|coset| job.graph.word_at(CosetId(coset), 5 * coset)).collect();
    job.watched = Watched::new(&job.graph, &words);
    let store = Store::at(directory.path(), &LocalDisk).unwrap();
    let (counters, stop) = (Counters::default(), AtomicBool::new(false));
    let mut usual = Expander::new(&job, &store, &counters, &stop);
    let mut batching = Expander::new(&job, &store, &counters, &stop);
    let Method::Cosets(engine) = job.method else { panic!("cosets are pulled") };
    batching.kernel = Box::new(Batching {
        kernel: engine.kernel(job.graph.shape()).unwrap(),
        maps: Vec::new(),
        begun: VecDeque::new(),
    });
    let (mut depth, mut all, mut watched) = (Depth(0), 0, 0);
    while all < 40_320 {
        store.prepare(depth).unwrap();
        let open = |below| store.open(&job.geometry, below).unwrap();
        let before: Vec<Layer> = job.lookback.below(depth).map(open).collect();
        let before: Vec<&Layer> = before.iter().collect();
        for shard in job.geometry.cut.ids() {
            let task = Task { depth, shard };
            let mut watch = Stopwatch::start();
            let ShardFile::Unfinished(file) =
                usual.make(task, Leftover::IsReplaced, &before, &mut watch).unwrap()
            else {
                panic!("nothing is left over");
            };
            let report = file.finish(&job, &store).unwrap().report;
            // A task that was stopped in the middle leaves cosets in the kernel.
            batching.kernel.clear();
            let again = batching.audit(task, None, &before).unwrap();
            watched += report.watched.len();
            assert_eq!(again.watched, report.watched, "{task:?}");
            assert_eq!((again.checksums, again.totals), (report.checksums, report.totals), "{task:?}");
            all += report.totals.states;
        }
        depth = depth.next();
    }
    assert_eq!((all, watched), (40_320, words.len()));
}

/// Two workers do the same task in a store that they share, after one of them was suspended.
#[test]
fn concurrent_file_of_another_process_is_kept_and_compared() {
    let board: Board = "2x3".parse().unwrap();
    let question =
        SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Multi, labels: Labels::distinct(6) };
    let space = question.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let manifest = RunManifest::plan(question, &space, &plan, Some(1), Keep::All, false).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let resources = Resources { kernel: Choice::Fastest, threads: 1, memory_bytes: 1 << 30, max_depth: None };
    let job = Job::load(&manifest, directory.path(), resources, &LocalDisk).unwrap();
    let store = Store::at(directory.path(), &LocalDisk).unwrap();
    let (counters, stop) = (Counters::default(), AtomicBool::new(false));
    let mut expander = Expander::new(&job, &store, &counters, &stop);
    let task = Task { depth: Depth(0), shard: crate::run::ShardId(0) };
    let path = store.path(task.depth, task.shard);
    store.prepare(task.depth).unwrap();
    let mut begun = || match expander.make(task, Leftover::IsReplaced, &[], &mut Stopwatch::start()).unwrap()
    {
        ShardFile::Unfinished(file) => file,
        ShardFile::Reported(_) => panic!("nothing is left over"),
    };
    let (awake, asleep) = (begun(), begun());
    let made = awake.finish(&job, &store).unwrap();
    let inode = || std::fs::metadata(&path).unwrap().ino();
    let first = inode();
    let found = asleep.finish(&job, &store).unwrap();
    assert_eq!(inode(), first);
    assert_eq!((made.is_found, found.is_found), (false, true));
    assert_eq!((&found.report.checksums, found.report.totals), (&made.report.checksums, made.report.totals));

    let asleep = begun();
    let identity = job.geometry.identity(task.depth, task.shard);
    let mut other = LayerWriter::create(&LocalDisk, &path, identity.clone()).unwrap();
    for _ in 0..identity.cosets {
        other.push(&[], 0, 0).unwrap();
    }
    other.finish(job.nothing()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let error = asleep.finish(&job, &store).unwrap_err();
    assert!(matches!(&error, TaskError::MadeOtherwise { path: named, .. } if *named == path), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}
