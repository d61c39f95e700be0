//! Numbers as reports write them.

use std::time::Duration;

/// Writes a wall-clock time.
pub fn duration(seconds: f64) -> String {
    match seconds {
        0.0..60.0 => format!("{seconds:.3} s"),
        _ => humantime::format_duration(Duration::from_secs(seconds.max(0.0).round() as u64)).to_string(),
    }
}

/// Writes a share in percent, with four decimals. A share that is neither 0 nor 1 is never written as `0` or
/// `100`.
pub fn percent(share: f64) -> String {
    percent_with(share, |mantissa, exponent| format!("{mantissa} · {}", power_of_ten(exponent))) + " %"
}

/// Writes a share as [`percent`] does, without the percent sign; `scientific` joins mantissa and exponent.
pub fn percent_with(share: f64, scientific: impl Fn(&str, i32) -> String) -> String {
    let percent = 100.0 * share;
    let small = format!("{percent:.1e}");
    match small.split_once('e') {
        Some((mantissa, exponent)) if percent > 0.0 && percent < 0.000_1 => {
            scientific(mantissa, exponent.parse().expect("it was written as a whole number"))
        }
        _ if share < 1.0 && percent >= 99.999_95 => "> 99.9999".into(),
        _ => format!("{percent:.4}"),
    }
}

/// Writes a large number with two digits.
pub fn scientific(number: f64) -> String {
    let exponent = number.log10().floor();
    format!("{:.1} · {}", number / 10_f64.powf(exponent), power_of_ten(exponent as i32))
}

/// Writes a power of ten with a raised exponent.
pub fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_and_huge_shares_are_not_rounded_away() {
        for (share, text) in [
            (0.0, "0.0000 %"),
            (2.1e-9, "2.1 · 10⁻⁷ %"),
            (0.000_002, "0.0002 %"),
            (0.223_154_6, "22.3155 %"),
            (0.999_999_4, "99.9999 %"),
            (0.999_999_8, "> 99.9999 %"),
            (1.0, "100.0000 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn powers_of_ten() {
        assert_eq!((scientific(2.5e8).as_str(), power_of_ten(12).as_str()), ("2.5 · 10⁸", "10¹²"));
        assert_eq!((duration(0.0821).as_str(), duration(347.2).as_str()), ("0.082 s", "5m 47s"));
    }
}
