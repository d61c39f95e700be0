//! The growth table for a paper, using the package `booktabs`, and `longtable` if it is long.

use super::numbers::percent_with;
use super::{Report, facts};
use std::fmt::Write;

/// The largest number of rows on one page.
const PAGE: usize = 40;

/// Writes the growth table with caption and label: a floating table, or one over several pages by the package `longtable`.
pub fn table(report: &Report) -> String {
    let caption = format!("\\caption{{{}}}", caption(report));
    let label = format!("\\label{{tab:{}}}", label(&report.title));
    let header =
        "\\toprule\ndistance & states & classes & share & cumulative share \\\\\n\\midrule\n".to_string();
    let (packages, begin, end) = match report.rows.len() <= PAGE {
        true => (
            "\\usepackage{booktabs}",
            format!(
                "\\begin{{table}}\n\\centering\n{caption}\n{label}\n\\begin{{tabular}}{{rrrrr}}\n{header}"
            ),
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n",
        ),
        // \endhead ends the lines that each page repeats, and \endlastfoot those below the last row.
        false => (
            "\\usepackage{booktabs,longtable}",
            format!(
                "\\begin{{longtable}}{{rrrrr}}\n{caption}\n{label}\\\\\n{header}\\endfirsthead\n{header}\\endhead\n\\bottomrule\n\\endlastfoot\n"
            ),
            "\\end{longtable}\n",
        ),
    };
    let mut text = format!(
        "% {}, fingerprint {}\n% digest {}\n% Needs {packages}.\n{begin}",
        report.provenance.begun_by, report.provenance.fingerprint, report.summary.digest,
    );
    for row in &report.rows {
        let classes = row.classes.map_or("--".into(), grouped);
        writeln!(
            text,
            "{} & {} & {classes} & {} & {} \\\\",
            row.depth,
            grouped(row.states),
            row.share.map_or("--".into(), percent),
            row.cumulative_share.map_or("--".into(), percent)
        )
        .expect("writing to a String succeeds");
    }
    text + end
}

fn caption(report: &Report) -> String {
    let (largest, is) = (report.summary.largest_distance_is(), facts::largest_distance(report));
    let known = if report.summary.complete { "" } else { " (not all of which were visited)" };
    format!(
        "The {} states{known} by distance from {}; {largest}: {is}.",
        report.summary.all_states().map_or_else(String::new, |all| all.replace(',', "\\,")),
        escaped(&facts::from_where(report))
    )
}

/// Writes a number in groups of three digits.
fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string().replace(',', "\\,")
}

fn percent(share: f64) -> String {
    let number = percent_with(share, |mantissa, exponent| format!("${mantissa}\\times 10^{{{exponent}}}$"));
    format!("{}\\,\\%", number.replace("> ", "$>$\\,"))
}

/// Escapes text, so that LaTeX does not interpret it.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '|' => escaped.push_str("\\textbar{}"),
            // \textquotedbl needs a font encoding that is not the default.
            '"' => escaped.push_str("\\symbol{34}"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Makes a key for references from a title.
fn label(title: &str) -> String {
    title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latex_commands_are_escaped() {
        assert_eq!(escaped(r"a_b^c\d{e}%"), r"a\_b\textasciicircum{}c\textbackslash{}d\{e\}\%");
        assert_eq!(escaped(r#"<a>|"b""#), r"\textless{}a\textgreater{}\textbar{}\symbol{34}b\symbol{34}");
        assert_eq!(label("2x4-V1^2 given"), "2x4-V1-2-given");
        assert_eq!(grouped(479_001_600), r"479\,001\,600");
        assert_eq!(percent(0.223155), r"22.3155\,\%");
        assert_eq!(percent(4.2e-9), r"$4.2\times 10^{-7}$\,\%");
        assert_eq!(percent(0.999_999_99), r"$>$\,99.9999\,\%");
    }
}
