//! Progress in one line of text.

use super::Sample;
use indicatif::{HumanBytes, HumanCount};

/// Formats a reading in at most `columns` columns, omitting the least important parts first.
pub(crate) fn of(reading: &Sample, columns: usize) -> String {
    let share = match reading.all {
        Some(all) => format!("depth {}  {}", reading.depth, percent(reading.visited, all)),
        None => format!("depth {}", reading.depth),
    };
    let all = match reading.all {
        Some(all) => format!("  of {}", HumanCount(all)),
        None => format!("  {} states", HumanCount(reading.visited)),
    };
    let rate = format!(" · {} states/s", rounded(reading.rate));
    let left = match reading.left {
        Some(left) => format!(" · about {} left", duration(left.seconds)),
        None => String::new(),
    };
    let disk = reading.disk_bytes.map_or(String::new(), |bytes| format!(" · {} disk", HumanBytes(bytes)));
    let of_all = reading.all.map_or("", |_| "  of all").to_owned();
    let forms: [&[&String]; 6] = [
        &[&share, &all, &rate, &left, &disk],
        &[&share, &all, &rate, &left],
        &[&share, &of_all, &rate, &left],
        &[&share, &of_all, &left],
        &[&share, &left],
        &[&share],
    ];
    let width = |form: &[&String]| form.iter().map(|part| part.chars().count()).sum::<usize>();
    let fits = |form: &&&[&String]| width(form) <= columns;
    // If none fits, the shortest is truncated.
    forms.iter().find(fits).unwrap_or(&forms[5]).iter().flat_map(|part| part.chars()).take(columns).collect()
}

/// Formats a part of a whole in percent, with more decimals near 0 % and 100 %.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match part as f64 / whole.max(1) as f64 * 100.0 {
        100.0 => "100 %".into(),
        percent if percent >= 99.0 => format!("{:.2} %", percent.min(99.99)),
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        percent if percent >= 0.001 => format!("{percent:.3} %"),
        _ => "under 0.001 %".into(),
    }
}

/// Formats a number with three digits and an SI prefix: `210 M`, `1.42 G`.
pub(crate) fn rounded(number: f64) -> String {
    let (unit, prefix) = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")]
        .into_iter()
        .find(|(unit, _)| number >= unit * 0.9995)
        .unwrap_or((1.0, ""));
    let value = number / unit;
    match value {
        _ if prefix.is_empty() => format!("{value:.0}"),
        value if value >= 99.95 => format!("{value:.0}{prefix}"),
        value if value >= 9.995 => format!("{value:.1}{prefix}"),
        value => format!("{value:.2}{prefix}"),
    }
}

/// Formats a time in the largest unit that gives at least 1.5, or in seconds.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 129_600.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_engine::forecast::outlook::TimeLeft;

    const READING: Sample = Sample {
        depth: 9,
        cosets: [41, 100],
        shards: [41, 100],
        seconds: 10.0,
        visited: 35_743_176_131,
        all: Some(87_178_291_200),
        rate: 2.1e8,
        left: Some(TimeLeft { seconds: 240.0, uncertainty: 1.5 }),
        disk_bytes: Some(12_991_000_000),
    };

    #[test]
    fn parts_are_omitted_on_narrow_terminals() {
        assert_eq!(
            of(&READING, 120),
            "depth 9  41 %  of 87,178,291,200 · 210 M states/s · about 4 min left · 12.10 GiB disk"
        );
        assert_eq!(of(&READING, 77), "depth 9  41 %  of 87,178,291,200 · 210 M states/s · about 4 min left");
        assert_eq!(of(&READING, 60), "depth 9  41 %  of all · 210 M states/s · about 4 min left");
        assert_eq!(of(&READING, 50), "depth 9  41 %  of all · about 4 min left");
        assert_eq!(of(&READING, 38), "depth 9  41 % · about 4 min left");
        for columns in 0..120 {
            assert!(of(&READING, columns).chars().count() <= columns);
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (1000.0, "1.00 k"),
            (12_345.0, "12.3 k"),
            (999_940.0, "1.00 M"),
            (2.1e8, "210 M"),
            (1.416e9, "1.42 G"),
        ] {
            assert_eq!(rounded(number), text);
        }
        assert_eq!(
            [0.2, 59.0, 240.0, 7000.0, 200_000.0].map(duration),
            ["0.2 s", "59 s", "4 min", "2 h", "2.3 days"]
        );
        assert_eq!(
            [0, 5, 1000, 41_000, 99_999, 100_000].map(|part| percent(part, 100_000)),
            ["under 0.001 %", "0.005 %", "1.0 %", "41 %", "99.99 %", "100 %"]
        );
    }
}
