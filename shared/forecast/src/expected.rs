//! What is still to come of a run that is at work: the depths that are left. How long they may take is in
//! [`outlook`](super::outlook).
//!
//! The growth follows the model of [`model`](super::model) for the space as if it were one coset: a state
//! that is left is found at the next depth if one of the m moves into it comes from that depth, which has the
//! chance 1 - (1 - q)^(alpha m), where q is the share of that depth in the states that depths above it do not
//! have. Alpha, below one because moves commute and cancel, is known where counts are; beyond them it goes on
//! to fall as it fell, until half of the states are visited. The graph of the cosets is not needed, so that
//! an outlook takes microseconds, and the depths that are known correct it.

/// Depths of which the growth must be known before anything is expected.
const LEAST_KNOWN: usize = 3;
/// Alpha stays above this, so that every growth ends.
const LEAST_ALPHA: f64 = 0.1;
/// The most depths that are expected.
const MOST_DEPTHS: usize = 400;

/// How many states the next depths will have, beginning with the first that is not known; nothing while too
/// little is known. `counts` are the states of the depths that are known, `states` those of the space,
/// `moves` leave each state.
pub fn growth(counts: &[u64], states: u64, moves: usize) -> Vec<f64> {
    let all = states as f64;
    let mut left = all;
    let mut alphas = Vec::new();
    // How many hits a state that is left gets from the newest depth, if hits were independent.
    let into = |newest: f64, left: f64| {
        let share = (newest / (newest + left)).min(1.0 - f64::EPSILON);
        moves as f64 * -(-share).ln_1p()
    };
    for (depth, &count) in counts.iter().enumerate() {
        if depth > 0 {
            let found = (count as f64 / left).min(1.0 - 1e-12);
            alphas.push(-(-found).ln_1p() / into(counts[depth - 1] as f64, left));
        }
        left -= count as f64;
    }
    if counts.len() < LEAST_KNOWN || left < 0.5 {
        return Vec::new();
    }
    // The first depth has no moves that cancel.
    let fall = match alphas.get(1..).unwrap_or_default() {
        [.., before, _, last] => (last / before).sqrt().min(1.0),
        [before, last] => (last / before).min(1.0),
        _ => 1.0,
    };
    let mut newest = counts.last().copied().unwrap_or_default() as f64;
    let mut alpha = alphas.last().copied().unwrap_or(1.0);
    let mut expected = Vec::new();
    while left >= 0.5 && expected.len() < MOST_DEPTHS {
        if left * 2.0 > all {
            alpha *= fall;
        }
        alpha = alpha.max(LEAST_ALPHA);
        let found = (left * -(-alpha * into(newest, left)).exp_m1()).min(left);
        left -= found;
        // What is left of a state belongs to the last depth.
        let found = if left < 0.5 { found + left } else { found };
        if found < 0.5 {
            break;
        }
        expected.push(found);
        newest = found;
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::BOARD;

    const STATES: u64 = 20_922_789_888_000;

    #[test]
    fn the_rest_of_a_known_growth_is_near_what_it_was() {
        for known in 5..12 {
            let expected = growth(&BOARD[..known], STATES, 24);
            let visited: u64 = BOARD[..known].iter().sum();
            let sum: f64 = expected.iter().sum();
            assert!((sum / (STATES - visited) as f64 - 1.0).abs() < 1e-6, "{known}: {sum}");
            for (depth, expected) in (known..).zip(&expected) {
                let real = BOARD.get(depth).copied().unwrap_or(0) as f64;
                // Depths with a twentieth of all states are met within a half.
                if real > STATES as f64 / 20.0 {
                    assert!(
                        (expected / real).ln().abs() < 1.5_f64.ln(),
                        "{known}, {depth}: {expected} {real}"
                    );
                }
            }
        }
    }

    #[test]
    fn nothing_is_expected_of_what_is_complete_or_hardly_begun() {
        assert!(growth(&BOARD, STATES, 24).is_empty());
        assert!(growth(&BOARD[..2], STATES, 24).is_empty());
    }
}
