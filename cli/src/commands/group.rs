//! `fathom group`.

mod square1;

use crate::arguments::GroupArguments;
use anyhow::{Result, ensure};
use fathom_algebra::factor::MAX_WORD;
use fathom_algebra::{
    Factoriser, Group, GroupOrbit, Kind, Named, OrientedPermutation, Permutation, expression,
};
use fathom_command::exit::No;
use fathom_command::{bad_input, output};
use fathom_engine::membership::why_not;
use fathom_puzzle::{
    Board, BoardError, Definition, Generator, Line, Metric, Move, PuzzleSpec, state_text, tiles,
};
use fathom_report::text::{grouped, many};
use fathom_solve::elements;
use serde_json::{Value, json};

/// The number of points up to which every group is computed. The memory of Schreier-Sims grows with its cube.
const MAX_POINTS: usize = 512;
/// The maximum number of points, in groups with short orbits.
const MAX_POINTS_IN_SHORT_ORBITS: usize = 4096;

/// A puzzle and the generators of its group.
struct Generators {
    /// The name of the puzzle.
    name: String,
    /// The definition of the puzzle.
    source: PuzzleSpec,
    /// The number of points that are permuted.
    points: usize,
    /// The generators: one for each move and its powers.
    moves: Vec<Move>,
    /// Derived moves: further names that may be used to write elements.
    spare: Vec<Move>,
    /// Whether tiles are counted from 1.
    from_one: bool,
}

/// Returns the generators of the puzzle named by the arguments. If pieces have orientations, a cell has one
/// point for each orientation.
fn generators(args: &GroupArguments) -> Result<Generators> {
    let word = &args.puzzle;
    let whole = match Board::for_its_group(word) {
        Ok(board) => PuzzleSpec::Board(board),
        Err(BoardError::TooLarge { word, .. }) => {
            let most = Board::MAX_SIDE;
            return Err(bad_input!(
                "board {word:?} is too large: 'fathom group' accepts boards of up to {most}x{most}"
            ));
        }
        Err(_) => PuzzleSpec::by_name(word).map_err(|error| bad_input!("{error}"))?,
    };
    if let (PuzzleSpec::Board(board), true) = (&whole, args.moves.is_some())
        && board.cells() > Board::MAX_CELLS
    {
        return Err(bad_input!("--moves applies only to boards of up to {} cells", Board::MAX_CELLS));
    }
    let source = match &args.moves {
        None => whole.clone(),
        // In the metric `multi`, powers of moves can be chosen too.
        Some(names) => {
            whole.with_moves(Metric::Multi, names).map_err(|error| bad_input!("--moves: {error}"))?
        }
    };
    let on_points = |g: &Generator| Move { name: g.name.clone(), action: g.action.as_points() };
    let spare = match &whole {
        PuzzleSpec::Board(_) => Vec::new(),
        PuzzleSpec::Defined(definition) => {
            let chosen = if args.moves.is_some() { definition.moves() } else { &[] };
            definition.spare().iter().chain(chosen).map(on_points).collect()
        }
    };
    let (points, moves): (usize, Vec<Move>) = match &source {
        PuzzleSpec::Board(board) => {
            let lines = board.lines().filter(|&line| board.line_length(line) > 1);
            let shift = |line: Line| Move { name: line.move_name(1), action: board.rotation(line, 1) };
            (board.cells(), lines.map(shift).collect())
        }
        PuzzleSpec::Defined(definition) if definition.is_guarded() => {
            return Err(bad_input!(
                "{word} has moves that are not possible in every state, so they do not generate a group{}",
                if is_square1(word) {
                    "; use --element to see what a sequence does to the pieces"
                } else {
                    ""
                }
            ));
        }
        PuzzleSpec::Defined(definition) => {
            let points = definition.orientation_counts().iter().map(|&order| usize::from(order)).sum();
            if points > MAX_POINTS_IN_SHORT_ORBITS {
                return Err(bad_input!(
                    "{word} has {points} points; 'fathom group' accepts at most {MAX_POINTS_IN_SHORT_ORBITS}"
                ));
            }
            let all = definition.moves().iter().chain(definition.free());
            (points, all.map(on_points).collect())
        }
    };
    Ok(Generators { name: source.name(), source, points, moves, spare, from_one: args.from_one })
}

/// Returns whether a word is the name of Square-1, ignoring case.
fn is_square1(word: &str) -> bool {
    word.eq_ignore_ascii_case("square1")
}

impl Generators {
    fn group(&self) -> Result<Group> {
        let generators = self.moves.iter().map(|m| m.action.clone()).collect();
        if self.points <= MAX_POINTS {
            return Ok(Group::new(self.points, generators));
        }
        Group::of_many_points(self.points, generators).ok_or_else(|| {
            bad_input!(
                "{} has {} points, more than {MAX_POINTS}: 'fathom group' computes such groups only if they are symmetric or alternating, or if every orbit has at most 128 points and the group is as large as its orbits and parities allow",
                self.name,
                self.points
            )
        })
    }

