//! `fathom bench --against PATH`: times whole runs of this build and of another one. The two alternate, so
//! that other load on the machine affects both alike.

use crate::arguments::BenchArguments;
use crate::commands::bench::{SEARCHES, scratch};
use anyhow::{Context, Result, anyhow};
use fathom_command::{bad_input, machine, output};
use fathom_report::text;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Serialize)]
struct Comparison {
    this: String,
    against: String,
    repeat: u32,
    runs: Vec<Compared>,
}

/// The times of one run with both builds. A ratio is the time of the other build divided by the time of this
/// one.
#[derive(Debug, PartialEq, Serialize)]
struct Compared {
    run: String,
    /// The median time of this build; `against_seconds` is that of the other one.
    seconds: f64,
    against_seconds: f64,
    ratio: f64,
    /// The lower quartile of the ratios; `ratio_high` is the upper one.
    ratio_low: f64,
    ratio_high: f64,
    /// The mean processor time of a run of this build.
    processor_seconds: f64,
    against_processor_seconds: f64,
    processor_ratio: f64,
    /// Whether both builds end with the same digest.
    same_digest: bool,
}

/// The time that a process took.
#[derive(Clone, Copy, Debug)]
struct Took {
    seconds: f64,
    processor_seconds: f64,
}

/// The results of a run that are compared: the counts must agree, the digests may differ.
#[derive(Debug, PartialEq, Deserialize)]
struct Found {
    counts: Vec<u64>,
    digest: String,
}

pub(crate) fn compare(args: &BenchArguments, other: &Path) -> Result<()> {
    let this = std::env::current_exe().context("cannot find the path of this program")?;
    // Without a directory, a name would be looked up only on the PATH.
    let program = if other.is_file() { std::path::absolute(other)? } else { other.to_owned() };
    let root = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let runs: Vec<Vec<String>> = match &args.run[..] {
        [] => SEARCHES
            .iter()
            .map(|(board, metric)| vec![(*board).into(), "--metric".into(), metric.to_string()])
            .collect(),
        run => vec![run.to_vec()],
    };
    let compared = runs.iter().map(|run| {
        let mut pairs = Vec::new();
        let mut found: [Option<Found>; 2] = [None, None];
        for pair in 0..args.repeat {
            let mut took = [None, None];
            // The build that runs first alternates from pair to pair.
            for turn in 0..2 {
                let who = ((pair + turn) % 2) as usize;
                let (of_run, what) = time(if who == 0 { &this } else { &program }, run, &root)?;
                took[who] = Some(of_run);
                found[who] = Some(what);
            }
            pairs.extend(took[0].zip(took[1]));
            require_same(&found, run, other)?;
        }
        let [this, other] = &found;
        let same_digest = this.as_ref().zip(other.as_ref()).is_some_and(|(a, b)| a.digest == b.digest);
        Ok(Compared::new(run.join(" "), &pairs, same_digest))
    });
    let comparison = Comparison {
        this: this.display().to_string(),
        against: other.display().to_string(),
        repeat: args.repeat,
        runs: compared.collect::<Result<_>>()?,
    };
    match args.json {
        true => output::line(&serde_json::to_string(&comparison)?),
        false => output::line(table(&comparison).trim_end()),
    }
}

/// Runs a build once, as a process of its own in an empty directory.
fn time(program: &Path, run: &[String], root: &Path) -> Result<(Took, Found)> {
    let directory = scratch(root)?;
    let mut command = Command::new(program);
    command.arg("run").args(run).args(["--json", "-q", "--dir"]).arg(directory.path().join("run"));
    // The user's environment variables for other commands must not affect these runs.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    let processor = machine::processor_seconds_of_children();
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| bad_input!("cannot start {}: {error}", program.display()))?;
    let seconds = begun.elapsed().as_secs_f64();
    let processor_seconds = machine::processor_seconds_of_children() - processor;
    if !output.status.success() {
        return Err(bad_input!(
            "{} run {} ended with {}: {}",
            program.display(),
            run.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        ));
    }
    let found = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("'{} run {} --json' did not print a JSON result", program.display(), run.join(" "))
    })?;
    Ok((Took { seconds, processor_seconds }, found))
}

fn is_setting(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"FATHOM_")
}

