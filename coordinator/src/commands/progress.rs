//! The progress of a search on a terminal: a bar for each depth while it is made.

use fathom_command::log::Verbosity;
use fathom_engine::observer::{Observer, Progress};
use fathom_run::Depth;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use std::cell::RefCell;

/// Draws bars on standard error, if it is a terminal and bars are wanted.
#[derive(Debug)]
pub(crate) struct Bars {
    shown: bool,
    bar: RefCell<ProgressBar>,
}

impl Bars {
    /// Bars as far as `verbosity` and the terminal allow.
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        Self { shown: verbosity.shows_bars(), bar: RefCell::new(ProgressBar::hidden()) }
    }
}

impl Observer for Bars {
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
