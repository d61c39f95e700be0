//! The help, its examples, completions, manual pages, settings and variables: what users meet first.

use fathom_tests::{fathom, fathom_worker, json, texts};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the names of all commands.
fn commands() -> Vec<String> {
    let (help, _) = texts(&fathom().args(["help", "--all"]).output().unwrap());
    let names = help.lines().filter_map(|line| {
        let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
        let is_name = !about.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        is_name.then(|| name.to_owned())
    });
    names.filter(|name| name != "help").collect()
}

#[test]
fn commands_are_grouped_and_have_their_own_help() {
    let (help, _) = texts(&fathom().arg("-h").output().unwrap());
    for group in ["Runs:", "Clusters:", "Results:", "Puzzles:", "Output:"] {
        assert!(help.lines().any(|line| line == group), "{help}");
    }
    let commands = commands();
    assert!(commands.len() >= 29, "{commands:?}");
    for name in &commands {
        let (short, _) = texts(&fathom().args([name, "-h"]).output().unwrap());
        let (long, _) = texts(&fathom().args([name, "--help"]).output().unwrap());
        assert!(short.contains(&format!("\nExamples:\n  fathom {name}")), "{short}");
        assert!(short.contains("\nOutput:\n"), "{short}");
        assert!(long.len() >= short.len(), "{name}");
        let widest = short.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{name}: {widest} columns\n{short}");
    }
    let text = |option| texts(&fathom().args(["run", option]).output().unwrap()).0;
    assert!(!text("-h").contains("The default is multi for boards"));
    assert!(text("--help").contains("The default is multi for boards"));
}

/// `docs/cli.md` has every command and option.
#[test]
fn command_line_page_has_every_command_and_option() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md")).unwrap();
    let helps = commands()
        .into_iter()
        .map(|name| (format!("fathom {name}"), fathom().args([&name, "--help"]).output().unwrap()));
    let of_worker = ["task", "clean", "verify"].map(|name| {
        (format!("fathom-worker {name}"), fathom_worker().args([name, "--help"]).output().unwrap())
    });
    let alone = [("fathom-worker".to_owned(), fathom_worker().arg("--help").output().unwrap())];
    let mut options = 0;
    for (command, help) in helps.chain(of_worker).chain(alone) {
        let has_row = [' ', '`'].iter().any(|end| page.contains(&format!("| `{command}{end}")));
        assert!(has_row, "docs/cli.md lacks `{command}`");
        let (help, _) = texts(&help);
        let named = help.lines().filter_map(|line| {
            let line = line.trim_start();
            let option =
                line.split_once("--").filter(|(before, _)| before.is_empty() || before.ends_with(", "));
            option.map(|(_, rest)| rest.split([' ', '=', '[', ',']).next().unwrap_or_default().to_owned())
        });
        for option in named.filter(|name| !name.is_empty()) {
            options += 1;
            assert!(page.contains(&format!("--{option}")), "docs/cli.md lacks --{option} of {command}");
        }
    }
    assert!(options > 150, "{options}");
}