/// Returns an error if the counts of the builds differ; their speeds are then not comparable.
fn require_same(found: &[Option<Found>; 2], run: &[String], other: &Path) -> Result<()> {
    match found {
        [Some(this), Some(that)] if this.counts != that.counts => Err(anyhow!(
            "the builds disagree about {}: this one counts {:?}, {} counts {:?}",
            run.join(" "),
            this.counts,
            other.display(),
            that.counts
        )),
        _ => Ok(()),
    }
}

impl Compared {
    /// Compares the builds by pairs of runs: one of this build and one of the other.
    fn new(run: String, pairs: &[(Took, Took)], same_digest: bool) -> Self {
        let sorted = |number: fn(&(Took, Took)) -> f64| {
            let mut numbers: Vec<f64> = pairs.iter().map(number).collect();
            numbers.sort_unstable_by(f64::total_cmp);
            numbers
        };
        let median = |number| middle(&sorted(number));
        let ratios = sorted(|(this, other)| other.seconds / this.seconds);
        let mean =
            |number: fn(&(Took, Took)) -> f64| pairs.iter().map(number).sum::<f64>() / pairs.len() as f64;
        let processor_seconds = mean(|(this, _)| this.processor_seconds);
        let against_processor_seconds = mean(|(_, other)| other.processor_seconds);
        let quarter = ratios.len() / 4;
        Self {
            run,
            seconds: median(|(this, _)| this.seconds),
            against_seconds: median(|(_, other)| other.seconds),
            ratio: middle(&ratios),
            ratio_low: ratios[quarter],
            ratio_high: ratios[ratios.len() - 1 - quarter],
            processor_seconds,
            against_processor_seconds,
            processor_ratio: against_processor_seconds / processor_seconds,
            same_digest,
        }
    }
}

/// Returns the median of sorted numbers.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}

fn table(comparison: &Comparison) -> String {
    let Comparison { this, against, repeat, runs } = comparison;
    let rows = runs.iter().map(|of| {
        [
            of.run.clone(),
            format!("{:.3}", of.seconds),
            format!("{:.3}", of.against_seconds),
            format!("{:.3}", of.ratio),
            format!("{:.3} - {:.3}", of.ratio_low, of.ratio_high),
            format!("{:.2}", of.processor_seconds),
            format!("{:.2}", of.against_processor_seconds),
            format!("{:.3}", of.processor_ratio),
            if of.same_digest { "same".into() } else { "other".into() },
        ]
    });
    let header = [
        "run",
        "this s",
        "other s",
        "ratio",
        "quartiles",
        "this cpu s",
        "other cpu s",
        "cpu ratio",
        "digest",
    ];
    format!(
        "this: {this}\nother: {against}\nwhole processes, alternating, {repeat} of each; a ratio above 1 means that this build is faster\n\n{}",
        text::plain(header, rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_paired_and_summarised_by_quartiles() {
        let took = |seconds| Took { seconds, processor_seconds: 2.0 * seconds };
        // Both builds are slow in the last pair, so its ratio is the usual one.
        let pairs = [(1.0, 2.0), (1.0, 3.0), (1.0, 1.0), (1.0, 2.0), (10.0, 20.0)];
        let pairs = pairs.map(|(this, other)| (took(this), took(other)));
        let of = Compared::new("3x4".into(), &pairs, true);
        assert_eq!((of.ratio, of.ratio_low, of.ratio_high), (2.0, 2.0, 2.0));
        assert_eq!((of.seconds, of.against_seconds), (1.0, 2.0));
        assert_eq!(of.processor_ratio, 2.0);
        let of = Compared::new("3x4".into(), &pairs[1..3], true);
        assert_eq!((of.ratio, of.ratio_low, of.ratio_high), (2.0, 1.0, 3.0));
    }

    #[test]
    fn differing_counts_are_an_error() {
        let found = |last| Some(Found { counts: vec![1, last], digest: String::new() });
        let run = ["3x4".to_owned()];
        assert!(require_same(&[found(17), found(17)], &run, Path::new("other")).is_ok());
        let error = require_same(&[found(17), found(16)], &run, Path::new("other")).unwrap_err().to_string();
        assert!(error.contains("[1, 17]") && error.contains("other counts [1, 16]"), "{error}");
    }
}
