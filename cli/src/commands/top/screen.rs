//! The screen of `fathom top`.

use super::{bytes, line};
use fathom_coordinator::cluster::status::WorkerStatus;
use indicatif::HumanCount;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Table};

/// The state of a run at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    /// The name of the run.
    pub(super) title: String,
    /// Lines that describe the progress.
    pub(super) progress: Vec<String>,
    /// The number of states at each finished depth.
    pub(super) counts: Vec<u64>,
    /// The shards of the current depth.
    pub(super) shards: Shards,
    /// The workers of the run; empty if it has none.
    pub(super) workers: Vec<WorkerStatus>,
    /// Recent events, newest last.
    pub(super) events: Vec<String>,
}

/// The shards of a depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shards {
    pub(super) done: u32,
    /// The number of shards that are being computed, if known.
    pub(super) running: Option<u32>,
    pub(super) rest: u32,
}

/// Draws all parts. Empty parts take no space.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let rows = |rows: usize| if rows == 0 { 0 } else { rows as u16 + 2 };
    let head = screen.progress.iter().filter(|line| !line.is_empty()).count() as u16 + 1;
    let workers = rows(if screen.workers.is_empty() { 0 } else { screen.workers.len() + 1 });
    let shards = rows(usize::from(screen.shards != Shards::default()));
    let rest = frame.area().height.saturating_sub(head + shards + 1);
    let workers = workers.min(rest / 3);
    let growth = rows(screen.counts.len()).min((rest - workers).max(6) / 2 + 2);
    let [at_head, at_growth, at_shards, at_workers, at_events, at_foot] = Layout::vertical([
        Constraint::Length(head),
        Constraint::Length(growth),
        Constraint::Length(shards),
        Constraint::Length(workers),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let mut lines = vec![Line::from(screen.title.clone().bold())];
    lines.extend(screen.progress.iter().filter(|line| !line.is_empty()).map(|line| Line::from(line.clone())));
    frame.render_widget(Paragraph::new(lines), at_head);
    draw_growth(frame, screen, at_growth);
    draw_shards(frame, screen, at_shards);
    draw_workers(frame, screen, at_workers);
    draw_events(frame, screen, at_events);
    frame.render_widget(Line::from("q quits".dim()), at_foot);
}

fn part(title: &str) -> Block<'_> {
    Block::new().borders(Borders::TOP).title(title).border_style(Style::new().dim())
}

/// Draws a bar for each depth, on a logarithmic scale. If there is not enough space, only the newest are
/// drawn.
fn draw_growth(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let most = screen.counts.iter().max().map_or(1.0, |&most| (most as f64).ln_1p());
    let widest = screen.counts.iter().map(|&count| HumanCount(count).to_string().len()).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(widest + 8);
    let hidden = screen.counts.len().saturating_sub(usize::from(area.height.saturating_sub(1)));
    let lines = screen.counts.iter().enumerate().skip(hidden).map(|(depth, &count)| {
        let bar = ((count as f64).ln_1p() / most * room as f64).round() as usize;
        Line::from(vec![
            Span::raw(format!("{depth:>3}  {:>widest$}  ", HumanCount(count).to_string())),
            Span::styled("█".repeat(bar), Color::Blue),
        ])
    });
    let title = " growth: states by depth (logarithmic bars) ";
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(part(title)), area);
}

fn draw_shards(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let Shards { done, running, rest } = screen.shards;
    let all = done + running.unwrap_or(0) + rest;
    let columns = u64::from(area.width);
    let end = |shards: u32| (u64::from(shards) * columns / u64::from(all.max(1))) as usize;
    let (first, second) = (end(done), end(done + running.unwrap_or(0)));
    let line = Line::from(vec![
        Span::styled("█".repeat(first), Color::Green),
        Span::styled("▓".repeat(second - first), Color::Yellow),
        Span::styled("░".repeat(columns as usize - second), Style::new().dim()),
    ]);
    let title = match running {
        Some(running) => format!(" shards: {done} done, {running} running, {rest} waiting "),
        None => format!(" shards: {done} of {all} done "),
    };
    frame.render_widget(Paragraph::new(line).block(part(&title)), area);
}

fn draw_workers(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let rows = screen.workers.iter().map(|worker| {
        let style = match worker.presence.as_str() {
            "alive" => Style::new(),
            "draining" | "silent" => Color::Yellow.into(),
            _ => Color::Red.into(),
        };
        Row::new([
            worker.name.clone(),
            worker.presence.clone(),
            worker.threads.to_string(),
            worker.shards_running.to_string(),
            match worker.states_per_second {
                // Not known yet.
                0.0 => "-".into(),
                rate => format!("{}/s", line::rounded(rate)),
            },
            worker.heard_seconds.map_or("-".into(), |seconds| format!("{seconds:.0} s ago")),
            bytes(worker.free_bytes),
        ])
        .style(style)
    });
    let widths = [20, 8, 7, 6, 11, 9, 12].map(Constraint::Max);
    let header = Row::new(["name", "is", "threads", "shards", "states", "heard", "free disk"]).dim();
    frame.render_widget(Table::new(rows, widths).header(header).block(part(" workers ")), area);
}

/// Draws the events, newest first.
fn draw_events(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let lines = screen.events.iter().rev().take(area.height.into()).map(|event| Line::from(event.clone()));
    frame
        .render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(part(" events, newest first ")), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn text(screen: &Screen, columns: u16, rows: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(frame, screen)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| (0..columns).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
        (0..rows).map(|y| row(y).trim_end().to_owned() + "\n").collect()
    }

    fn screen() -> Screen {
        let worker = WorkerStatus {
            id: "0123".into(),
            name: "node-3".into(),
            address: "node-3:7401".into(),
            presence: "silent".into(),
            threads: 8,
            kernel: "avx2".into(),
            shards_running: 2,
            files: 12,
            states_per_second: 2.1e8,
            heard_seconds: Some(19.0),
            sent_bytes: 0,
            received_bytes: 0,
            free_bytes: 5 << 30,
            ..WorkerStatus::default()
        };
        Screen {
            title: "3x4 multi".into(),
            progress: vec!["depth 9  27 % of all states visited".into(), String::new()],
            counts: vec![1, 17, 195, 2147, 22888, 227316, 2090826, 17077746, 106891431],
            shards: Shards { done: 8, running: Some(4), rest: 4 },
            workers: vec![worker],
            events: vec!["worker registered".into(), "layer done".into()],
        }
    }

    #[test]
    fn running_shards_are_shown_only_if_known() {
        let shards = Shards { done: 8, running: None, rest: 8 };
        let text = text(&Screen { shards, ..screen() }, 80, 24);
        assert!(text.contains(" shards: 8 of 16 done ") && !text.contains("running"), "{text}");
    }

    #[test]
    fn all_parts_fit_on_a_small_terminal() {
        let text = text(&screen(), 80, 24);
        for part in [
            "3x4 multi",
            "depth 9  27 % of all states visited",
            "growth",
            "  8  106,891,431  ███",
            "shards: 8 done, 4 running, 4 waiting",
            "node-3               silent   8       2",
            "210 M/s",
            "5.00 GiB",
            "layer done\nworker registered\n",
            "q quits",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
    }

    #[test]
    fn any_terminal_size_is_drawn() {
        for columns in [1, 10, 40] {
            for rows in 1..24 {
                text(&screen(), columns, rows);
                text(&Screen::default(), columns, rows);
            }
        }
    }
}
