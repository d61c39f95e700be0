//! The command line.

use crate::commands::bound::Bounded;
use anyhow::Result;
use clap::{Args, Parser, Subcommand, value_parser};
use fathom_command::bad_input;
use fathom_command::log::Verbosity;
use fathom_command::machine::{self, size};
use fathom_coordinator::report::Format;
use fathom_coordinator::scaling::Cluster;
use fathom_coordinator::search::Options;
use fathom_coordinator::table::many;
use fathom_proto::access::AccessArguments;
use fathom_puzzle::{Metric, Source, SourceError};
use fathom_run::definition::{DEFINITION, Keep, Question};
use fathom_space::Labels;
use fathom_worker::resources::{ResourceArguments, Resources};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A shard is a file and a memory map for each of two layers, and Linux gives a process 65,530 maps.
const MOST_SHARDS: i64 = 16_384;

/// No board whose ball could be listed is deeper.
const MOST_LETTERS: i64 = 100;

/// More workers than this are beyond what predictions are good for.
const MOST_WORKERS: i64 = 4096;

/// What may stand in the place of a space.
const SPACE_OR_RUN: &str = "The puzzle, as for 'fathom run', or the directory of a run";

/// Enumerates the whole state space of a permutation puzzle, breadth first, exactly.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Say nothing but errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say what happens to every task on standard error
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    pub(crate) fn verbosity(&self) -> Verbosity {
        Verbosity::of(self.quiet, self.verbose)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Enumerate a space; go on with it or report it if its directory is there already
    Run(RunArguments),
    /// Go on with an interrupted run
    Resume(ResumeArguments),
    /// Finish a layer whose shards 'fathom-worker task' has made
    Merge(MergeArguments),
    /// Coordinate a run for workers on many hosts; go on with it if its directory is there already
    Serve(ServeArguments),
    /// Tell how far a run is
    Status(StatusArguments),
    /// List the workers of a run that is served
    Workers(WorkersArguments),
    /// Have a worker leave as soon as others hold all that it holds
    Drain(DrainArguments),
    /// Have all workers stop at the next coset, and end the coordinator
    Stop(StopArguments),
    /// Print the log lines of a run in order of time
    Logs(LogsArguments),
    /// Set out what a run has found, with where it comes from: as a web page, for a paper, a spreadsheet, a program or the OEIS
    Report(ReportArguments),
    /// Read every layer file of a run, check every checksum, count again and compare; or check the certificate of an upper bound
    Verify(VerifyArguments),
    /// Tell how a space would be enumerated and what that takes, without a search
    Plan(PlanArguments),
    /// List the words that name a puzzle
    Puzzles(PuzzlesArguments),
    /// Tell what group a puzzle's moves generate, and answer questions about its elements
    Group(GroupArguments),
    /// Write a sequence for a puzzle that is turned in the hand, such as the six faces of the 2x2x2 cube, for one held still
    Convert(ConvertArguments),
    /// Find shortest solutions of a state
    Solve(SolveArguments),
    /// List the classes of the states that are farthest from solved, or at any depth, each with a shortest solution, or scramble where moves have no inverses
    Antipodes(AntipodesArguments),
    /// Bound God's number from below by counting words, or from above by solving stage by stage, without a search of the space
    Bound(BoundArguments),
    /// Measure kernels and whole searches on this machine
    Bench(BenchArguments),
    /// Make a token, an authority and a certificate, so that the processes of a run can trust each other
    Keys(KeysArguments),
}

/// Which space.
#[derive(Debug, Args)]
pub(crate) struct SpaceArguments {
    /// The puzzle: a board as ROWSxCOLUMNS, for example 3x4, a word of a family such as pancake:8 ('fathom puzzles' lists them), or a
    /// file
    #[arg(value_name = "SPACE")]
    puzzle: String,
    /// What costs one move: multi (any rotation of a line, or power of a listed move), single (a shift by one cell, or a listed
    /// move or its inverse) or given (the listed moves alone); of square1 face (a turn of one layer, or a twist) or twist (a twist
    /// alone) [default: multi for boards and cubes, face for square1, given for others]
    #[arg(long)]
    metric: Option<Metric>,
    /// Use these moves alone, of those of the metric, for example V1,H2^-1
    #[arg(long, value_name = "LIST")]
    moves: Option<String>,
    /// Turning the whole puzzle in the hand costs nothing: for 2x2x2, 3x3x3-corners, 3x3x3-edges and dino. 2x2x2 is in the hand unless
    /// moves, tiles or labels are chosen, which are those of the cube that is held at a corner
    #[arg(long)]
    free_rotations: bool,
    /// Tell only these tiles apart, numbered from 0 row by row, for example 0-3,8; all others are alike
    #[arg(long, value_name = "LIST", conflicts_with = "labels")]
    track: Option<String>,
    /// A label for each tile, row by row, for example 0,0,1,1; tiles with one label are alike
    #[arg(long, value_name = "LIST")]
    labels: Option<String>,
}

