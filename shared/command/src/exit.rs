//! Errors as the user sees them, and exit codes.

use crate::terminal_line;
use std::error::Error;
use std::process::ExitCode;

/// The request of the user cannot be fulfilled and must be changed. Exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// The run was stopped by a signal; it can be resumed. Exit code 128 + the signal's number.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Interrupted {
    /// The message for the user, which says how to continue.
    pub message: String,
    /// The signal.
    pub signal: i32,
}

/// The process was told to stop before its work was done, and exits with the code given for this case. No message is printed.
#[derive(Debug, thiserror::Error)]
#[error("the work is not done")]
pub struct NotDone(pub u8);

/// The answer to the question is no, which was printed as the result. Exit code 1, without a message.
#[derive(Debug, thiserror::Error)]
#[error("the answer is no")]
pub struct No;

/// Shorthand for a [`BadInput`] in an [`anyhow::Error`].
#[macro_export]
macro_rules! bad_input {
    ($($text:tt)*) => {
        anyhow::Error::new($crate::exit::BadInput(format!($($text)*)))
    };
}

/// Returns the message of the operating system, without the number of the error.
pub fn said_by_system(error: &std::io::Error) -> String {
    without_numbers(error.to_string())
}

/// Removes the error numbers of the operating system, such as ` (os error 2)`, from a message, and from its
/// end the text that SQLite adds with a number, such as `: Error code 14: unable to open database file`: the
/// words before them say the same.
pub fn without_numbers(mut text: String) -> String {
    const BEFORE: &str = " (os error ";
    if let Some(from) = text.rfind(": Error code ") {
        text.truncate(from);
    }
    while let Some(from) = text.find(BEFORE)
        && let Some(length) = text[from..].find(')')
    {
        text.replace_range(from..=from + length, "");
    }
    text
}

/// Prints on standard error why a command failed, and returns its exit code: 2 for bad input, 128 + n for
/// signal n, that of a [`NotDone`], 1 for all else. Bad input is a [`BadInput`] among the causes, or a cause that `is_bad_input`
/// recognises.
pub fn end(result: anyhow::Result<()>, is_bad_input: fn(&(dyn Error + 'static)) -> bool) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    terminal_line::clear();
    if error.is::<Interrupted>() {
        terminal_line::tell(&error.to_string());
    } else if !error.is::<No>() && !error.is::<NotDone>() {
        terminal_line::tell(&format!("error: {}", without_numbers(format!("{error:#}"))));
    }
    if error.chain().any(|cause| cause.is::<BadInput>() || is_bad_input(cause)) {
        return ExitCode::from(2);
    }
    if let Some(&NotDone(code)) = error.downcast_ref() {
        return ExitCode::from(code);
    }
    match error.chain().find_map(|cause| cause.downcast_ref::<Interrupted>()) {
        Some(interrupted) => ExitCode::from(128 + interrupted.signal as u8),
        None => ExitCode::from(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_removed() {
        let missing = std::io::Error::from_raw_os_error(2);
        assert_eq!(said_by_system(&missing), "No such file or directory");
        let twice = format!("a: {missing}: b: {missing}");
        assert_eq!(without_numbers(twice), "a: No such file or directory: b: No such file or directory");
        assert_eq!(without_numbers("what (os error is".into()), "what (os error is");
        let database =
            "cannot use a: unable to open database file: a: Error code 14: unable to open database file";
        assert_eq!(without_numbers(database.into()), "cannot use a: unable to open database file: a");
    }
}
