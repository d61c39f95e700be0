//! Definitions in the formats of other programs.

use crate::Definition;
use crate::definition::Orbit;
use fathom_algebra::OrientedPermutation;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

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
                && mv.name.bytes().any(|b| b.is_ascii_alphabetic());
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
        let name = |orbit: usize| -> String {
            let Orbit { name, .. } = &self.orbits()[orbit];
            name.to_uppercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
        };
        let mut text = format!("Name {}\n\n", self.name().split_whitespace().collect::<Vec<_>>().join("-"));
        let line = |numbers: Vec<usize>| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let orbits = 0..self.orbits().len();
        for orbit in orbits.clone() {
            let Orbit { cells, orientations, .. } = &self.orbits()[orbit];
            writeln!(text, "Set {} {cells} {orientations}", name(orbit))
                .expect("writing to a string cannot fail");
        }
        text += "\nSolved\n";
        for orbit in orbits.clone() {
            let solved = || self.cells_of(orbit).map(|cell| self.solved()[cell]);
            let labels: Vec<usize> = solved().map(|piece| piece.label.into()).collect();
            let mut known = labels.clone();
            known.sort_unstable();
            known.dedup();
            let number = |label: &usize| known.partition_point(|known| known < label) + 1;
            let turns = solved().map(|piece| piece.orientation.into()).collect();
            writeln!(text, "{}\n{}\n{}", name(orbit), line(labels.iter().map(number).collect()), line(turns))
                .expect("writing to a string cannot fail");
        }
        text += "End\n";
        for mv in self.moves() {
            writeln!(text, "\nMove {}", mv.name).expect("writing to a string cannot fail");
            let inverse = mv.action.cells().inverse();
            for orbit in orbits.clone() {
                let first = self.cells_of(orbit).start;
                let from = self.cells_of(orbit).map(|cell| inverse.apply(cell) - first + 1).collect();
                let turns = self.cells_of(orbit).map(|cell| mv.action.turns()[cell].into()).collect();
                writeln!(text, "{}\n{}\n{}", name(orbit), line(from), line(turns))
                    .expect("writing to a string cannot fail");
            }
            text += "End\n";
        }
        Ok(text)
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