impl SpaceArguments {
    /// The run directory that stands in the place of a space, if one does.
    pub(crate) fn directory(&self) -> Result<Option<&Path>> {
        let path = Path::new(&self.puzzle);
        let is_run =
            path.join(DEFINITION).exists() || path.is_dir() && Source::of_word(&self.puzzle).is_err();
        let chosen = [
            ("--metric", self.metric.is_some()),
            ("--moves", self.moves.is_some()),
            ("--free-rotations", self.free_rotations),
            ("--track", self.track.is_some()),
            ("--labels", self.labels.is_some()),
        ];
        match chosen.into_iter().find(|(_, chosen)| is_run && *chosen) {
            Some((option, _)) => {
                Err(bad_input!("the run in {} says all that {option} would: leave it out", path.display()))
            }
            None => Ok(is_run.then_some(path)),
        }
    }

    /// The puzzle with all its moves.
    fn whole(&self) -> Result<Source> {
        let names_parts = self.moves.is_some() || self.track.is_some() || self.labels.is_some();
        let (option, found) = match self.free_rotations {
            true => ("--free-rotations: ", Source::in_hand(&self.puzzle)),
            // Names of moves, and numbers of tiles, are those of what the word names by itself.
            false if names_parts => ("", Source::of_word(&self.puzzle)),
            false => ("", Source::whole(&self.puzzle)),
        };
        found.map_err(|error| bad_input!("{option}{error}"))
    }

    pub(crate) fn question(&self) -> Result<Question> {
        let refused = |error: SourceError| bad_input!("{error}");
        let whole = self.whole()?;
        let metric = self.metric.unwrap_or(whole.metric());
        let whole = whole.in_metric(metric).map_err(refused)?;
        let (source, metric) = match &self.moves {
            None => (whole, metric),
            Some(names) => (whole.with_moves(metric, names).map_err(refused)?, Metric::Given),
        };
        // Before labels, for it tells how many pieces there can be.
        source.check().map_err(refused)?;
        let tiles = source.cells();
        let labels = match (&self.track, &self.labels) {
            (Some(list), _) => Labels::parse_tracked(list, tiles),
            (_, Some(list)) => Labels::parse_list(list, tiles),
            _ => Ok(Labels::from_values(source.solved())),
        };
        let option = if self.track.is_some() { "--track" } else { "--labels" };
        let labels = labels.map_err(|error| bad_input!("{option}: {error}"))?;
        Ok(Question { source, metric, labels })
    }
}

/// How to search.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// Stop when this depth is made
    #[arg(long, value_name = "D")]
    pub(crate) max_depth: Option<u32>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl SearchArguments {
    pub(crate) fn options(&self, verbosity: Verbosity) -> Options {
        let Resources { kernel, threads, memory_bytes, .. } = self.resources.resources();
        Options { threads, kernel, max_depth: self.max_depth, verbosity, memory_bytes }
    }
}

/// How a run's directory is made, if it is not there.
#[derive(Debug, Args)]
pub(crate) struct BeginArguments {
    /// The run's directory [default: runs/SPACE-METRIC, or runs/SPACE-METRIC-LETTERS with a letter for each label]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// How many shards to cut the space into [default: by its size]
    #[arg(long, value_parser = value_parser!(u32).range(1..=MOST_SHARDS))]
    pub(crate) shards: Option<u32>,
    /// Which layers to keep: last (the last two) or all (compressed) [default: last, or all where all are read]
    #[arg(long)]
    pub(crate) keep: Option<Keep>,
    /// Count classes up to symmetry and inversion in spaces of more than 10^9 states too; in smaller ones they always are
    #[arg(long)]
    pub(crate) inverse_classes: bool,
    /// Note the depths of these states in watched.csv in the run's directory; one state a line, as tiles row by row
    #[arg(long, value_name = "FILE")]
    pub(crate) watch_states: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    #[command(flatten)]
    pub(crate) begin: BeginArguments,
    /// Have so many worker processes on this machine do it, with threads and memory shared out; layers lie with them
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
}

