//! `fathom shapes`: the shapes of Square-1, ignoring which corner and which edge is where.

use crate::arguments::ShapesArguments;
use crate::commands::report;
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_puzzle::family::square1::{Least, Outline, Sequence, Turn};
use fathom_puzzle::{Metric, SquareOneShapes};
use fathom_report::text::{grouped, many, plain};
use num_bigint::BigUint;
use serde_json::{Value, json};

/// All shapes. Classes of shapes up to turns are numbered from 1.
struct Shapes {
    all: SquareOneShapes,
    /// The classes of shapes up to turns, in the order of their numbers.
    listed: Vec<Listed>,
    /// For each shape, the index of its class in `listed`.
    place: Vec<usize>,
}

/// A class of shapes that differ by turns of the layers.
struct Listed {
    /// The representative of the class; it can be twisted.
    shape: usize,
    twists: usize,
    shapes: usize,
    twistable: usize,
    /// The indices of the classes to which a twist leads.
    next: Vec<usize>,
}

impl Shapes {
    fn new() -> Self {
        let all = SquareOneShapes::new();
        let mut listed = Vec::new();
        let mut classes = Vec::new();
        for (twists, mut layer) in all.classes_by_twists().into_iter().enumerate() {
            // The class of the solved shape is represented by the solved shape. Any other class is
            // represented by the shape that can be twisted and whose text is the last in order.
            let stands_for = |class: &Vec<usize>| {
                let twistable = class.iter().copied().filter(|&shape| all.is_twistable(shape));
                let last = twistable.max_by_key(|&shape| all.outline(shape).to_string());
                if class.contains(&0) { 0 } else { last.expect("a twist leads to it") }
            };
            layer.sort_by_cached_key(|class| std::cmp::Reverse(all.outline(stands_for(class)).to_string()));
            for class in layer {
                let twistable = class.iter().filter(|&&shape| all.is_twistable(shape)).count();
                let (shape, shapes) = (stands_for(&class), class.len());
                listed.push(Listed { shape, twists, shapes, twistable, next: Vec::new() });
                classes.push(class);
            }
        }
        let mut place = vec![0; all.count()];
        for (number, class) in classes.iter().enumerate() {
            class.iter().for_each(|&shape| place[shape] = number);
        }
        for (listed, class) in listed.iter_mut().zip(&classes) {
            listed.next = class.iter().filter_map(|&shape| all.twisted(shape)).map(|to| place[to]).collect();
            listed.next.sort_unstable();
            listed.next.dedup();
        }
        Self { all, listed, place }
    }

    /// Reads a shape from its number or from an outline.
    fn read(&self, text: &str) -> Result<usize> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let listed = number.and_then(|at| self.listed.get(at));
            return listed.map(|listed| listed.shape).ok_or_else(|| {
                bad_input!("no shape {text}: shapes are numbered 1 to {} (see --list)", self.listed.len())
            });
        }
        let outline: Outline = text.parse().map_err(|error| bad_input!("SHAPE: {error}"))?;
        let found = (0..self.all.count()).find(|&shape| self.all.outline(shape) == outline);
        found.ok_or_else(|| bad_input!("SHAPE: {text} cannot be reached by turns and twists"))
    }

    /// Returns the number of a shape, and its outline.
    fn named(&self, shape: usize) -> (usize, Outline) {
        (self.place[shape] + 1, self.all.outline(shape))
    }
}

pub(crate) fn shapes(args: &ShapesArguments) -> Result<()> {
    if args.puzzle != "square1" {
        return Err(bad_input!("{:?} has no shapes; the only puzzle with shapes is square1", args.puzzle));
    }
    let least = match args.metric {
        None | Some(Metric::Twist) => Least::Twists,
        Some(Metric::Face) => Least::Moves,
        Some(other) => {
            return Err(bad_input!(
                "--metric {other}: paths between shapes are measured in 'twist' or 'face'"
            ));
        }
    };
    if let Some(file) = &args.output {
        if file.extension().is_some_and(|suffix| !suffix.eq_ignore_ascii_case("svg")) {
            return Err(bad_input!(
                "{}: shapes are drawn as SVG. Choose a file name ending in .svg",
                file.display()
            ));
        }
        report::refuse_taken(file)?;
    }
    let shapes = Shapes::new();
    let (text, json, drawn) = match &args.shape {
        Some(shape) => {
            let to = shapes.read(shape)?;
            let from = args.from.as_ref().map_or(Ok(0), |from| shapes.read(from))?;
            one(&shapes, from, to, least)
        }
        None => whole(&shapes, args.list),
    };
    output::line(&if args.json { json.to_string() } else { text })?;
    match &args.output {
        Some(file) => report::write(file, &fathom_report::shapes::svg(&drawn)),
        None => Ok(()),
    }
}

/// The answer as text and as JSON, and the outlines to draw with their titles.
type PublishedFacts = (String, Value, Vec<(String, Outline)>);

