//! Finds the blocks of commands and output in the documentation, runs the commands, and compares the output.
//!
//! A block is fenced, and its commands follow `$ `. A block after the mark `<!-- run by records/docs.sh -->`
//! takes longer than a test should, or needs something that a test does not have; that script runs the block.
//! If the mark says `words alone`, numbers and names differ from run to run, and only the words between them
//! are compared. A test runs all other blocks. The blocks of a file are run in order, in one directory.

use crate::{fathom, fathom_worker};
use fathom_kernel::SimdLevel;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The marks: each block that `records/docs.sh` runs has one of them above it.
pub const MARKS: [&str; 2] =
    ["<!-- run by records/docs.sh -->", "<!-- run by records/docs.sh, words alone -->"];

/// A block of commands and output.
#[derive(Clone, Debug)]
pub struct Block {
    /// The path of the file, from the root of the repository.
    pub file: PathBuf,
    /// The line of its fence, counted from 1.
    pub line: usize,
    /// Whether `records/docs.sh` runs it.
    pub is_marked: bool,
    /// Whether only words are compared.
    pub words_alone: bool,
    /// The commands, each with the output shown.
    pub commands: Vec<(String, Vec<String>)>,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the repository").into()
}

/// Returns the files that may have blocks: the README, and the files of `docs`.
///
/// # Panics
/// If the files cannot be listed.
pub fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("docs exists");
    let names = entries.map(|entry| entry.expect("docs can be listed").file_name());
    let pages = names.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "md"));
    let mut files: Vec<PathBuf> = pages.map(|name| Path::new("docs").join(name)).collect();
    files.push("README.md".into());
    files.sort();
    files
}

/// Returns the blocks of a file that have commands.
///
/// # Panics
/// If the file cannot be read, or a fence is not closed.
pub fn blocks(file: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(root().join(file))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for (line, number) in text.lines().zip(1..) {
        match (&mut open, line.starts_with("```")) {
            (None, true) => {
                let [is_marked, words_alone] = [MARKS.contains(&before), before == MARKS[1]];
                let (file, line, commands) = (file.into(), number, Vec::new());
                open = Some(Block { file, line, is_marked, words_alone, commands });
            }
            (Some(_), true) => blocks.extend(open.take().filter(|block| !block.commands.is_empty())),
            (Some(block), false) => match (line.strip_prefix("$ "), block.commands.last_mut()) {
                (Some(command), _) => block.commands.push((command.into(), Vec::new())),
                (None, Some((_, shown))) => shown.push(line.into()),
                (None, None) => {}
            },
            (None, false) => {}
        }
        before = line;
    }
    assert!(open.is_none(), "{}: a fence is not closed", file.display());
    blocks
}

/// Returns the start of the line that notes when a block was run: its file and its first command.
pub fn note_of(block: &Block) -> String {
    let command = block.commands.first().map_or("", |(command, _)| command);
    format!("{}: $ {command}: ", block.file.display())
}

