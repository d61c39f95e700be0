//! Definitions in the formats of other programs.

use crate::Definition;
use crate::definition::Orbit;
use fathom_algebra::OrientedPermutation;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names that GAP does not assign to: three of its functions, and its keywords.
const TAKEN_IN_GAP: [&str; 30] = [
    "E", "X", "Z", "QUIT", "and", "break", "continue", "do", "elif", "else", "end", "false", "fi", "for",
    "function", "if", "in", "local", "mod", "not", "od", "or", "quit", "rec", "repeat", "return", "then",
    "true", "until", "while",
];

impl Definition {
    /// Returns a program in GAP that defines the moves as permutations of points, and lists points that look alike as `ip`.
    /// A cell with n orientations has n successive points.
    ///
    /// # Errors
    /// What the format cannot express.
    pub fn to_gap(&self) -> Result<String, String> {
        self.require_moves_alone("GAP")?;
        let mut text = format!("# {}\n", self.name().replace('\n', " "));
        let mut names = Vec::new();
        for (number, mv) in self.moves().iter().enumerate() {
            let is_name = mv.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && mv.name.bytes().any(|b| b.is_ascii_alphabetic())
                && !TAKEN_IN_GAP.contains(&&*mv.name);
            let name = if is_name { mv.name.clone() } else { format!("g{}", number + 1) };
            if !is_name {
                writeln!(text, "# {name} is {}", mv.name).expect("writing to a string cannot fail");
            }
            writeln!(text, "{name} := {};", mv.action.as_points()).expect("writing to a string cannot fail");
            names.push(name);
        }
        let mut alike: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        let labels = self.point_labels();
        for (point, &label) in labels.iter().enumerate() {
            alike.entry(label).or_default().push(point + 1);
        }
        if alike.len() < labels.len() {
            writeln!(text, "ip := {:?};", alike.into_values().collect::<Vec<_>>())
                .expect("writing to a string cannot fail");
        }
        writeln!(text, "G := Group({});", names.join(", ")).expect("writing to a string cannot fail");
        Ok(text)
    }

    /// Returns the moves as lists of the images of points, counted from 0, by name: what `sympy.combinatorics.Permutation`
    /// and Sage's `PermutationGroup` read.
    ///
    /// # Errors
    /// What the format cannot express.
    pub fn to_images(&self) -> Result<Value, String> {
        self.require_moves_alone("a list of images")?;
        let labels = self.point_labels();
        let mut distinct = labels.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < labels.len() {
            return Err("a list of images cannot say which points look alike".into());
        }
        let images = |action: &OrientedPermutation| {
            let points = action.as_points();
            (0..points.degree()).map(|point| points.apply(point)).collect::<Vec<_>>()
        };
        let moves: Map<String, Value> =
            self.moves().iter().map(|mv| (mv.name.clone(), json!(images(&mv.action)))).collect();
        Ok(moves.into())
    }

    /// Returns the puzzle as ksolve and twsearch read it.
    ///
    /// # Errors
    /// What the format cannot express.
    pub fn to_ksolve(&self) -> Result<String, String> {
        self.require_moves_alone("the format of ksolve")?;
        if self.solved().iter().zip(self.orientation_counts()).any(|(piece, count)| piece.seen != count) {
            return Err("the format of ksolve cannot say which orientations look alike".into());
        }
        let mut text = format!("Name {}\n\n", self.name().split_whitespace().collect::<Vec<_>>().join("-"));
        let line = |numbers: Vec<usize>| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let from_one = |numbers: Vec<usize>| line(numbers.iter().map(|number| number + 1).collect());
        let orbits = 0..self.orbits().len();
        for orbit in orbits.clone() {
            let (Orbit { cells, orientations, .. }, name) = (&self.orbits()[orbit], self.written_name(orbit));
            writeln!(text, "Set {name} {cells} {orientations}").expect("writing to a string cannot fail");
        }
        text += "\nSolved\n";
        for orbit in orbits.clone() {
            let (name, (kinds, turns)) = (self.written_name(orbit), self.solved_kinds(orbit));
            writeln!(text, "{name}\n{}\n{}", from_one(kinds), line(turns))
                .expect("writing to a string cannot fail");
        }
        text += "End\n";
        for mv in self.moves() {
            writeln!(text, "\nMove {}", mv.name).expect("writing to a string cannot fail");
            for orbit in orbits.clone() {
                let (name, (from, turns)) = (self.written_name(orbit), self.sources(orbit, &mv.action));
                writeln!(text, "{name}\n{}\n{}", from_one(from), line(turns))
                    .expect("writing to a string cannot fail");
            }
            text += "End\n";
        }
        Ok(text)
    }