/// How a run is served.
#[derive(Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Where to listen for workers
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7400")]
    pub(crate) listen: SocketAddr,
    /// How many workers must hold a file before its task is done
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = value_parser!(u32).range(1..=16))]
    pub(crate) replicas: u32,
    /// A worker that is silent for longer is lost, for example 30s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = lease)]
    pub(crate) lease: Duration,
    /// Stop when this depth is made
    #[arg(long, value_name = "D")]
    pub(crate) max_depth: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    #[command(flatten)]
    pub(crate) begin: BeginArguments,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Keep the layers in this directory, which coordinator and workers see alike; nothing is sent between workers then
    #[arg(long, value_name = "DIR")]
    pub(crate) shared_store: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// The run's directory, or its coordinator as HOST:PORT
    pub(crate) run: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print it again every two seconds, until the run is complete or not served any more
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    /// Print one JSON array instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    /// The worker, by its name or the beginning of its id
    pub(crate) worker: String,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The run's directory and stores of workers, below which logs are looked for; or a coordinator as HOST:PORT, of which what happens
    /// from now on is printed
    #[arg(required = true, value_name = "DIR|HOST:PORT")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Only lines about this depth
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Only lines about this shard
    #[arg(long, value_name = "S")]
    pub(crate) shard: Option<u32>,
    /// Only lines about this worker, by the beginning of its id
    #[arg(long, value_name = "ID")]
    pub(crate) worker: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// The depth of the layer; once it is merged, merging it again changes nothing
    #[arg(long, value_name = "D")]
    pub(crate) depth: u32,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// html (a page with everything), md, latex (a table), svg (the plot), csv, json, or oeis (a b-file with its data line)
    #[arg(long, default_value_t = Format::Html)]
    pub(crate) format: Format,
    /// The file to write, which must not be there yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The run's directory, or the file of a certificate
    pub(crate) dir: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// Which layers to plan to keep: last (the last two) or all (compressed) [default: last, or all where all are read]
    #[arg(long)]
    pub(crate) keep: Option<Keep>,
    /// Kernel threads to plan for, of each worker if there are several [default: one for each processor]
    #[arg(long, value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Plan for so many workers that send each other what they need
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MOST_WORKERS))]
    pub(crate) workers: Option<u32>,
    /// Bits a second of each worker's link, in both directions at once, for example 25G
    #[arg(long, value_name = "RATE", requires = "workers", default_value = "10G", value_parser = rate)]
    network: u64,
    /// Bytes a second of each worker's disk, for example 2G
    #[arg(long, value_name = "RATE", requires = "workers", default_value = "1G", value_parser = rate)]
    disk: u64,
    /// Memory that each worker may take, layers in the page cache among it, for example 64GiB [default: nine tenths of what this machine has]
    #[arg(long, value_name = "SIZE", requires = "workers", value_parser = size)]
    memory: Option<u64>,
    /// Workers that hold each file
    #[arg(long, value_name = "R", requires = "workers", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    replicas: u32,
    /// How many shards to cut the space into [default: by its size]
    #[arg(long, requires = "workers", value_parser = value_parser!(u32).range(1..=MOST_SHARDS))]
    pub(crate) shards: Option<u32>,
}

impl PlanArguments {
    pub(crate) fn threads(&self) -> usize {
        threads(self.threads)
    }

    /// The workers to plan for, if there is not one process alone.
    pub(crate) fn cluster(&self) -> Result<Option<Cluster>> {
        let Some(workers) = self.workers else {
            return Ok(None);
        };
        if self.replicas > workers {
            return Err(bad_input!(
                "{} cannot hold {} of each file: ask for at most --replicas {workers}",
                many(workers.into(), "worker"),
                many(self.replicas.into(), "replica")
            ));
        }
        Ok(Some(Cluster {
            workers,
            threads: self.threads(),
            network_bits_per_second: self.network,
            disk_bytes_per_second: self.disk,
            // What is planned for may be larger than this machine.
            memory_bytes: self.memory.unwrap_or_else(|| machine::memory_bytes(None)),
            replicas: self.replicas,
        }))
    }
}

/// Reads a rate such as `25G`, a second.
fn rate(text: &str) -> Result<u64, String> {
    match size(text) {
        Ok(0) => Err("nothing would ever arrive: give a rate above 0, for example 25G".into()),
        Ok(rate) => Ok(rate),
        Err(_) => Err(format!("{text:?} is no rate: give a number and a unit, for example 25G")),
    }
}

