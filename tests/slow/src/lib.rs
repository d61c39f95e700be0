//! How much tests check: what is quick, or everything with `FATHOM_TEST_SLOW=1` in the environment.
//!
//! Slow tests are those that go through many cases of one kind, or far into one search. Tests of faults are
//! never among them.

/// Returns whether tests check everything.
pub fn is_wanted() -> bool {
    std::env::var_os("FATHOM_TEST_SLOW").is_some_and(|value| value != "0" && !value.is_empty())
}

/// Returns `all` if tests check everything, `quick` otherwise.
pub fn choose<T>(quick: T, all: T) -> T {
    if is_wanted() { all } else { quick }
}

/// Returns every `n`-th case, or all cases if tests check everything.
pub fn one_in<T>(n: usize, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(choose(n, 1))
}
