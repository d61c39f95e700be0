//! `fathom shapes`: the shapes of Square-1.

use fathom_puzzle::family::square1::{Layer, Outline, Sequence, Turn};
use fathom_tests::{fathom, json, texts};
use serde_json::{Value, json as value};
use std::collections::BTreeSet;

fn shapes(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().args(["shapes", "square1"]).args(arguments).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

fn shapes_json(arguments: &[&str]) -> Value {
    json(&fathom().args(["shapes", "square1", "--json"]).args(arguments).output().unwrap())
}

/// B. Sambale, *Square-1* (2021): passes; J. Scherphuis: 170 up to turns; S. Chen (2017): 3678.
#[test]
fn shapes_are_counted() {
    let told = shapes_json(&[]);
    for (key, count) in [("shapes", 19_305), ("aligned", 8518), ("twistable", 3678), ("up_to_turns", 170)] {
        assert_eq!(told[key], value!(count), "{key}");
    }
    assert_eq!(told["aligned_by_pass"], value!([1, 5, 72, 176, 684, 2654, 3958, 944, 24]));
    assert_eq!(told["up_to_turns_by_twists"], value!([1, 1, 3, 13, 44, 74, 32, 2]));
    let (code, text, err) = shapes(&[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(text.starts_with("square1: 19,305 shapes\n"), "{text}");
}

#[test]
fn each_shape_is_listed_once() {
    let told = shapes_json(&["--list"]);
    let list = told["list"].as_array().unwrap();
    let written: BTreeSet<&str> = list.iter().map(|shape| shape["shape"].as_str().unwrap()).collect();
    assert_eq!((list.len(), written.len()), (170, 170));
    assert_eq!(list[0]["shape"], "21212121/12121212");
    // The shape of the cube is reached from only one other shape.
    assert_eq!(list[0]["next"], value!([1, 2]));
    for (shape, number) in list.iter().zip(1..) {
        // Each twist is its own inverse.
        for next in shape["next"].as_array().unwrap() {
            let back = &list[next.as_u64().unwrap() as usize - 1]["next"];
            assert!(back.as_array().unwrap().contains(&value!(number)), "{number} {next}");
        }
    }
}

/// Applies turns and twists to two layers using only string operations. Each layer lists its pieces clockwise
/// from the front cut.
fn walked(from: &str, sequence: &str) -> String {
    // Units: `2` begins a corner, `.` ends it, `1` is an edge.
    let units = |layer: &str| layer.replace('2', "2.");
    let (top, bottom) = from.split_once('/').unwrap();
    let (mut top, mut bottom) = (units(top), units(bottom));
    for turn in sequence.parse::<Sequence>().unwrap().0 {
        match turn {
            // Clockwise, the last units move to the front.
            Turn::Layer(layer, by) => {
                let units = if layer == Layer::Top { &mut top } else { &mut bottom };
                let at = (12 - i64::from(by)).rem_euclid(12) as usize;
                *units = format!("{}{}", &units[at..], &units[..at]);
            }
            // Clockwise from the front cut, the left half of the top and the right half of the bottom come
            // first.
            Turn::Twist => {
                let (left, right) = top.split_at(6);
                let (below, rest) = bottom.split_at(6);
                assert!(
                    [left, right, below, rest].iter().all(|half| !half.starts_with('.')),
                    "{top} {bottom}"
                );
                (top, bottom) = (format!("{left}{below}"), format!("{right}{rest}"));
            }
        }
    }
    format!("{top}/{bottom}").replace('.', "")
}

#[test]
fn ways_lead_to_their_shapes() {
    for number in 1..=170 {
        if number % 13 != 1 {
            continue;
        }
        let told = shapes_json(&[&number.to_string()]);
        let way = &told["way"];
        let end = walked("21212121/12121212", way["sequence"].as_str().unwrap());
        assert_eq!(value!(end), told["shape"], "{told}");
        assert_eq!(way["twists"], told["twists"]);
    }
    // The article: seven twists lead to a shape of the last pass.
    assert_eq!(shapes_json(&["170"])["way"]["twists"], 7);
    let (from, to) = ("222222/2111112111", "21212121/12121212");
    let told = shapes_json(&[to, "--from", from, "--metric", "face"]);
    assert_eq!(walked(from, told["way"]["sequence"].as_str().unwrap()), to);
}

#[test]
fn shapes_are_drawn() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = fathom();
        command.args(["shapes", "square1"]).args(arguments).current_dir(&directory).output().unwrap()
    };
    assert!(run(&["--output", "all.svg"]).status.success());
    let svg = std::fs::read_to_string(directory.path().join("all.svg")).unwrap();
    let drawing = roxmltree::Document::parse(&svg).unwrap();
    let count = |tag: &str| drawing.descendants().filter(|node| node.has_tag_name(tag)).count();
    assert_eq!(count("polygon"), 170 * 16);
    // An existing file is not overwritten.
    let again = run(&["--output", "all.svg"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(texts(&again).1.contains("already exists"));
    let other = run(&["--output", "all.png"]);
    assert_eq!(other.status.code(), Some(2));
    let said = texts(&other);
    assert_eq!(said.0, "");
    assert!(said.1.contains("all.png: shapes are drawn as SVG"), "{}", said.1);
}

#[test]
fn invalid_shapes_are_refused() {
    for (wrong, says) in [
        ("0", "no shape 0: shapes are numbered 1 to 170"),
        ("171", "no shape 171"),
        ("212121/12121212", "the top layer \"212121\" takes 9 times 30 degrees"),
        ("222222/222222", "has 12 corners, but the puzzle has 8"),
        ("cube", "\"cube\" is not a shape"),
    ] {
        let (code, out, err) = shapes(&[wrong]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{wrong}");
        assert!(err.contains(says), "{wrong}: {err}");
    }
    let output = fathom().args(["shapes", "3x3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!("21212121/12121212".parse::<Outline>().is_ok());
}
