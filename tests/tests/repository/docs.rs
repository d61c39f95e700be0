//! The documentation shows what the programs print.

use fathom_tests::docs::{Block, MARKS, blocks, files, note_of, root, run};
use rayon::prelude::*;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The blocks of each file are run in order, in one directory, because a block may read a run of an earlier
/// block of the file.
#[test]
fn blocks_show_what_the_programs_print() {
    let told = files().into_par_iter().flat_map_iter(|file| {
        let directory = fathom_tests::tempdir().unwrap();
        let blocks = blocks(&file).into_iter().filter(|block| !block.is_marked);
        blocks.map(move |block| run(&block, directory.path()))
    });
    let told: Vec<Result<(), String>> = told.collect();
    let tried = told.len();
    let wrong: Vec<String> = told.into_iter().filter_map(Result::err).collect();
    assert!(tried >= 30, "only {tried} blocks were found");
    assert!(wrong.is_empty(), "{} of {tried} blocks:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn links_lead_to_files() {
    let decisions = fs::read_dir(root().join("docs/decisions")).unwrap();
    let decisions = decisions.map(|entry| Path::new("docs/decisions").join(entry.unwrap().file_name()));
    let mut links = 0;
    for file in files().into_iter().chain(decisions).chain(["CONTRIBUTING.md".into()]) {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
            let path = root().join(file.parent().unwrap()).join(target);
            assert!(path.exists(), "{}: there is no {target}", file.display());
            links += 1;
        }
    }
    assert!(links >= 300, "only {links} links were found");
}

/// A mark that is not directly above a block has no effect, so there must be none.
#[test]
fn each_block_is_run_by_a_test_or_by_the_script() {
    for file in files() {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let marks = text.lines().filter(|line| line.contains("<!-- run by")).count();
        let marked: Vec<Block> = blocks(&file).into_iter().filter(|block| block.is_marked).collect();
        assert_eq!(
            marks,
            marked.len(),
            "{}: a mark such as {:?} stands before no block",
            file.display(),
            MARKS[0]
        );
        // A line that looks like a command but is outside a block would not be run.
        let stray = text.lines().find(|line| line.starts_with("    $ "));
        assert_eq!(stray, None, "{}: use a fence", file.display());
    }
    // Each note of the script is about a block that still exists.
    let notes = fs::read_to_string(root().join("records/docs.txt")).unwrap();
    let marked: Vec<String> =
        files().iter().flat_map(|file| blocks(file)).filter(|b| b.is_marked).map(|b| note_of(&b)).collect();
    for note in notes.lines() {
        assert!(marked.iter().any(|of| note.starts_with(of.as_str())), "no block for this note: {note}");
    }
    let script = fs::read_to_string(root().join("records/docs.sh")).unwrap();
    assert!(script.contains("--example docs"));
    assert!(Command::new("bash").arg("-n").arg(root().join("records/docs.sh")).status().unwrap().success());
}
