//! Runs the blocks of the documentation that `records/docs.sh` is for, or with `--all` every block, and tells which are not as shown; with
//! `--write` they are replaced by what was printed.

use fathom_tests::docs::{blocks, files, root, run, shown_now, with_block};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = arguments.iter().any(|argument| argument == "--all");
    let writes = arguments.iter().any(|argument| argument == "--write");
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let mut wrong = 0;
    for file in files() {
        if !names.is_empty() && !names.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let is_asked = blocks(&file).iter().any(|block| all || block.is_marked);
        // A marked block may need what the blocks before it have made.
        // Blocks are found again each time, for one that was replaced may have other lines.
        for number in 0..if is_asked { blocks(&file).len() } else { 0 } {
            let block = &blocks(&file)[number];
            if writes {
                let path = root().join(&file);
                let text = std::fs::read_to_string(&path).expect("the file was read before");
                let now = shown_now(block, directory.path());
                std::fs::write(&path, with_block(&text, &now)).expect("the file can be written");
                continue;
            }
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
