//! Progress on a terminal: a bar for each depth of a search while it is made, and a spinner while tables are made.

use fathom_command::log::Verbosity;
use fathom_command::output;
use fathom_engine::observer::{Observer, Progress};
use fathom_run::Depth;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A line on a terminal that says what is being done. It appears when that has taken a second, and goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Spinner {
    /// Dropping the sender ends the thread.
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Spinner {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Begins to wait; nothing is shown where standard error is no terminal, or remarks are not wanted.
    pub(crate) fn begin(what: String) -> Self {
        let running = output::shows_progress().then(|| {
            let (sender, ended) = channel();
            let wait = move || {
                if ended.recv_timeout(Self::PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    let style = ProgressStyle::with_template("{spinner} {msg}, for {elapsed}");
                    let style = style.expect("the template is right");
                    let spinner = ProgressBar::new_spinner().with_style(style).with_message(what);
                    let spinner = spinner.with_elapsed(Self::PATIENCE);
                    spinner.enable_steady_tick(Duration::from_millis(100));
                    // Ends when the sender is gone.
                    let _ = ended.recv();
                    spinner.finish_and_clear();
                }
            };
            (sender, std::thread::spawn(wait))
        });
        Self { running }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            // A spinner that could not be drawn is no loss.
            let _ = thread.join();
        }
    }
}

/// Draws bars on standard error, if it is a terminal and bars are wanted.
#[derive(Debug)]
pub(crate) struct Bars {
    shown: bool,
    bar: RefCell<ProgressBar>,
    spinner: RefCell<Option<Spinner>>,
}

impl Bars {
    /// Bars as far as `verbosity` and the terminal allow.
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        Self {
            shown: verbosity.shows_bars(),
            bar: RefCell::new(ProgressBar::hidden()),
            spinner: RefCell::default(),
        }
    }
}

impl Observer for Bars {
    fn tables_begin(&self) {
        if self.shown {
            self.spinner.replace(Some(Spinner::begin("making tables".into())));
        }
    }

    fn tables_end(&self) {
        self.spinner.take();
    }

    fn layer_begins(&self, depth: Depth, cosets: u64, _shards: u32) {
        if !self.shown {
            return;
        }
        let style =
            style("{eta} left").with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{} cosets/s", HumanCount(state.per_sec() as u64));
            });
        let bar = ProgressBar::new(cosets).with_style(style).with_prefix(format!("depth {depth}"));
        bar.tick();
        self.bar.replace(bar);
    }

    fn progress(&self, Progress { cosets, states }: Progress) {
        let bar = self.bar.borrow();
        bar.set_message(format!("{} states", HumanCount(states)));
        bar.set_position(cosets);
    }

    /// The bar stays, with what was found and the time that it took.
    fn layer_ends(&self, progress: Progress) {
        self.progress(progress);
        let bar = self.bar.borrow();
        bar.set_style(style("in {elapsed}"));
        bar.abandon();
    }
}

/// The style of a bar that ends with `time`.
fn style(time: &str) -> ProgressStyle {
    let rate = if time.contains("eta") { "  {rate}" } else { "" };
    let template =
        format!("{{prefix:>9}} {{wide_bar}} {{human_pos}}/{{human_len}} cosets  {{msg}}{rate}  {time}");
    ProgressStyle::with_template(&template).expect("the template is right")
}
