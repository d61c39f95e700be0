//! A bar for each depth while it is made, when standard error is a terminal.

use fathom_command::log::Verbosity;
use fathom_run::Depth;
use fathom_worker::Counters;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use std::sync::atomic::Ordering;

/// The bar of a layer in the making.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins a layer of so many cosets.
    pub fn begin(verbosity: Verbosity, depth: Depth, cosets: u64) -> Self {
        if !verbosity.shows_bars() {
            return Self { bar: ProgressBar::hidden() };
        }
        let style =
            style("{eta} left").with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{} cosets/s", HumanCount(state.per_sec() as u64));
            });
        let bar = ProgressBar::new(cosets).with_style(style).with_prefix(format!("depth {depth}"));
        bar.tick();
        Self { bar }
    }

    /// Shows what was done so far.
    pub fn show(&self, counters: &Counters) {
        self.bar.set_message(format!("{} states", HumanCount(counters.states.load(Ordering::Relaxed))));
        self.bar.set_position(counters.cosets.load(Ordering::Relaxed));
    }

    /// Ends the layer: the bar stays, with what was found and the time that it took.
    pub fn end(self, counters: &Counters) {
        self.show(counters);
        self.bar.set_style(style("in {elapsed}"));
        self.bar.abandon();
    }
}

/// The bar with what is said of time at its end.
fn style(time: &str) -> ProgressStyle {
    let rate = if time.contains("eta") { "  {rate}" } else { "" };
    let template =
        format!("{{prefix:>9}} {{wide_bar}} {{human_pos}}/{{human_len}} cosets  {{msg}}{rate}  {time}");
    ProgressStyle::with_template(&template).expect("the template is right")
}