#[derive(Debug, Args)]
pub(crate) struct PuzzlesArguments {
    /// Print one JSON array instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// An element is written in moves, such as "V1*H2^-1" or "(V1 H2)^3", in cycles such as "(1,2,3)(4,5)", or as the state that it leads to,
/// as tiles row by row.
#[derive(Debug, Args)]
pub(crate) struct GroupArguments {
    /// The puzzle: a board as ROWSxCOLUMNS, for example 3x4, a word of a family such as 2x2x2, or a file
    pub(crate) puzzle: String,
    #[command(flatten)]
    pub(crate) question: GroupQuestion,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is asked of a group, if not what it is.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct GroupQuestion {
    /// List the strong generating set
    #[arg(long)]
    pub(crate) strong_generators: bool,
    /// Tell cycles and order of an element: moves "V1*H2^-1", cycles "(1,2,3)", or tiles row by row
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) element: Option<String>,
    /// Find a word in the moves that makes a state: tiles row by row, cycles, or other moves
    #[arg(long, value_name = "STATE")]
    pub(crate) factor: Option<String>,
    /// Tell whether moves lead to a state, and why not: exit code 0 if they do, 1 if not
    #[arg(long, value_name = "STATE")]
    pub(crate) contains: Option<String>,
}

/// A state is written as the number of the tile on each cell, row by row; as cycles of cells such as "(1,2,3)(4,5)", with turns
/// behind them where pieces turn, "(1+1,2+2)"; or as moves that lead to it, with --scramble.
#[derive(Debug, Args)]
#[command(mut_arg("puzzle", |argument| argument.index(1).value_name("SPACE|DIR").help(SPACE_OR_RUN)))]
pub(crate) struct SolveArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// The state
    #[arg(index = 2)]
    pub(crate) state: String,
    /// The state is written as moves, such as "V1 H2^-1" or "R U2 F'"
    #[arg(long)]
    pub(crate) scramble: bool,
    /// Find all shortest solutions, up to --limit
    #[arg(long)]
    pub(crate) all: bool,
    /// How many solutions of --all to print
    #[arg(long, value_name = "N", requires = "all", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    limit: u32,
    /// Memory to take, for example 2GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl SolveArguments {
    /// How many solutions are asked for.
    pub(crate) fn most(&self) -> usize {
        if self.all { self.limit as usize } else { 1 }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

#[derive(Debug, Args)]
#[command(mut_arg("puzzle", |argument| argument.index(1).value_name("SPACE|DIR").help(SPACE_OR_RUN)))]
pub(crate) struct AntipodesArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// The depth to list [default: the last]
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// How many classes to print
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Memory to take, for example 2GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl AntipodesArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

#[derive(Debug, Args)]
pub(crate) struct BoundArguments {
    /// The board, as ROWSxCOLUMNS, or all boards with sides from MIN to MAX, for example 2..8, or square1
    #[arg(value_name = "SPACE|MIN..MAX")]
    pub(crate) bounded: Bounded,
    /// Which rotations of a board cost one move: multi (any rotation of a line) or single (a shift by one cell) [default: multi]
    #[arg(long)]
    pub(crate) metric: Option<Metric>,
    /// Find all states within so many moves, or fewer if memory ends, and count only words whose parts of that length are the first
    /// of their state
    #[arg(long, value_name = "DEPTH", value_parser = value_parser!(u32).range(1..=MOST_LETTERS))]
    pub(crate) refine: Option<u32>,
    /// Bound from above: solve every state by the stages of --chain, each in as few moves as its words allow
    #[arg(long, requires = "chain", conflicts_with = "refine")]
    pub(crate) upper: bool,
    /// Stages as lists of the tiles that are solved after them, for example "0-3;0-7;0-15"
    #[arg(long, value_name = "LIST;LIST;...", requires = "upper")]
    pub(crate) chain: Option<String>,
    /// Make words of stages from two words of up to so many moves, or fewer if memory ends
    #[arg(long, value_name = "MOVES", requires = "upper", default_value_t = 4, value_parser = value_parser!(u32).range(1..=MOST_LETTERS))]
    pub(crate) radius: u32,
    /// Memory to take for the states within --refine or --radius moves, for example 8GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object for a board, or an array of them for a range, instead of text; of --upper, a certificate for 'verify'
    #[arg(long)]
    pub(crate) json: bool,
}

impl BoundArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// The puzzle: a word of a family that is turned in the hand, such as 2x2x2, or a file with free moves
    pub(crate) puzzle: String,
    /// The sequence, carried out from left to right, for example "B' R B D D"
    pub(crate) sequence: String,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Repetitions of each whole search; medians are printed
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where files are written, up to 1.2 GB at a time [default: the system's directory for temporary files]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArguments {
    /// The directory to make; nothing in it may be there already
    pub(crate) dir: PathBuf,
    /// How many days the certificates are valid
    #[arg(long, default_value_t = 365, value_parser = value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
}

fn threads(asked: Option<u32>) -> usize {
    asked.map_or_else(machine::processors, |threads| threads as usize)
}

/// Reads a time such as `30s`, no shorter than heartbeats can be told apart.
fn lease(text: &str) -> Result<Duration, String> {
    let lease = humantime::parse_duration(text).map_err(|error| format!("{text:?} is no time: {error}"))?;
    match lease >= Duration::from_millis(500) {
        true => Ok(lease),
        false => Err("a lease is 500ms at least".into()),
    }
}
