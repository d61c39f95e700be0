//! An entry for the bibliography of a paper: the program, its version, what was counted, and the digest, as
//! `CITATION.cff` asks for.

use super::Report;
use crate::latex;

/// Writes the entry of a run.
pub(crate) fn entry(report: &Report) -> String {
    let summary = &report.summary;
    let state = match summary.complete {
        true => String::new(),
        false => format!(", up to distance {}", summary.counts.len().saturating_sub(1)),
    };
    format!(
        "@misc{{fathom-{key},
  author = {{{{The Fathom developers}}}},
  title = {{Growth function of {title}{state}}},
  howpublished = {{Computed by {program}}},
  note = {{Run {fingerprint}, digest {digest}}},
}}
",
        key = &report.provenance.fingerprint[..16],
        title = latex::escaped(&report.title),
        fingerprint = &report.provenance.fingerprint[..16],
        digest = summary.digest,
        program = latex::escaped(&report.provenance.begun_by),
    )
}