/// Notes in a text, which has one line for each block, that a block's output matched; `when` gives the time
/// and the version.
pub fn with_note(text: &str, block: &Block, when: &str) -> String {
    let of = note_of(block);
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with(&of)).map(str::to_owned).collect();
    lines.push(of + when);
    lines.sort();
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Runs a block in a directory, and returns the block with what is printed. If the output differs from what
/// is shown only in times and rates, the shown output is kept.
///
/// # Panics
/// If no shell can be started.
pub fn shown_now(block: &Block, directory: &Path) -> Block {
    let commands = block.commands.iter().map(|(command, shown)| {
        // Commands that build and locate the programs are not run: the tests have built their own.
        if command.starts_with("cargo build") || command.starts_with("export PATH") {
            return (command.clone(), shown.clone());
        }
        // If `cat` shows a file that does not exist, the file is created with the content from the block.
        if let Some(name) = command.strip_prefix("cat ").filter(|name| !directory.join(name).exists()) {
            std::fs::write(directory.join(name), shown.join("\n") + "\n")
                .expect("the directory can be written");
        }
        // Standard error has cargo's messages and the progress, which a terminal shows as a moving bar.
        let printed = match command.strip_prefix("cargo run --release --bin fathom -- ") {
            Some(arguments) => printed(&format!("fathom {arguments} 2>/dev/null"), directory),
            None => printed(command, directory),
        };
        let printed: Vec<String> =
            printed.lines().filter(|line| !line.ends_with(" …")).map(str::to_owned).collect();
        let without = if block.words_alone { words_of } else { without_times };
        let is_of_here = |line: &&String| !block.words_alone || is_of_this_machine(line);
        let alike =
            |lines: &[String]| lines.iter().filter(is_of_here).map(|line| without(line)).collect::<Vec<_>>();
        let same = alike(&printed) == alike(shown);
        (command.clone(), if same { shown.clone() } else { printed })
    });
    Block { commands: commands.collect(), ..block.clone() }
}

/// Runs a block in a directory, and compares what is printed with what is shown, except for times and rates.
///
/// # Errors
/// The commands whose output differs, each with what is printed and what is shown.
///
/// # Panics
/// If no shell can be started.
pub fn run(block: &Block, directory: &Path) -> Result<(), String> {
    let now = shown_now(block, directory);
    let pairs = block.commands.iter().zip(&now.commands).filter(|(shown, printed)| shown != printed);
    let told = pairs.map(|((command, shown), (_, printed))| {
        let (file, line, shown, printed) =
            (block.file.display(), block.line, shown.join("\n"), printed.join("\n"));
        format!("{file}:{line}: $ {command}\n--- shown\n{shown}\n--- printed\n{printed}")
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { Ok(()) } else { Err(told.join("\n")) }
}

/// Returns the text of a file in which the commands and the output of a block have been replaced at its
/// position.
///
/// # Panics
/// If the block is not from this text.
pub fn with_block(text: &str, block: &Block) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let inside = &lines[block.line..];
    let end =
        block.line + inside.iter().position(|line| line.starts_with("```")).expect("the fence is closed");
    let begin =
        block.line + inside.iter().position(|line| line.starts_with("$ ")).expect("the block has a command");
    let block = block
        .commands
        .iter()
        .flat_map(|(command, shown)| std::iter::once(format!("$ {command}")).chain(shown.iter().cloned()));
    let before = lines[..begin].iter().map(|line| (*line).to_owned());
    let after = lines[end..].iter().map(|line| (*line).to_owned());
    before.chain(block).chain(after).map(|line| line + "\n").collect()
}

/// Runs a command with the programs that were built with these tests, and returns what it prints, including
/// errors.
fn printed(command: &str, directory: &Path) -> String {
    let link = directory.join("docs");
    if !link.exists() {
        std::os::unix::fs::symlink(root().join("docs"), &link).expect("the directory can be written");
    }
    let folders = [fathom(), fathom_worker()].map(|program| {
        Path::new(program.get_program()).parent().expect("a program is in a directory").to_owned()
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path))).expect("a path");
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(directory)
        .env("PATH", path)
        // The number of shards, and therefore of files and bytes, depends on the number of threads.
        .env("FATHOM_THREADS", "2")
        .env("XDG_CONFIG_HOME", directory)
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns a line without the parts that differ between runs and machines, and with single spaces.
fn without_times(line: &str) -> String {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let is_number = |word: &str| {
        let word = word.trim_matches(|c: char| "(),;|".contains(c));
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte))
    };
    let units = [
        "s", "us", "ms", "min", "h", "s,", "min,", "h,", "s;", "GB/s", "MB/s", "thread", "threads", "seconds",
    ];
    for at in 0..words.len() {
        let is_timed = words.get(at + 1).is_some_and(|next| {
            units.contains(&next.as_str()) || next.contains("/s") && !next.contains("bit/s")
        });
        if is_number(&words[at]) && is_timed {
            words[at] = "N".into();
        }
    }
    // In a growth table, the column of seconds differs from run to run, and the column of bytes does not.
    // Seconds have three decimals, and are followed by a number of bytes.
    let is_seconds =
        |word: &str| word.split_once('.').is_some_and(|(_, digits)| digits.len() == 3 && is_number(word));
    let is_bytes = |word: &String| ["B", "KiB", "MiB", "GiB", "TiB"].contains(&word.as_str());
    if let [.., seconds, _, unit] = &mut words[..]
        && is_bytes(unit)
        && is_seconds(seconds)
    {
        *seconds = "N".into();
    }
    let text = words.join(" ").replace("threads", "thread");
    // The memory depends on the machine.
    if text.starts_with("memory: ") {
        return "memory".into();
    }
    json_without_times(&text)
}

