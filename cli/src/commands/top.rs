//! `fathom top`: shows a run on the terminal, redrawn each second.

mod screen;

use crate::arguments::TopArguments;
use crate::commands::coordinator_queries::{Seen, Watched, address_of};
use crate::commands::progress_estimator::line;
use crate::commands::run_presence;
use crate::commands::status::way_on;
use anyhow::Result;
use fathom_command::bad_input;
use fathom_command::interrupt::interrupts;
use fathom_command::log_text::{self, Names};
use fathom_command::output;
use fathom_coordinator::cluster::status::ClusterStatus;
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::summary::Summary;
use indicatif::HumanBytes;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use screen::{Screen, Shards, draw};
use serde_json::Value;
use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time between two reads of the run.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The time between two checks of keys and signals.
const KEYS: Duration = Duration::from_millis(100);
/// The number of bytes that are read from the end of a log file.
const TAIL: u64 = 32 << 10;

pub(crate) fn top(args: &TopArguments) -> Result<()> {
    if !std::io::stdout().is_terminal() {
        return Err(bad_input!("'fathom top' needs a terminal. Use 'fathom status --watch' to print lines"));
    }
    let Some(address) = address_of(&args.run) else {
        // Errors are reported before the display takes over the terminal.
        of_directory(&args.run)?;
        return show(|| of_directory(&args.run).map(Look::At));
    };
    let mut coordinator = Watched::call(address, &args.access)?;
    let mut last = None;
    show(|| {
        let mut screen: Screen = match coordinator.look()? {
            Seen::Status(status) => of_coordinator(&status, &coordinator.events())?,
            Seen::Ended(how) => return Ok(Look::Over(format!("the coordinator has ended: {how}"))),
            Seen::Away(time) => {
                let mut screen: Screen = Option::clone(&last).unwrap_or_default();
                let time = line::duration(time.as_secs_f64());
                screen.progress = vec![format!("unreachable for {time}, retrying")];
                return Ok(Look::At(screen));
            }
        };
        screen.progress.retain(|line| !line.is_empty());
        last = Some(screen.clone());
        Ok(Look::At(screen))
    })
}

/// What is to be drawn.
enum Look {
    /// A run as it is now.
    At(Screen),
    /// Nothing more: the reason is printed.
    Over(String),
}

/// Draws until a key, a signal or an error ends the display, and then restores the terminal.
fn show(mut look: impl FnMut() -> Result<Look>) -> Result<()> {
    // In raw mode Ctrl-C is a key. Other signals set a flag that the loop checks.
    let interrupts = interrupts();
    interrupts.at_once.store(false, Ordering::Relaxed);
    let mut screen = match look()? {
        Look::At(screen) => screen,
        Look::Over(reason) => return output::line(&reason),
    };
    let mut terminal = ratatui::try_init()?;
    let mut drawn = || -> Result<Option<String>> {
        let mut looked = Instant::now();
        while !interrupts.requested.load(Ordering::Relaxed) {
            terminal.draw(|frame| draw(frame, &screen))?;
            if event::poll(KEYS)?
                && let Event::Key(key) = event::read()?
                && (matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
                    || key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL))
            {
                return Ok(None);
            }
            if looked.elapsed() >= POLL_INTERVAL {
                looked = Instant::now();
                match look()? {
                    Look::At(seen) => screen = seen,
                    Look::Over(reason) => return Ok(Some(reason)),
                }
            }
        }
        Ok(None)
    };
    let end = drawn();
    ratatui::restore();
    end?.map_or(Ok(()), |reason| output::line(&reason))
}

fn of_coordinator(status: &str, events: &[Value]) -> Result<Screen> {
    let fields: Value = serde_json::from_str(status)?;
    let cluster: ClusterStatus = serde_json::from_str(status)?;
    let names: Names =
        cluster.workers.iter().map(|worker| (worker.id.clone(), worker.name.clone())).collect();
    let counts: Vec<u64> =
        fields["counts"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    let rate: f64 = cluster.workers.iter().map(|worker| worker.states_per_second).sum();
    let left =
        cluster.depth_eta_seconds.map(|left| format!(" · about {} left in this depth", line::duration(left)));
    Ok(Screen {
        title: format!("{} {}", text("space"), text("metric")),
        progress: vec![
            format!(
                "depth {}  {} of all states visited · {} states/s{}",
                cluster.depth,
                line::percent(counts.iter().sum(), fields["states"].as_u64().unwrap_or(0)),
                line::rounded(rate),
                left.unwrap_or_default()
            ),
            cluster.obstacle.map_or(String::new(), |obstacle| format!("waiting: {obstacle}")),
        ],
        counts,
        shards: Shards {
            done: cluster.shards_done,
            running: Some(cluster.shards_running),
            rest: cluster.shards_waiting,
        },
        workers: cluster.workers,
        events: events.iter().map(|event| log_text::line(event, &names)).collect(),
    })
}

fn of_directory(path: &Path) -> Result<Screen> {
    let run = RunDirectory::open_for_reading(path)?;
    let summary = Summary::new(&run)?;
    let note = run_presence::of(path).filter(|_| !summary.complete);
    let progress = match (&note, summary.god_number) {
        (Some(note), _) => run_presence::text(note).lines().map(str::to_owned).collect(),
        (None, Some(depth)) => vec![format!("complete: {} {depth}", summary.largest_distance_is())],
        (None, None) => vec![format!("not running: {}", way_on(&run, path)?)],
    };
    let at = note.and_then(|note| note.progress);
    Ok(Screen {
        title: format!("{} {} in {}", summary.space, summary.metric, path.display()),
        progress,
        counts: summary.counts,
        shards: at.map_or(Shards::default(), |at| Shards {
            done: at.shards_done,
            running: None,
            rest: at.shards.saturating_sub(at.shards_done),
        }),
        workers: Vec::new(),
        events: tail(&path.join(LOG)),
    })
}

/// Returns the last lines of a log.
fn tail(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // Without a log there are no events to show.
    let text = read().unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.map(|fields: Value| log_text::line(&fields, &Vec::new())).collect()
}

/// Formats a number of bytes compactly.
fn bytes(bytes: u64) -> String {
    HumanBytes(bytes).to_string()
}
