//! Solves states by bidirectional search, and compares the distances with the depths that a run noted.
//!
//! `bidirectional ROWSxCOLUMNS multi|single watched.csv [RADIUS]` lists all states within RADIUS moves of the
//! solved state, up to symmetry, and searches from each state of the file until it meets this ball. The
//! program shares no code with Fathom, so it checks everything that Fathom does. It takes boards of up to 16
//! cells.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// The tile on each cell, followed by zeros.
type State = [u8; 16];

struct Board {
    cells: usize,
    /// By move and cell, the cell from which the tile comes.
    moves: Vec<Vec<usize>>,
    /// By symmetry and cell, the cell that is mapped there; and by symmetry and tile, the new name.
    symmetries: Vec<(Vec<usize>, Vec<u8>)>,
}

impl Board {
    fn new(rows: usize, columns: usize, multi: bool) -> Self {
        let cells = rows * columns;
        let at = |row: usize, column: usize| (row % rows) * columns + column % columns;
        let shifts = |length: usize| (1..length).filter(move |&by| multi || by == 1 || by == length - 1);
        let mut moves = Vec::new();
        for row in 0..rows {
            for by in shifts(columns) {
                let from =
                    |cell: usize| if cell / columns == row { at(row, cell % columns + by) } else { cell };
                moves.push((0..cells).map(from).collect());
            }
        }
        for column in 0..columns {
            for by in shifts(rows) {
                let from = |cell: usize| {
                    if cell % columns == column { at(cell / columns + by, column) } else { cell }
                };
                moves.push((0..cells).map(from).collect());
            }
        }
        let mut images: Vec<Vec<usize>> = Vec::new();
        for (down, right, upside, mirrored, turned) in (0..rows)
            .flat_map(|down| (0..columns).map(move |right| (down, right)))
            .flat_map(|(down, right)| {
                (0..8).map(move |bits| (down, right, bits & 1 == 1, bits & 2 == 2, bits & 4 == 4))
            })
        {
            if turned && rows != columns {
                continue;
            }
            let image = |cell: usize| {
                let (row, column) = (cell / columns, cell % columns);
                let row = if upside { rows - 1 - row } else { row };
                let column = if mirrored { columns - 1 - column } else { column };
                let (row, column) = if turned { (column, row) } else { (row, column) };
                at(row + down, column + right)
            };
            images.push((0..cells).map(image).collect());
        }
        images.sort();
        images.dedup();
        let symmetries = images
            .into_iter()
            .map(|to| {
                let mut from = vec![0; cells];
                to.iter().enumerate().for_each(|(cell, &image)| from[image] = cell);
                (from, to.iter().map(|&cell| cell as u8).collect())
            })
            .collect();
        Self { cells, moves, symmetries }
    }

    fn solved(&self) -> State {
        let mut state = [0; 16];
        (0..self.cells).for_each(|cell| state[cell] = cell as u8);
        state
    }

    /// Returns the states one move away.
    fn neighbours(&self, state: &State) -> impl Iterator<Item = State> {
        self.moves.iter().map(move |from| {
            let mut moved = [0; 16];
            from.iter().enumerate().for_each(|(cell, &from)| moved[cell] = state[from]);
            moved
        })
    }

    /// Returns the least state of the class of a state.
    fn canonical(&self, state: &State) -> State {
        let mut least = *state;
        for (from, names) in &self.symmetries {
            for cell in 0..self.cells {
                let tile = names[usize::from(state[from[cell]])];
                if tile < least[cell] {
                    (cell..self.cells).for_each(|cell| least[cell] = names[usize::from(state[from[cell]])]);
                }
                if tile != least[cell] {
                    break;
                }
            }
        }
        least
    }

    /// Returns the states one move away from `last` that are in neither `last` nor `before`, sorted, each
    /// once.
    fn next(&self, last: &[State], before: &[State], image: impl Fn(&State) -> State + Sync) -> Vec<State> {
        let mut next: Vec<State> = last
            .par_chunks(1 << 16)
            .flat_map_iter(|chunk| {
                let mut next: Vec<State> = chunk
                    .iter()
                    .flat_map(|state| self.neighbours(state))
                    .map(|state| image(&state))
                    .collect();
                next.sort_unstable();
                next.dedup();
                next
            })
            .collect();
        next.par_sort_unstable();
        next.dedup();
        next.retain(|state| last.binary_search(state).is_err() && before.binary_search(state).is_err());
        next
    }
}

/// Returns the distance of a state. `ball[d]` has the classes at distance d from the solved state, sorted.
fn distance(board: &Board, ball: &[Vec<State>], state: &State) -> usize {
    let canonical = board.canonical(state);
    if let Some(distance) = ball.iter().position(|level| level.binary_search(&canonical).is_ok()) {
        return distance;
    }
    // A shortest way out of the ball crosses its outermost level first.
    let rim = ball.last().expect("the ball has the solved state");
    let (mut before, mut last) = (Vec::new(), vec![*state]);
    for steps in 1.. {
        let next = board.next(&last, &before, |state| *state);
        if next.par_iter().any(|state| rim.binary_search(&board.canonical(state)).is_ok()) {
            return ball.len() - 1 + steps;
        }
        (before, last) = (last, next);
    }
    unreachable!("the loop ends only by returning")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [board, metric, file, rest @ ..] = &arguments[..] else {
        eprintln!("bidirectional ROWSxCOLUMNS multi|single watched.csv [RADIUS]");
        return ExitCode::from(2);
    };
    let (rows, columns) = board.split_once('x').expect("a board is ROWSxCOLUMNS");
    let board = Board::new(rows.parse().expect("rows"), columns.parse().expect("columns"), metric == "multi");
    let radius: usize = rest.first().map_or(6, |radius| radius.parse().expect("a radius"));

    let mut ball = vec![vec![board.solved()]];
    while ball.len() <= radius {
        let before = ball.len().checked_sub(2).map_or(&[][..], |before| &ball[before]);
        let next = board.next(&ball[ball.len() - 1], before, |state| board.canonical(state));
        ball.push(next);
    }
    let classes: Vec<usize> = ball.iter().map(Vec::len).collect();
    println!("classes within {radius} moves: {classes:?}");

    let text = std::fs::read_to_string(file).expect("the file is readable");
    let mut agreed: BTreeMap<usize, usize> = BTreeMap::new();
    let mut wrong = 0;
    for line in text.lines().skip(1) {
        let (tiles, depth) = line.split_once(',').expect("a line is state,depth");
        let mut state = [0; 16];
        for (cell, tile) in tiles.split(' ').enumerate() {
            state[cell] = tile.parse().expect("a tile");
        }
        let expected = distance(&board, &ball, &state);
        if depth == expected.to_string() {
            *agreed.entry(expected).or_default() += 1;
        } else {
            println!("WRONG: {tiles} is {expected} moves away, not {depth}");
            wrong += 1;
        }
    }
    for (distance, states) in agreed {
        println!("distance {distance}: {states} agree");
    }
    println!("{wrong} wrong");
    ExitCode::from(u8::from(wrong > 0))
}