/// Describes all shapes: their numbers, or with `list` each of them up to turns.
fn whole(shapes: &Shapes, list: bool) -> PublishedFacts {
    let Shapes { all, listed, .. } = shapes;
    let aligned: Vec<usize> = all.passes().iter().map(Vec::len).collect();
    let most = listed.last().map_or(0, |last| last.twists);
    let by_twists = |of: fn(&Listed) -> usize| -> Vec<usize> {
        let with = |twists| listed.iter().filter(move |listed| listed.twists == twists);
        (0..=most).map(|twists| with(twists).map(of).sum()).collect()
    };
    let (up_to_turns, every, twistable) =
        (by_twists(|_| 1), by_twists(|listed| listed.shapes), by_twists(|listed| listed.twistable));
    let count = |number: usize| grouped(&BigUint::from(number));
    let sum = |numbers: &[usize]| numbers.iter().sum::<usize>();
    let row = |listed: &Listed, number: usize| {
        let next: Vec<String> = listed.next.iter().map(|place| (place + 1).to_string()).collect();
        let next = next.join(" ");
        [
            number.to_string(),
            listed.twists.to_string(),
            all.outline(listed.shape).to_string(),
            listed.shapes.to_string(),
            listed.twistable.to_string(),
            next,
        ]
    };
    let text = if list {
        let header = ["shape", "twists", "top/bottom", "by turns", "twistable", "a twist leads to"];
        let rows = listed.iter().zip(1..).map(|(listed, number)| row(listed, number));
        fathom_report::text::left(header, rows).trim_end().to_owned()
    } else {
        let cell = |of: &[usize], at: usize| of.get(at).map_or(String::new(), |&number| count(number));
        let passes = (0..aligned.len()).map(|pass| {
            [
                pass.to_string(),
                cell(&aligned, pass),
                cell(&up_to_turns, pass),
                cell(&every, pass),
                cell(&twistable, pass),
            ]
        });
        let all = [
            "all".into(),
            count(sum(&aligned)),
            count(sum(&up_to_turns)),
            count(sum(&every)),
            count(sum(&twistable)),
        ];
        format!(
            "square1: {} shapes\n\n{}\nBy pass (turns, then a twist): aligned shapes, which have no corner across the front cut.\n\
             By twists from the solved shape: shapes up to turns, all shapes, and those that can be twisted.",
            count(sum(&every)),
            plain(["pass|twists", "aligned", "up to turns", "shapes", "twistable"], passes.chain([all]))
        )
    };
    let each = listed.iter().zip(1..).map(|(listed, number)| {
        let next: Vec<usize> = listed.next.iter().map(|place| place + 1).collect();
        json!({ "number": number, "twists": listed.twists, "shape": all.outline(listed.shape).to_string(), "shapes": listed.shapes, "twistable": listed.twistable, "next": next })
    });
    let mut json = json!({
        "puzzle": "square1",
        "shapes": sum(&every),
        "aligned": sum(&aligned),
        "twistable": sum(&twistable),
        "up_to_turns": sum(&up_to_turns),
        "aligned_by_pass": aligned,
        "shapes_by_twists": every,
        "twistable_by_twists": twistable,
        "up_to_turns_by_twists": up_to_turns,
    });
    if list {
        json["list"] = each.collect();
    }
    let drawn = listed.iter().zip(1..).map(|(listed, number)| {
        let text = format!("{number}: {}", many(listed.twists as u64, "twist"));
        (text, all.outline(listed.shape))
    });
    (text, json, drawn.collect())
}

/// Describes the shape `to` and a shortest path to it from the shape `from`.
fn one(shapes: &Shapes, from: usize, to: usize, least: Least) -> PublishedFacts {
    let Shapes { all, listed, place } = shapes;
    let of = &listed[place[to]];
    let way = all.way(from, to, least);
    let sequence = Sequence(way.clone());
    let twists = way.iter().filter(|&&turn| turn == Turn::Twist).count();
    let mut on_the_way = vec![from];
    let mut at = from;
    for turn in &way {
        let step = all.steps(at).find(|(made, _)| made == turn);
        at = step.expect("a path consists of steps").1;
        if *turn == Turn::Twist {
            on_the_way.push(at);
        }
    }
    let stops: Vec<(usize, Outline)> = on_the_way.iter().map(|&shape| shapes.named(shape)).collect();
    let (number, outline) = shapes.named(to);
    let (first, begin) = shapes.named(from);
    let next: Vec<usize> = of.next.iter().map(|place| place + 1).collect();
    let numbers: Vec<String> = next.iter().map(usize::to_string).collect();
    let rows = stops
        .iter()
        .enumerate()
        .map(|(twist, (number, outline))| [twist.to_string(), number.to_string(), outline.to_string()]);
    let written = sequence.to_string();
    let text = format!(
        "shape {number}, {outline}: {} from the solved shape\n\
         one of {} up to turns, of which {} can be twisted\n\
         a twist leads to the shapes {}\n\
         path from shape {first}, {begin}: {} and {}\n\
         {}\n\n{}",
        many(of.twists as u64, "twist"),
        many(of.shapes as u64, "shape"),
        of.twistable,
        numbers.join(" "),
        many(twists as u64, "twist"),
        many((way.len() - twists) as u64, "turn"),
        if written.is_empty() { "()" } else { &written },
        plain(["twists", "shape", "top/bottom"], rows).trim_end()
    );
    let told =
        |&(number, outline): &(usize, Outline)| json!({ "number": number, "shape": outline.to_string() });
    let json = json!({
        "puzzle": "square1",
        "number": number,
        "shape": outline.to_string(),
        "twists": of.twists,
        "shapes": of.shapes,
        "twistable": of.twistable,
        "next": next,
        "way": {
            "from": told(&(first, begin)),
            "twists": twists,
            "turns": way.len() - twists,
            "sequence": written,
            "after_twists": stops.iter().map(told).collect::<Vec<_>>(),
        },
    });
    let drawn = stops.iter().enumerate().map(|(twist, (number, outline))| {
        (format!("{number}, after {}", many(twist as u64, "twist")), *outline)
    });
    (text, json, drawn.collect())
}
