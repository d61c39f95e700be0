//! Tables for pages in Markdown, as GitHub shows them.

use super::facts::{self, Fact};
use super::html::branching;
use super::numbers::percent;
use super::wait_times::WaitTimes;
use super::{Report, deepest_states};
use anyhow::Result;
use askama::Template;
use fathom_engine::task::Waits;
use indicatif::HumanCount;

#[derive(Template)]
#[template(path = "report.md", escape = "none")]
struct Page<'a> {
    title: String,
    from: String,
    results: Vec<Fact>,
    origin: Vec<Fact>,
    /// Cells of the growth table.
    rows: Vec<[String; 7]>,
    deepest: Option<(&'static str, String)>,
    states: Vec<String>,
    causes: [&'static str; 6],
    waits: Vec<[String; 8]>,
    report: &'a Report,
}

/// Writes the page.
///
/// # Errors
/// None: writing to a String does not fail.
pub fn page(report: &Report) -> Result<String> {
    let counted = |count: Option<u64>| count.map_or("-".into(), |count| HumanCount(count).to_string());
    let rows = report.rows.iter().zip(report.branching()).map(|(row, factor)| {
        [
            row.depth.to_string(),
            HumanCount(row.states).to_string(),
            counted(row.classes),
            counted(row.classes_with_inverse),
            branching(factor),
            row.share.map_or("–".into(), percent),
            row.cumulative_share.map_or("–".into(), percent),
        ]
    });
    let written = |facts: Vec<Fact>| facts.into_iter().map(written).collect();
    let page = Page {
        title: escaped(&report.heading),
        from: escaped(&facts::from_where(report)),
        results: written(facts::of_results(report)),
        origin: written(facts::of_origin(report)),
        rows: rows.collect(),
        deepest: report.deepest.as_ref().map(|states| deepest_states::caption(report, states)),
        states: report
            .deepest
            .iter()
            .flat_map(|deepest| &deepest.examples)
            .map(|state| match &state.solution {
                Some(solution) => format!("`{}`, solved by `{solution}`", state.cells().join(" ")),
                None => format!("`{}`", state.cells().join(" ")),
            })
            .collect(),
        causes: Waits::CAUSES,
        waits: report.waits.iter().map(WaitTimes::cells).collect(),
        report,
    };
    Ok(page.render()?)
}

/// Writes a fact as Markdown. Markup characters in the fact are escaped.
fn written(fact: Fact) -> Fact {
    let said = match fact.code {
        // A span of code must be one line, and ends at the first backtick.
        true if !fact.said.contains(['`', '\n']) => format!("`{}`", fact.said),
        _ => escaped(&fact.said),
    };
    Fact { said, ..fact }
}

/// Escapes text, so that Markdown does not interpret it.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "\\`*_[]<>#|&~^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_markup_is_escaped() {
        assert_eq!(escaped("a_b <i> `c`"), r"a\_b \<i\> \`c\`");
        let fact = |said: &str| written(Fact { what: "moves", said: said.into(), code: true }).said;
        assert_eq!((fact("V1^2"), fact("a`b")), ("`V1^2`".into(), r"a\`b".into()));
    }
}
