//! `fathom man`: the manual pages of both programs, of the files that describe puzzles, and of runs.

use crate::arguments::{Arguments, ManArguments};
use anyhow::{Context, Result};
use clap::Command;
use fathom_command::{bad_input, output};
use std::fs;
use std::path::Path;

/// The sections that the pages of both programs have besides their options.
const OF_PROGRAMS: &str = "\
.SH EXIT STATUS
.TP
.B 0
Done, as deep as asked. Also of a coordinator or a worker that ends in order.
.TP
.B 1
Failed: a full disk, damaged files, counts that do not add up, an unreachable host. Also the answer no.
.TP
.B 2
Bad input: the request cannot be met as it is, or another process works on the run. Nothing was written.
.TP
.BR 130 ,\\  143
Stopped by SIGINT or SIGTERM. The same command continues the run.
.TP
.I N
Given with
.BR \\-\\-requeue\\-code :
a coordinator or a worker stopped before the run has ended.
.SH ENVIRONMENT
.TP
.BR FATHOM_KEYS ,\\  FATHOM_THREADS ,\\  FATHOM_MEMORY
Defaults of
.BR \\-\\-keys ,
.BR \\-\\-threads ,
.BR \\-\\-memory .
.TP
.B FATHOM_DIR
Default of
.BR \\-\\-runs .
.TP
.B XDG_CONFIG_HOME
Directory of
.IR fathom/config.toml ;
by default
.IR ~/.config .
.TP
.BR XDG_RUNTIME_DIR ,\\  TMPDIR
Tokens of coordinators on this machine; temporary files.
.SH FILES
.TP
.I ~/.config/fathom/config.toml
Defaults of
.BR keys ,
.BR dir ,
.BR threads ,
.BR memory .
.TP
.I runs/
Directories of runs that were started without
.BR \\-\\-dir ;
see
.BR fathom\\-run (5).
";

/// The last section of every page.
const SEE_ALSO: &str = "\
.SH SEE ALSO
.BR fathom (1),
.BR fathom\\-worker (1),
.BR fathom\\-puzzle (5),
.BR fathom\\-run (5)
";

/// The exit codes in the pages of commands.
const OF_COMMANDS: &str = "\
.SH EXIT STATUS
0 if it has done its work, 1 if it failed, 2 for bad input, 128 plus the number of a signal; see
.BR fathom (1).
";

/// Pages that are not those of commands, in roff.
const FILES: [(&str, &str); 2] = [
    ("fathom-puzzle.5", include_str!("../../man/fathom-puzzle.5")),
    ("fathom-run.5", include_str!("../../man/fathom-run.5")),
];

/// Writes one page for each program, one for each command, and those of files.
pub(crate) fn man(args: &ManArguments) -> Result<()> {
    let dir = &args.dir;
    if dir.exists() && !dir.is_dir() {
        return Err(bad_input!("{} is not a directory. Choose another one for the pages", dir.display()));
    }
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let command = Arguments::with_help();
    let mut command = command.version(version).long_version(version);
    command.build();
    let named = |name: String, command: &Command| command.clone().name(name).version(version);
    let mut pages = vec![(command.clone(), OF_PROGRAMS)];
    for below in command.get_subcommands() {
        pages.push((named(format!("fathom-{}", below.get_name()), below), OF_COMMANDS));
        if below.get_name() == "worker" {
            // The program fathom-worker is this command.
            pages.last_mut().expect("a page").1 = OF_PROGRAMS;
            for task in below.get_subcommands().filter(|task| task.get_name() != "help") {
                pages.push((named(format!("fathom-worker-{}", task.get_name()), task), OF_COMMANDS));
            }
        }
    }
    for (page, more) in &pages {
        // What is hidden in the short help belongs in a manual.
        let page = clap_mangen::Man::new(page.clone().mut_args(|argument| argument.hide_short_help(false)));
        let mut text = Vec::new();
        page.render(&mut text)?;
        // The text below the help of a command is its examples.
        let text = String::from_utf8(text)?.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
        let (body, version) = text.split_once(".SH VERSION").unwrap_or((&text, ""));
        let version = if version.is_empty() { String::new() } else { format!(".SH VERSION{version}") };
        write(&dir.join(page.get_filename()), &format!("{body}{more}{SEE_ALSO}{version}"))?;
    }
    FILES.iter().try_for_each(|(name, text)| write(&dir.join(name), &text.replace("VERSION", version)))?;
    output::line(&format!("{} pages in {}", pages.len() + FILES.len(), dir.display()))
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