/// Returns false for a line of a table about a kernel that this machine does not have.
fn is_of_this_machine(line: &str) -> bool {
    static VERSION: OnceLock<String> = OnceLock::new();
    let version = VERSION.get_or_init(|| {
        let output = fathom().arg("--version").output().expect("fathom prints its version");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let first = line.split_whitespace().next().unwrap_or_default();
    !SimdLevel::ALL.map(SimdLevel::as_str).contains(&first) || version.contains(first)
}

/// Returns the words of a line, without units and words with digits, which differ from run to run.
fn words_of(line: &str) -> String {
    const UNITS: [&str; 13] =
        ["B", "KiB", "MiB", "GiB", "s", "ms", "us", "min", "h", "GB/s", "MB/s", "states/s", "-"];
    let differs = |word: &&str| {
        let bare = word.trim_matches(|c: char| "(),;:".contains(c));
        bare.contains(|c: char| c.is_ascii_digit()) || UNITS.contains(&bare)
    };
    line.split_whitespace().filter(|word| !differs(word)).collect::<Vec<_>>().join(" ")
}

/// Returns a line with a JSON object, without its seconds.
fn json_without_times(line: &str) -> String {
    let mut rest = line;
    let mut out = String::new();
    while let Some(at) = rest.find("seconds\":") {
        let end = at + "seconds\":".len();
        out.push_str(&rest[..end]);
        rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_digit() || ".e-".contains(c));
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ignored_and_numbers_are_compared() {
        let same = |a: &str, b: &str| assert_eq!(without_times(a), without_times(b));
        let other = |a: &str, b: &str| assert_ne!(without_times(a), without_times(b));
        same("     1  17  3  18   0.0000 %    0.003   47.06 KiB", "1 17 3 18 0.0000 % 12.103 47.06 KiB");
        other("     1  17  3  18   0.0000 %    0.003   47.06 KiB", "1 18 3 18 0.0000 % 0.003 47.06 KiB");
        other("     1  17  3  18   0.0000 %    0.003   47.06 KiB", "1 17 3 18 0.0000 % 0.003 47.07 KiB");
        same(r#"{"states":7,"seconds":0.01232,"a":1}"#, r#"{"states":7,"seconds":1.5e-3,"a":1}"#);
        other(r#"{"states":7,"seconds":0.01232}"#, r#"{"states":8,"seconds":0.01232}"#);
        same("time: about 2.5 min with 2 threads", "time: about 30 min with 16 threads");
        other("God's number: 13", "God's number: 14");
    }

    #[test]
    fn only_words_are_compared() {
        let [one, two] =
            ["3d778219  a  alive  1 avx2  0 B  3.1 s ago", "c316fe3b  a  alive  4 avx512  1.2 MiB  1 ms ago"];
        assert_eq!(words_of(one), words_of(two));
        assert_ne!(words_of(one), words_of("c316fe3b  a  lost  4 avx512  1.2 MiB  1 ms ago"));
    }
}