    /// Returns the notes for users on how the puzzle's definition was interpreted. The group permutes all
    /// points, so labels do not matter.
    fn notes(&self) -> Vec<&str> {
        match &self.source {
            PuzzleSpec::Board(_) => Vec::new(),
            PuzzleSpec::Defined(definition) => definition.remarks_without_labels(),
        }
    }

    /// Returns the definition of the puzzle, if its pieces have orientations.
    fn oriented(&self) -> Option<&Definition> {
        match &self.source {
            PuzzleSpec::Defined(definition) if self.points > definition.cells() => Some(definition),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        self.moves.iter().map(|m| m.name.as_str()).collect()
    }

    fn element(&self, option: &str, text: &str) -> Result<Permutation> {
        if let PuzzleSpec::Board(board) = &self.source {
            tiles::check_rows(text, board.columns()).map_err(|error| bad_input!("{option}: {error}"))?;
        }
        let refused = |error: String| bad_input!("{option}: {error}");
        if let Some(definition) = self.oriented()
            && text.starts_with('(')
            && text.contains('+')
            && let Ok(element) = OrientedPermutation::parse(text, &definition.orientation_counts())
        {
            return Ok(element.as_points());
        }
        let mut text = state_text::plain(text, &self.source, None).map_err(refused)?;
        if self.from_one {
            text = tiles::counted_from_one(&text, self.points).map_err(refused)?;
        }
        let all: Vec<Move> = self.moves.iter().chain(&self.spare).cloned().collect();
        elements::read(&text, self.points, &all).or_else(|error| {
            let element =
                state_text::scramble(&text, &self.source).ok_or(error.to_string()).map_err(refused)?;
            Ok(element.as_points())
        })
    }
}

pub(crate) fn group(args: &GroupArguments) -> Result<()> {
    let question = &args.question;
    if let (Some(text), true) = (&question.element, is_square1(&args.puzzle)) {
        return square1::element(text, args);
    }
    let puzzle = generators(args)?;
    let notes = puzzle.notes();
    notes.iter().for_each(|note| output::remark(note));
    let print = |text: String, mut json: Value| {
        json["notes"] = json!(notes);
        output::line(&if args.json { json.to_string() } else { text })
    };
    if let Some(text) = &question.element {
        let (text, json) = element(&puzzle, &puzzle.element("--element", text)?);
        return print(text, json);
    }
    if let Some(text) = &question.factor {
        if let PuzzleSpec::Board(board) = &puzzle.source
            && board.cells() > Board::MAX_CELLS
        {
            return Err(bad_input!("--factor accepts only boards of up to {} cells", Board::MAX_CELLS));
        }
        let (text, json) = factor(&puzzle, &puzzle.element("--factor", text)?)?;
        return print(text, json);
    }
    if let Some(text) = &question.contains {
        let state = puzzle.element("--contains", text)?;
        let reason = why_not(&puzzle.group()?, &state);
        return match reason {
            None => print(
                "yes: the state is reachable".into(),
                json!({ "puzzle": puzzle.name, "element": state.to_string(), "contains": true }),
            ),
            Some((reason, why)) => {
                print(
                    format!("no: {why}"),
                    json!({ "puzzle": puzzle.name, "element": state.to_string(), "contains": false, "reason": reason, "why": why }),
                )?;
                Err(No.into())
            }
        };
    }
    let group = puzzle.group()?;
    let mut text = told(&puzzle, &group);
    if question.strong_generators {
        for generator in group.chain().strong_generators() {
            text.push_str(&format!("\n    {generator}"));
        }
    }
    print(text, told_json(&puzzle, &group))
}

/// Describes a group as text.
fn told(puzzle: &Generators, group: &Group) -> String {
    let kind = match group.kind() {
        Kind::Trivial => "the trivial group".to_owned(),
        Kind::Symmetric(degree) => format!("the symmetric group of degree {degree}"),
        Kind::Alternating(degree) => format!("the alternating group of degree {degree}"),
        Kind::Other => format!("a group of degree {}", group.moved_points()),
    };
    let orbit = |(number, orbit): (usize, &GroupOrbit)| {
        let blocks = match &orbit.blocks {
            None => "primitive".to_owned(),
            Some(blocks) => format!("{} of {}", many(blocks.len() as u64, "block"), blocks[0].len()),
        };
        format!("\norbit {number}: {}, {blocks}", many(orbit.points.len() as u64, "point"))
    };
    let orbits: String = (1..).zip(group.orbits()).map(orbit).collect();
    let fixed = group.degree() - group.moved_points();
    let transitivity = match group.transitivity() {
        0 => String::new(),
        1 => "\ntransitive".into(),
        k => format!("\n{k}-transitive"),
    };
    let (generators, odd) = (group.generators().len(), group.odd_generators());
    let names: String = puzzle.names().iter().map(|name| format!(" {name}")).collect();
    let base: String = group.chain().base().map(|point| format!(" {}", point + 1)).collect();
    format!(
        "{}: {kind}
order: {}
generators:{names} ({} even, {odd} odd)
odd elements: {}{orbits}{}{transitivity}
base:{base}
strong generating set: {}",
        puzzle.name,
        grouped(&group.order()),
        generators - odd,
        if odd == 0 { "none" } else { "half of all" },
        if fixed == 0 { String::new() } else { format!("\nfixed: {}", many(fixed as u64, "point")) },
        many(group.chain().strong_generators().len() as u64, "element")
    )
}

/// Describes a group as JSON. The order is a string because few JSON parsers accept integers of its size.
fn told_json(puzzle: &Generators, group: &Group) -> Value {
    let (kind, degree) = match group.kind() {
        Kind::Trivial => ("trivial", 0),
        Kind::Symmetric(degree) => ("symmetric", degree),
        Kind::Alternating(degree) => ("alternating", degree),
        Kind::Other => ("other", group.moved_points()),
    };
    let counted = |points: &[usize]| points.iter().map(|point| point + 1).collect::<Vec<_>>();
    let orbit = |orbit: &GroupOrbit| {
        let blocks = orbit.blocks.as_ref();
        let blocks = blocks.map(|blocks| blocks.iter().map(|block| counted(block)).collect::<Vec<_>>());
        json!({ "points": counted(&orbit.points), "primitive": blocks.is_none(), "blocks": blocks })
    };
    let images =
        |action: &Permutation| (0..action.degree()).map(|point| action.apply(point)).collect::<Vec<_>>();
    let generator = |m: &Move| {
        json!({
            "name": m.name,
            "cycles": m.action.to_string(),
            "images": images(&m.action),
            "odd": !m.action.is_even(),
        })
    };
    json!({
        "puzzle": puzzle.name,
        "points": group.degree(),
        "kind": kind,
        "degree": degree,
        "order": group.order().to_string(),
        "generators": puzzle.moves.iter().map(generator).collect::<Vec<_>>(),
        "has_odd_elements": group.odd_generators() > 0,
        "orbits": group.orbits().iter().map(orbit).collect::<Vec<_>>(),
        "transitivity": group.transitivity(),
        "base": counted(&group.chain().base().collect::<Vec<_>>()),
        "orbit_lengths": group.chain().orbit_lengths().collect::<Vec<_>>(),
        "strong_generators": group.chain().strong_generators().iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Describes an element by its cycles, order, parity and state, as text and as JSON. If pieces have
/// orientations, the state is also given as `fathom solve` takes it.
fn element(puzzle: &Generators, element: &Permutation) -> (String, Value) {
    let mut tiles = elements::tiles_of(element);
    tiles.iter_mut().for_each(|tile| *tile += u16::from(puzzle.from_one));
    let parity = if element.is_even() { "even" } else { "odd" };
    let order = element.order();
    let order_text = order.map_or("more than 64 bits".into(), |order| order.to_string());
    let text = format!(
        "{element}\norder: {order_text}\nparity: {parity}\ntiles: {}",
        tiles.iter().map(u16::to_string).collect::<Vec<_>>().join(" ")
    );
    let mut json = json!({ "puzzle": puzzle.name, "element": element.to_string(), "order": order, "parity": parity, "tiles": tiles });
    match puzzle.oriented().and_then(|definition| state_text::on_cells(definition, element)) {
        Some(state) => {
            json["state"] = json!(state.to_string());
            (format!("{text}\nstate: {state}"), json)
        }
        None => (text, json),
    }
}

/// Finds a word for an element. Before the word is returned, its printed form is parsed and checked.
fn factor(puzzle: &Generators, state: &Permutation) -> Result<(String, Value)> {
    let group = puzzle.group()?;
    let word = match Factoriser::new(&group).factor(state) {
        Some(word) => word,
        None => {
            return Err(match why_not(&group, state) {
                Some((_, why)) => bad_input!("--factor: this state cannot be reached: {why}"),
                None => bad_input!(
                    "--factor: this state can be reached, but not within the limit of {MAX_WORD} moves per point of the base; in this group only states a few moves away can be factored"
                ),
            });
        }
    };
    let all: Vec<Named> = puzzle.moves.iter().chain(&puzzle.spare).map(Move::named).collect();
    let known: Vec<&str> = all.iter().map(|named| named.name).collect();
    let written = word.written(&puzzle.names(), &known);
    let replayed = expression::parse(&written, puzzle.points, &all)?;
    ensure!(
        replayed == *state,
        "the word {written} evaluates to {replayed} instead of {state}; this is a bug in fathom"
    );
    let text = format!(
        "{written}\n{}, {} by one; checked: they evaluate to {state}",
        many(word.len() as u64, "move"),
        many(word.letters(), "shift")
    );
    let json = json!({ "puzzle": puzzle.name, "element": state.to_string(), "word": written, "moves": word.len(), "letters": word.letters() });
    Ok((text, json))
}