    /// Returns the puzzle as cubing.js reads it, in JSON.
    ///
    /// # Errors
    /// What the format cannot express.
    pub fn to_kpuzzle(&self) -> Result<Value, String> {
        self.require_moves_alone("the format of cubing.js")?;
        let orbits = 0..self.orbits().len();
        let of_orbits = |of_orbit: &dyn Fn(usize) -> Value| -> Map<String, Value> {
            orbits.clone().map(|orbit| (self.written_name(orbit), of_orbit(orbit))).collect()
        };
        let size = |orbit: usize| {
            let (Orbit { cells, orientations, .. }, name) = (&self.orbits()[orbit], self.written_name(orbit));
            json!({ "orbitName": name, "numPieces": cells, "numOrientations": orientations })
        };
        let solved = |orbit: usize| {
            let (kinds, turns) = self.solved_kinds(orbit);
            let mut pattern = json!({ "pieces": kinds, "orientation": turns });
            let orders = || self.cells_of(orbit).map(|cell| self.orientation_counts()[cell]);
            let seen = || self.cells_of(orbit).map(|cell| self.solved()[cell].seen);
            if seen().ne(orders()) {
                // 0 is for all orientations.
                let shown = |(seen, order)| if seen == order { 0 } else { seen };
                pattern["orientationMod"] = seen().zip(orders()).map(shown).collect();
            }
            pattern
        };
        let transformation = |action: &OrientedPermutation| {
            of_orbits(&|orbit| {
                let (from, turns) = self.sources(orbit, action);
                json!({ "permutation": from, "orientationDelta": turns })
            })
        };
        let moves: Map<String, Value> =
            self.moves().iter().map(|mv| (mv.name.clone(), transformation(&mv.action).into())).collect();
        Ok(json!({
            "name": self.name(),
            "orbits": orbits.clone().map(size).collect::<Vec<_>>(),
            "defaultPattern": of_orbits(&solved),
            "moves": moves,
        }))
    }

    /// Returns the name of an orbit, in the letters that other programs take.
    fn written_name(&self, orbit: usize) -> String {
        let name = self.orbits()[orbit].name.to_uppercase();
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }

    /// Returns, for each cell of an orbit in the solved state, a number for the piece, from 0, equal for pieces that look
    /// alike, and its orientation.
    fn solved_kinds(&self, orbit: usize) -> (Vec<usize>, Vec<usize>) {
        let solved = || self.cells_of(orbit).map(|cell| self.solved()[cell]);
        let mut known: Vec<u16> = solved().map(|piece| piece.label).collect();
        known.sort_unstable();
        known.dedup();
        solved()
            .map(|piece| {
                let kind = known.partition_point(|&known| known < piece.label);
                (kind, usize::from(piece.orientation))
            })
            .unzip()
    }

    /// Returns, for each cell of an orbit, the cell from which a move brings a piece, and what it adds to its orientation.
    fn sources(&self, orbit: usize, action: &OrientedPermutation) -> (Vec<usize>, Vec<usize>) {
        let (first, inverse) = (self.cells_of(orbit).start, action.cells().inverse());
        self.cells_of(orbit)
            .map(|cell| (inverse.apply(cell) - first, usize::from(action.turns()[cell])))
            .unzip()
    }

    /// Checks that the puzzle has nothing but moves that are always possible.
    fn require_moves_alone(&self, format: &str) -> Result<(), String> {
        let what = match () {
            () if self.is_guarded() => "moves that are possible only in some states",
            () if !self.free().is_empty() => "free moves",
            () if !self.starts().are_solved_alone() => "several solved states",
            () => return Ok(()),
        };
        Err(format!("{format} cannot express {what}. Use --format toml"))
    }
}
