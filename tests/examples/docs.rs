//! Runs the blocks of the documentation that `records/docs.sh` is for, or with `--all` every block, and tells which are not as shown.

use fathom_tests::docs::{blocks, files, run};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = arguments.iter().any(|argument| argument == "--all");
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let mut wrong = 0;
    for file in files() {
        if !names.is_empty() && !names.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let is_asked = blocks(&file).iter().any(|block| all || block.is_marked);
        // A marked block may need what the blocks before it have made.
        for block in blocks(&file).iter().filter(|_| is_asked) {
            let begun = Instant::now();
            let end = run(block, directory.path());
            let seconds = begun.elapsed().as_secs_f64();
            if block.is_marked || all {
                let word = if end.is_ok() { "as shown" } else { "DIFFERS" };
                println!("{}:{}: {word}, {seconds:.1} s", file.display(), block.line);
                if let Err(difference) = end {
                    println!("{difference}");
                    wrong += 1;
                }
            }
        }
    }
    std::process::exit(i32::from(wrong > 0));
}
