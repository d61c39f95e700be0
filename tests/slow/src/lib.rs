//! Selects how much the tests check: the quick cases, or everything if `FATHOM_TEST_SLOW=1` is set in the
//! environment.
//!
//! Slow tests go through many cases of one kind, or far into one search. Fault tests are never slow tests.

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