/// Commands that people type have the names that they expect, and a typing error is answered with a suggestion.
#[test]
fn aliases_and_suggestions_lead_to_commands() {
    for (alias, name) in [("rm", "remove"), ("watch", "top"), ("ls", "ls"), ("worker", "worker")] {
        let (help, _) = texts(&fathom().args([alias, "-h"]).output().unwrap());
        assert!(help.contains(&format!("Usage: fathom {name} ")), "{alias}: {help}");
    }
    let output = fathom().args(["rnu", "3x4"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("a similar subcommand exists: 'run'"), "{}", texts(&output).1);
    let directory = fathom_tests::tempdir().unwrap();
    let in_directory = |arguments: &[&str]| {
        let output = fathom().args(arguments).current_dir(directory.path()).output().unwrap();
        (output.status.code(), texts(&output).1)
    };
    fs::write(directory.path().join("rings.toml"), "degree = 4\n[moves]\na = \"(1,2,3)\"\nb = \"(2,3,4)\"\n")
        .unwrap();
    let (code, said) = in_directory(&["report", "rings.toml"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("It has no run yet; start one: fathom run rings.toml"), "{said}");
    assert_eq!(in_directory(&["run", "rings.toml", "-q"]).0, Some(0));
    let (code, said) = in_directory(&["report", "rings.toml"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("Its run is in runs/rings-given"), "{said}");
}

/// Complete, interrupted and unreadable runs, and a directory that is not a run.
#[test]
fn ls_lists_the_runs_of_a_directory() {
    let directory = fathom_tests::tempdir().unwrap();
    let out = |arguments: &[&str]| {
        let output = fathom().args(arguments).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", texts(&output).1);
        texts(&output)
    };
    assert!(out(&["ls"]).1.contains("no runs in runs; start one: fathom run 3x4"));
    out(&["run", "2x3", "-q"]);
    out(&["run", "3x3", "-q", "--max-depth", "4"]);
    out(&["run", "2x2", "-q"]);
    fs::write(directory.path().join("runs/2x2-multi/run.toml"), "format = 7\n").unwrap();
    fs::create_dir(directory.path().join("runs/notes")).unwrap();
    let listed: Vec<serde_json::Value> = serde_json::from_str(&out(&["ls", "--json"]).0).unwrap();
    let of = |key: &str| listed.iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("path"), ["runs/2x2-multi", "runs/2x3-multi", "runs/3x3-multi"]);
    assert_eq!(of("state"), ["unreadable", "complete", "stopped"]);
    assert_eq!(of("visited"), [serde_json::Value::Null, 720.into(), 6053.into()]);
    assert_eq!((&listed[1]["god_number"], &listed[2]["depth"]), (&7.into(), &4.into()));
    let (table, _) = out(&["ls"]);
    for says in ["complete, God's number 7", "stopped", "unreadable: ", "6,053    181,440"] {
        assert!(table.contains(says), "{table}");
    }
}

/// An unknown command line fails with the usage, so every example must be a known one. The files that an
/// example names need not exist.
#[test]
fn help_examples_are_valid_commands() {
    let directory = fathom_tests::tempdir().unwrap();
    let shell = |example: &str| {
        // `--help` comes first, so that the arguments are parsed but not executed.
        let (program, rest) = example.split_once(' ').unwrap();
        let rest = rest.split(" > ").next().unwrap();
        let binary = if program == "fathom" { fathom() } else { fathom_worker() };
        let binary = binary.get_program().to_str().unwrap().to_owned();
        let line = format!("'{binary}' {rest} --no-such-option");
        Command::new("sh").args(["-c", &line]).current_dir(directory.path()).output().unwrap()
    };
    let mut seen = 0;
    let helps = commands().into_iter().map(|name| fathom().args([&name, "-h"]).output().unwrap());
    let helps = helps.chain([fathom_worker().arg("-h").output().unwrap()]);
    for help in helps {
        let (help, _) = texts(&help);
        let examples = help.split("\nExamples:\n").nth(1).unwrap();
        for example in examples.lines().filter_map(|line| line.strip_prefix("  ")) {
            let output = shell(example);
            let (_, err) = texts(&output);
            // The only error in the example is the added option.
            assert!(err.contains("unexpected argument '--no-such-option'"), "{example}: {err}");
            seen += 1;
        }
    }
    assert!(seen >= 45, "{seen}");
}

#[test]
fn version_names_commit_and_kernels() {
    for mut program in [fathom(), fathom_worker()] {
        let (text, _) = texts(&program.arg("--version").output().unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("commit ") && lines[0].ends_with("-linux-gnu)"), "{text}");
        assert!(lines[1].starts_with("kernels on this machine: portable"), "{text}");
    }
    let (short, _) = texts(&fathom().arg("-V").output().unwrap());
    assert_eq!(short.lines().count(), 1, "{short}");
}

#[test]
fn manual_pages_have_every_command() {
    let directory = fathom_tests::tempdir().unwrap();
    let pages = directory.path().join("man1");
    assert!(fathom().arg("man").arg(&pages).output().unwrap().status.success());
    for name in commands() {
        let page = fs::read_to_string(pages.join(format!("fathom-{name}.1"))).unwrap();
        for section in [".SH EXAMPLES\n  fathom ", ".SH EXIT STATUS\n", ".SH SEE ALSO\n"] {
            assert!(page.contains(section), "{name}: {section}");
        }
    }
    let read = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    let solve = read("fathom-solve.1");
    let (puzzle, state) = (solve.find("PUZZLE|DIR").unwrap(), solve.find("STATE").unwrap());
    assert!(puzzle < state, "{solve}");
    for program in ["fathom.1", "fathom-worker.1"] {
        let page = read(program);
        for part in [".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", ".SH FILES\n", "config.toml"] {
            assert!(page.contains(part), "{program}: {part}");
        }
        assert!(!page.contains("kernels on this machine"));
    }
    // Options that the short help leaves out have their descriptions.
    assert!(read("fathom-serve.1").contains("File with the secret shared by all processes of a run"));
    for file in ["fathom-puzzle.5", "fathom-run.5"] {
        assert!(read(file).contains(".SH SEE ALSO\n"), "{file}");
    }
    let file = pages.join("fathom.1");
    let output = fathom().arg("man").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("is not a directory"));
}

/// The script that `fathom completions bash` prints asks the programs themselves.
#[test]
fn bash_completes_commands_values_and_puzzles() {
    let directory = fathom_tests::tempdir().unwrap();
    fs::write(directory.path().join("my-puzzle.toml"), "").unwrap();
    let script = "
source <(fathom completions bash)
while read -r -a words; do
    last=${words[-1]}
    [ \"$last\" != '-' ] || { last=''; words[-1]=''; }
    COMP_WORDS=(\"${words[@]}\") COMP_CWORD=$((${#words[@]} - 1)) COMP_TYPE=9 COMPREPLY=()
    function=$(complete -p \"${words[0]}\" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    $function \"${words[0]}\" \"$last\"
    echo \"${COMPREPLY[@]}\"
done";
    let asked = [
        ("fathom se", "serve"),
        ("fathom run 3x4 --keep -", "last two all"),
        ("fathom run 3x4 --metric si", "single"),
        ("fathom report x --format la", "latex"),
        ("fathom run panca", "pancake:8"),
        ("fathom run my-", "my-puzzle.toml"),
        ("fathom verify my-", "my-puzzle.toml"),
        ("fathom-worker --kernel po", "portable"),
        ("fathom-worker --spill-policy -", "spill refetch"),
    ];
    let programs = [fathom(), fathom_worker()].map(|program| program.get_program().to_owned());
    let paths = programs.iter().map(|program| Path::new(program).parent().unwrap().to_owned());
    let found = std::env::var_os("PATH").unwrap();
    let paths = paths.chain(std::env::split_paths(&found));
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(directory.path()).env("PATH", std::env::join_paths(paths).unwrap());
    let mut bash = bash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = asked.iter().map(|(line, _)| format!("{line}\n")).collect();
    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    let (out, _) = texts(&output);
    let expected: Vec<&str> = asked.iter().map(|(_, answer)| *answer).collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let (script, _) = texts(&fathom().args(["completions", shell]).output().unwrap());
        assert!(script.contains("fathom-worker") && script.contains("COMPLETE"), "{shell}: {script}");
    }
}

/// Help that cannot be written is a failure.
#[test]
fn help_on_a_full_disk_fails() {
    for option in ["--help", "--version"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = fathom().arg(option).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{option}");
        let (_, err) = texts(&output);
        assert!(err.contains("cannot write the result to standard output: No space left on device"), "{err}");
    }
}

#[test]
fn options_precede_variables_and_variables_settings() {
    let directory = fathom_tests::tempdir().unwrap();
    let config = directory.path().join("config/fathom");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "dir = \"settled\"\nthreads = 3\n").unwrap();
    let run = |variables: &[(&str, &str)], options: &[&str]| {
        let mut command = fathom();
        command.args(["run", "3x3", "-q", "--json"]).args(options).current_dir(directory.path());
        command.env("XDG_CONFIG_HOME", directory.path().join("config")).envs(variables.iter().copied());
        json(&command.output().unwrap())
    };
    let threads = |path: &str| {
        let status =
            fathom().args(["status", "--json", path]).current_dir(directory.path()).output().unwrap();
        json(&status)["processes"][0]["threads"].as_u64().unwrap()
    };
    run(&[], &[]);
    assert_eq!(threads("settled/3x3-multi"), 3);
    run(&[("FATHOM_DIR", "varied"), ("FATHOM_THREADS", "2")], &[]);
    assert_eq!(threads("varied/3x3-multi"), 2);
    run(&[("FATHOM_DIR", "varied"), ("FATHOM_THREADS", "2")], &["--dir", "named", "--threads", "1"]);
    assert_eq!(threads("named"), 1);

    fs::write(config.join("config.toml"), "thread = 3\n").unwrap();
    let output =
        fathom().arg("puzzles").env("XDG_CONFIG_HOME", directory.path().join("config")).output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("fathom/config.toml") && err.contains("unknown field `thread`"), "{err}");

    // The error for an invalid value names the place of the value, and matters only where the value is used.
    fs::write(config.join("config.toml"), "memory = \"much\"\n").unwrap();
    let refused = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = fathom();
        command.args(["run", "3x3", "--dir", "unused"]).args(arguments).current_dir(directory.path());
        command.env("XDG_CONFIG_HOME", directory.path().join("config")).envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        texts(&output).1
    };
    let file = refused(&[], &[]);
    assert!(file.contains("fathom/config.toml: invalid value 'much' for '--memory <SIZE>'"), "{file}");
    let variable = refused(&[("FATHOM_THREADS", "many"), ("FATHOM_MEMORY", "1GiB")], &[]);
    assert!(variable.starts_with("error: FATHOM_THREADS: invalid value 'many'"), "{variable}");
    let option = refused(&[("FATHOM_THREADS", "many")], &["--threads", "few", "--memory", "1GiB"]);
    assert!(option.starts_with("error: invalid value 'few' for '--threads <N>'"), "{option}");
}

