//! Predicts the states of the depths that a run has not reached yet. [`outlook`](super::outlook) predicts the
//! time that they take.
//!
//! A state that is not visited yet is found at the next depth if one of the m moves into it comes from the
//! newest depth. The chance of that is 1 - (1 - q)^(alpha m), where q is the share of the newest depth in the
//! states that are not in the depths above it. Alpha is below one because moves commute and cancel. The known
//! counts determine alpha; after them alpha continues to fall at the same rate, until half of the states are
//! visited. A prediction takes microseconds, and each depth that becomes known corrects it.

/// Fewer known depths than this give no prediction.
const MIN_KNOWN: usize = 3;
/// The lower limit of alpha, so that every growth ends.
const MIN_ALPHA: f64 = 0.1;
/// The largest number of depths that are predicted.
const MAX_DEPTHS: usize = 400;

/// Predicts the number of states at each of the next depths, beginning with the first unknown one. `counts`
/// are the states at the known depths, `states` is the number of states of the space, and `moves` is the
/// number of moves from each state. Returns nothing if too few depths are known, or if no states are left.
pub fn growth(counts: &[u64], states: u64, moves: usize) -> Vec<f64> {
    let all = states as f64;
    let mut left = all;
    let mut alphas = Vec::new();
    // The expected number of hits of an unvisited state from the newest depth, if hits were independent.
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
    if counts.len() < MIN_KNOWN || left < 0.5 {
        return Vec::new();
    }
    // At the first depth no moves cancel, so its alpha is omitted.
    let fall = match alphas.get(1..).unwrap_or_default() {
        [.., before, _, last] => (last / before).sqrt().min(1.0),
        [before, last] => (last / before).min(1.0),
        _ => 1.0,
    };
    let mut newest = counts.last().copied().unwrap_or_default() as f64;
    let mut alpha = alphas.last().copied().unwrap_or(1.0);
    let mut expected = Vec::new();
    while left >= 0.5 && expected.len() < MAX_DEPTHS {
        if left * 2.0 > all {
            alpha *= fall;
        }
        alpha = alpha.max(MIN_ALPHA);
        let found = (left * -(-alpha * into(newest, left)).exp_m1()).min(left);
        left -= found;
        // A remaining fraction of a state belongs to the last depth.
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
    use crate::forecast::growth::BOARD;

    const STATES: u64 = 20_922_789_888_000;

    #[test]
    fn predictions_are_close_to_known_growth() {
        for known in 5..12 {
            let expected = growth(&BOARD[..known], STATES, 24);
            let visited: u64 = BOARD[..known].iter().sum();
            let sum: f64 = expected.iter().sum();
            assert!((sum / (STATES - visited) as f64 - 1.0).abs() < 1e-6, "{known}: {sum}");
            for (depth, expected) in (known..).zip(&expected) {
                let real = BOARD.get(depth).copied().unwrap_or(0) as f64;
                // Depths with more than a twentieth of all states are predicted within a factor of 1.5.
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
    fn complete_and_short_runs_have_no_prediction() {
        assert!(growth(&BOARD, STATES, 24).is_empty());
        assert!(growth(&BOARD[..2], STATES, 24).is_empty());
    }
}
