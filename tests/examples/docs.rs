//! Runs the marked blocks of the documentation, which are the blocks for `records/docs.sh`, and prints those
//! whose output differs from what the documentation shows. `--quick` runs the blocks that a test runs,
//! `--all` both kinds. `--write` replaces the shown output. `--note=TEXT` notes the text in
//! `records/docs.txt` for each marked block whose output matches. Arguments may name files.

use fathom_tests::docs::{Block, blocks, files, root, run, shown_now, with_block, with_note};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let is_asked = |block: &Block| has("--all") || block.is_marked != has("--quick");
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let when = arguments.iter().find_map(|argument| argument.strip_prefix("--note="));
    let mut wrong = 0;
    for file in
        files().into_iter().filter(|file| names.is_empty() || names.iter().any(|name| file.ends_with(name)))
    {
        if !blocks(&file).iter().any(is_asked) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        // The block is looked up again each time, because a replaced block may have a different number of
        // lines.
        for number in 0..blocks(&file).len() {
            let block = &blocks(&file)[number];
            // A marked block may use files of an earlier quick block. A quick block may not use files of a
            // marked block, because creating those would take long.
            if block.is_marked && !is_asked(block) {
                continue;
            }
            let begun = Instant::now();
            let word = if has("--write") && is_asked(block) {
                let path = root().join(&file);
                let text = std::fs::read_to_string(&path).expect("the file was read before");
                let written = with_block(&text, &shown_now(block, directory.path()));
                let word = if written == text { "as shown" } else { "written" };
                std::fs::write(&path, written).expect("the file can be written");
                word.to_owned()
            } else {
                match run(block, directory.path()) {
                    Ok(()) => "as shown".to_owned(),
                    Err(difference) => {
                        wrong += i32::from(is_asked(block));
                        format!("DIFFERS\n{difference}\n")
                    }
                }
            };
            if let Some(when) = when.filter(|_| block.is_marked && !word.starts_with("DIFFERS")) {
                let notes = root().join("records/docs.txt");
                // There are no notes yet.
                let text = std::fs::read_to_string(&notes).unwrap_or_default();
                std::fs::write(notes, with_note(&text, block, when)).expect("the notes can be written");
            }
            if is_asked(block) {
                println!("{}:{}: {word}, {:.1} s", file.display(), block.line, begun.elapsed().as_secs_f64());
            }
        }
    }
    std::process::exit(i32::from(wrong > 0));
}