/// A process whose HOME is another user's directory has no settings. Settings that exist but cannot be read
/// are an error.
#[test]
fn settings_of_another_user() {
    let directory = fathom_tests::tempdir().unwrap();
    let config = directory.path().join("config/fathom");
    fs::create_dir_all(&config).unwrap();
    let file = config.join("config.toml");
    fs::write(&file, "threads = 3\n").unwrap();
    // Without these capabilities permissions also apply to root. Other users do not have them, and may not
    // drop them.
    let without = "-dac_override,-dac_read_search";
    let confined = ["--bounding-set", without, "--inh-caps", without];
    let is_root = Command::new("setpriv").args(confined).arg("true").output().unwrap().status.success();
    let run = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = if is_root { Command::new("setpriv") } else { fathom() };
        if is_root {
            command.args(confined).arg(fathom().get_program());
        }
        command.args(["run", "3x3", "-q", "--json", "--dir"]);
        command.arg(directory.path().join("run")).env("XDG_CONFIG_HOME", directory.path().join("config"));
        command.output().unwrap()
    };
    let output = run(&file, 0o000);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("config.toml: Permission denied"), "{}", texts(&output).1);
    assert!(!directory.path().join("run").exists());
    json(&run(&config, 0o000));
    fs::set_permissions(&config, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn names_are_matched_loosely_and_suggested() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = fathom().args(arguments).arg("-q").current_dir(directory.path()).output().unwrap();
        (output.status.code(), texts(&output))
    };
    // The same directory each time: what was run first is reported.
    let (_, (first, _)) = run(&["run", "3x3"]);
    for name in ["3X3", "3×3"] {
        assert_eq!(run(&["run", name]).1.0, first, "{name}");
    }
    assert_eq!(run(&["run", "Pancake:4"]).0, Some(0));
    assert_eq!(fs::read_dir(directory.path().join("runs")).unwrap().count(), 2);
    for (word, says) in [
        ("squre1", "Did you mean \"square1\"?"),
        ("pyramnix", "Did you mean \"pyraminx\"?"),
        ("nonsense", "See 'fathom puzzles'"),
    ] {
        let (code, (_, err)) = run(&["run", word]);
        assert_eq!(code, Some(2));
        assert!(err.contains(says), "{err}");
    }
    let (_, (_, err)) = run(&["run", "nonsense"]);
    assert!(!err.contains("Did you mean"), "{err}");
    for arguments in [&["run", "3x3", "--max-depth", "-1"][..], &["plan", "3x3", "--threads", "-2"]] {
        let (code, (_, err)) = run(arguments);
        assert_eq!(code, Some(2));
        assert!(err.contains("-1") && err.contains("invalid") || err.contains("-2 is not in 1.."), "{err}");
    }
}

#[test]
fn default_directories_have_short_names() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = |options: &[&str]| {
        let output =
            fathom().args(["run", "2x3"]).args(options).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        texts(&output).1
    };
    // Few labels are letters.
    run(&["--labels", "0,0,1,1,2,2"]);
    assert!(directory.path().join("runs/2x3-multi-aabbcc").is_dir());
    // Many letters are replaced by a number.
    let labels = (0..30).map(|tile| if tile < 2 { tile.to_string() } else { "2".into() }).collect::<Vec<_>>();
    let output = fathom()
        .args(["run", "5x6", "--labels", &labels.join(","), "--max-depth", "1"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", texts(&output).1);
    let names = fs::read_dir(directory.path().join("runs")).unwrap();
    let names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let short = names.iter().find(|name| name.starts_with("5x6-multi-")).unwrap();
    assert!(short.len() <= 34, "{short}");
}
