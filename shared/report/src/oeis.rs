//! The growth function in the format of the On-Line Encyclopedia of Integer Sequences: a b-file (lines `n
//! a(n)`, and comments that begin with `#`) whose comments have the other fields of an entry in its internal
//! format (oeis.org/eishelp1.html), without the A-number.

use super::{Report, facts};
use crate::text::{many, or_more};
use std::fmt::Write;

/// The maximum number of characters of terms in a line: lines have 80 characters with `%S A000000 ` before
/// the terms.
const LINE: usize = 69;
/// The letters of the lines of terms, in their order.
const LETTERS: [&str; 3] = ["S", "T", "U"];

/// Writes the b-file. If the run is not complete, the file has the terms that are known.
pub fn b_file(report: &Report) -> String {
    let states: Vec<u64> = report.rows.iter().map(|row| row.states).collect();
    let mut text = format!("# {}\n", report.title);
    let mut line = |field: &str, value: &str| {
        writeln!(text, "# %{field} {value}").expect("writing to a String succeeds");
    };
    let (lines, has_all) = data(&states);
    if !states.is_empty() {
        lines.iter().for_each(|(letter, terms)| line(letter, terms));
    }
    line(
        "N",
        &match &report.words {
            Some(words) => format!("Number of {}, where {}.", words.counted, words.one_move),
            None => format!("Number of states at distance n from {}.", facts::from_where(report)),
        },
    );
    // If there are no display names, this is part of the name.
    if let (Some(one_way), Some(_)) = (report.summary.one_way(), &report.words) {
        line("C", &format!("Not symmetric: {one_way}."));
    }
    if let Some(labels) = report.told_labels() {
        let labels: Vec<String> = labels.iter().map(u16::to_string).collect();
        line("C", &format!("The labels of the pieces, cell by cell: {}.", labels.join(",")));
    }
    line("C", &format!("{}: {}.", report.provenance.begun_by, facts::status(report)));
    let symmetry = match report.summary.symmetries_are_all {
        true => "symmetry".into(),
        false => format!("{}{}", many(report.summary.symmetries as u64, "symmetry"), or_more(false)),
    };
    // Without symmetries these terms are those of the states.
    let classes = report.rows.iter().map(|row| row.classes.filter(|_| report.summary.symmetries > 1));
    if let Some(classes) = classes.collect::<Option<Vec<u64>>>().filter(|classes| !classes.is_empty()) {
        line("C", &format!("Up to {symmetry}: {}.", joined(&classes)));
    }
    let with_inverse = report.rows.iter().map(|row| row.classes_with_inverse);
    if let Some(classes) = with_inverse.collect::<Option<Vec<u64>>>().filter(|classes| !classes.is_empty()) {
        let symmetry = if report.summary.symmetries > 1 { &format!("{symmetry} and ") } else { "" };
        line("C", &format!("Up to {symmetry}inversion: {}.", joined(&classes)));
    }
    line(
        "K",
        match (report.summary.complete, has_all) {
            (true, true) => "nonn,fini,full",
            (true, false) => "nonn,fini",
            (false, _) => "nonn,fini,more",
        },
    );
    line("O", &offset(&states));
    for row in &report.rows {
        writeln!(text, "{} {}", row.depth, row.states).expect("writing to a String succeeds");
    }
    text
}

fn joined(terms: &[u64]) -> String {
    terms.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the lines of terms, all but the last with a comma at the end, and whether these are all terms.
/// Terms that do not fit on three lines are only in the b-file.
fn data(terms: &[u64]) -> (Vec<(&'static str, String)>, bool) {
    let mut lines = vec![String::new()];
    for (at, term) in terms.iter().enumerate() {
        let comma = if at + 1 < terms.len() { "," } else { "" };
        let entry = format!("{term}{comma}");
        match lines.last_mut() {
            Some(line) if line.len() + entry.len() <= LINE => line.push_str(&entry),
            _ => lines.push(entry),
        }
    }
    let has_all = lines.len() <= LETTERS.len();
    lines.truncate(LETTERS.len());
    if let Some(line) = lines.last_mut().filter(|line| line.ends_with(',')) {
        line.pop();
    }
    (LETTERS.into_iter().zip(lines).collect(), has_all)
}

/// Writes the index of the first term, and the place, from 1, of the first term that exceeds 1; 1 if there is
/// none.
fn offset(terms: &[u64]) -> String {
    format!("0,{}", terms.iter().position(|&term| term > 1).map_or(1, |place| place + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_and_offsets_match_a_real_entry() {
        // The internal format of A000112 (oeis.org/eishelp1.html).
        let terms = [
            1,
            1,
            2,
            5,
            16,
            63,
            318,
            2045,
            16999,
            183_231,
            2_567_284,
            46_749_427,
            1_104_891_746,
            33_823_827_452,
        ];
        assert_eq!(
            data(&terms),
            (
                vec![
                    ("S", "1,1,2,5,16,63,318,2045,16999,183231,2567284,46749427,1104891746,".into()),
                    ("T", "33823827452".into())
                ],
                true
            )
        );
        assert_eq!(offset(&terms), "0,3");
        assert_eq!(offset(&[1]), "0,1");
        assert_eq!(data(&[]), (vec![("S", String::new())], true));
        // The last of the three lines has no comma at its end.
        let (lines, has_all) = data(&[1_000_000_000; 20]);
        let line = |terms| vec!["1000000000"; terms].join(",");
        let first = line(6) + ",";
        assert_eq!((lines, has_all), (vec![("S", first.clone()), ("T", first), ("U", line(6))], false));
    }
}
