//! Puzzles whose moves have guards or whose states are limited, with free moves and with other labels,
//! compared with a plain search.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::task::Kernel;
use fathom_puzzle::{Definition, Metric, Piece, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::{Setup, fathom, texts};
use std::collections::HashSet;
use std::fs;

const SETUP: Setup = Setup {
    kernel: Kernel::Fastest,
    threads: 1,
    shards: None,
    keep: Keep::Last,
    max_depth: None,
    memory_bytes: fathom_tests::MEMORY,
    checkpoint_every: std::time::Duration::MAX,
};

/// The labels on the cells.
type State = Vec<u16>;

/// A small puzzle, in the form a plain search needs.
#[derive(Clone, Debug, Default)]
struct Plain {
    solved: State,
    /// Where each move carries the piece on each cell, and the cells whose labels must equal those of the
    /// solved state.
    moves: Vec<(Vec<usize>, Vec<u16>)>,
    free: Vec<Vec<usize>>,
    /// Pairs of a cell and a piece such that no piece with that piece's label is ever on the cell.
    never: Vec<(u16, u16)>,
}

fn moved(state: &State, to: &[usize]) -> State {
    let mut next = state.clone();
    to.iter().zip(state).for_each(|(&to, &label)| next[to] = label);
    next
}

impl Plain {
    fn definition(&self) -> Definition {
        let mut definition = Definition::of_degree("guards", self.solved.len()).unwrap();
        let pieces = self.solved.iter().map(|&label| Piece { label, orientation: 0, seen: 1 });
        definition.set_solved(&pieces.collect::<Vec<_>>()).unwrap();
        let action =
            |to: &[usize]| OrientedPermutation::from_cells(Permutation::from_fn(to.len(), |c| to[c]));
        for (number, (to, guard)) in self.moves.iter().enumerate() {
            definition.add_guarded_move(format!("m{number}"), action(to), guard).unwrap();
        }
        for (number, to) in self.free.iter().enumerate() {
            definition.add_free(format!("f{number}"), action(to)).unwrap();
        }
        definition.set_never(&self.never).unwrap();
        definition
    }

    /// Returns the states that free moves identify with a state, including the state itself.
    fn equals(&self, state: &State) -> Vec<State> {
        let mut all = vec![state.clone()];
        let mut next = 0;
        while next < all.len() {
            for to in &self.free {
                let turned = moved(&all[next], to);
                if !all.contains(&turned) {
                    all.push(turned);
                }
            }
            next += 1;
        }
        all
    }

    fn growth(&self) -> Vec<u64> {
        let solved = |piece: u16| self.solved[usize::from(piece)];
        let least = |state: &State| self.equals(state).into_iter().min().unwrap();
        let is_meant =
            |state: &State| self.never.iter().all(|&(cell, piece)| state[usize::from(cell)] != solved(piece));
        let mut layer = vec![least(&self.solved)];
        let mut seen: HashSet<State> = layer.iter().cloned().collect();
        let mut counts = Vec::new();
        while !layer.is_empty() {
            counts.push(layer.len() as u64);
            let mut next = Vec::new();
            for state in layer.iter().flat_map(|state| self.equals(state)) {
                let may = |guard: &[u16]| guard.iter().all(|&cell| state[usize::from(cell)] == solved(cell));
                for (to, _) in self.moves.iter().filter(|(_, guard)| may(guard)) {
                    let reached = least(&moved(&state, to));
                    if is_meant(&reached) && seen.insert(reached.clone()) {
                        next.push(reached);
                    }
                }
            }
            layer = next;
        }
        counts
    }
}

fn shuffled(random: &mut fastrand::Rng, n: usize) -> Vec<usize> {
    let mut to: Vec<usize> = (0..n).collect();
    random.shuffle(&mut to);
    to
}

/// Returns a move and its inverse, with the same guard.
fn both_ways(to: &[usize], guard: &[u16]) -> [(Vec<usize>, Vec<u16>); 2] {
    let mut back = vec![0; to.len()];
    to.iter().enumerate().for_each(|(from, &to)| back[to] = from);
    [(to.to_vec(), guard.to_vec()), (back, guard.to_vec())]
}

fn distinct(cells: usize) -> State {
    (0..cells as u16).collect()
}

/// Returns the counts of a search, or `None` if the puzzle is refused.
fn searched(definition: &Definition, labels: Labels) -> Option<Vec<u64>> {
    let source = PuzzleSpec::Defined(Box::new(definition.clone().validated().ok()?));
    source.check_labels(labels.of_pieces()).ok()?;
    let question = SpaceSpec { source, metric: Metric::Given, labels };
    question.space().ok()?;
    let reference = Setup { kernel: Kernel::Reference, ..SETUP }.search(question.clone());
    let found = SETUP.search(question);
    assert_eq!(found.digest, reference.digest);
    Some(found.counts)
}

/// A free move whose relabelling does not preserve the condition of a guard, and moves that free moves
/// identify, but that are possible in different states.
#[test]
fn free_moves_do_not_change_guard_conditions() {
    // Each state has one word in which the lock is in order, and then two swaps of three pieces: a hexagon.
    let lock = Plain {
        solved: distinct(5),
        moves: vec![(vec![0, 1, 4, 3, 2], vec![1]), (vec![0, 1, 2, 4, 3], vec![0])],
        free: vec![vec![1, 0, 4, 3, 2]],
        never: Vec::new(),
    };
    assert_eq!(lock.growth(), [1, 2, 2, 1]);
    let arrivals = Plain {
        solved: vec![3, 3, 2, 1],
        moves: [both_ways(&[0, 3, 2, 1], &[0]), both_ways(&[2, 0, 1, 3], &[3])].concat(),
        free: vec![vec![0, 3, 1, 2]],
        never: Vec::new(),
    };
    assert_eq!(arrivals.growth(), [1, 2]);
    for plain in [lock, arrivals] {
        let labels = Labels::from_values(plain.solved.iter().map(|&label| label.into()));
        assert_eq!(searched(&plain.definition(), labels), Some(plain.growth()), "{plain:?}");
    }
}

#[test]
fn guards_and_free_moves_agree_with_a_plain_search() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut compared = 0;
    for _ in 0..400 {
        let cells = random.usize(3..=6);
        let kinds = random.u16(2..=cells as u16);
        let solved: State = (0..cells).map(|_| random.u16(..kinds)).collect();
        let mut plain = Plain { solved, ..Plain::default() };
        for _ in 0..random.usize(1..=3) {
            let mut to = shuffled(&mut random, cells);
            // A guard checks cells that the move does not change, so that it can be undone.
            let cell = random.usize(..cells);
            let from = to.iter().position(|&to| to == cell).unwrap();
            to.swap(from, cell);
            let guard = if random.bool() { vec![cell as u16] } else { Vec::new() };
            plain.moves.extend(both_ways(&to, &guard));
        }
        plain.free = (0..random.usize(1..=2)).map(|_| shuffled(&mut random, cells)).collect();
        let labels = Labels::from_values(plain.solved.iter().map(|&label| label.into()));
        if let Some(counts) = searched(&plain.definition(), labels) {
            assert_eq!(counts, plain.growth(), "{plain:?}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// A piece that looks like an excluded piece is excluded too, whether its label comes from the file or from
/// an option.
#[test]
fn pieces_that_look_like_an_excluded_piece_are_excluded() {
    let mut random = fastrand::Rng::with_seed(2);
    let mut compared = 0;
    for _ in 0..300 {
        let cells = random.usize(4..=6);
        let kinds = random.u16(2..=cells as u16);
        let labels: State = (0..cells).map(|_| random.u16(..kinds)).collect();
        // The first pieces may stay where they are, and others may look like them.
        let still = random.usize(..3);
        let mut plain = Plain { solved: distinct(cells), ..Plain::default() };
        for _ in 0..random.usize(1..=2) {
            let to: Vec<usize> = shuffled(&mut random, cells - still).iter().map(|to| to + still).collect();
            plain.moves.extend(both_ways(&[(0..still).collect(), to].concat(), &[]));
        }
        let pair = |random: &mut fastrand::Rng| (random.u16(..cells as u16), random.u16(..cells as u16));
        plain.never = vec![pair(&mut random), pair(&mut random)];
        plain.never.retain(|&(cell, piece)| labels[usize::from(cell)] != labels[usize::from(piece)]);
        let option = Labels::from_values(labels.iter().map(|&label| label.into()));
        let by_option = searched(&plain.definition(), option.clone());
        plain.solved = labels;
        if let Some(counts) = searched(&plain.definition(), option) {
            assert_eq!(counts, plain.growth(), "{plain:?}");
            assert_eq!(by_option, Some(counts), "{plain:?}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Guards check labels, so finer labels would change their meaning.
#[test]
fn labels_finer_than_those_of_guards_are_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("g.toml");
    let moves = "A = { cycles = \"(1,2)\", guard = [3] }\nB = \"(2,3,4)\"\n\"B'\" = \"(2,4,3)\"";
    fs::write(&path, format!("degree = 4\n[moves]\n{moves}\n[solved]\nlabels = [1, 2, 3, 3]\n")).unwrap();
    let plan = |labels: &str| fathom().arg("plan").arg(&path).args(["--labels", labels]).output().unwrap();
    assert_eq!(plan("1,1,2,2").status.code(), Some(0));
    let refused = plan("1,2,3,4");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        texts(&refused).1.contains("pieces with the same label cannot be distinguished"),
        "{:?}",
        texts(&refused)
    );
}

#[test]
fn guarded_moves_have_no_classes_up_to_inversion() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("g.toml");
    let moves = "A = { cycles = \"(1,2)\", guard = [3] }\nB = \"(2,3,4)\"\n\"B'\" = \"(2,4,3)\"";
    fs::write(&path, format!("degree = 4\n[moves]\n{moves}\n")).unwrap();
    let refused = fathom().args(["run", "--inverse-classes"]).arg(&path).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = texts(&refused).1;
    assert!(said.contains("its moves can be made only in some states"), "{said}");
}
