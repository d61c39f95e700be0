//! How a state is packed, and the moves of packed states.

use crate::Key;
use crate::key::sort_distinct;
use fathom_algebra::OrientedPermutation;
use fathom_layer::Digest;
use fathom_puzzle::{Guard, Puzzle, PuzzleMove};
use fathom_space::Labels;
use std::collections::HashMap;

/// The largest number of states at distance 0.
pub const MAX_STARTS: usize = 10_000_000;

/// Why there are no states at distance 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartsError {
    /// Two start states look alike.
    #[error("start states {first} and {second} are the same state")]
    Twice {
        /// The number of one of them, from 1.
        first: usize,
        /// The number of the other.
        second: usize,
    },
    /// There are more than [`MAX_STARTS`].
    #[error("there are more than {MAX_STARTS} start states")]
    TooMany,
}

/// The position of one cell's symbol in a packed state. The symbol of a piece with label k in orientation o, among
/// the pieces that come to the cell, is the number of orientations that the labels before k show, plus o.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    word: usize,
    shift: u32,
    mask: u64,
}

impl Field {
    #[inline]
    fn get<K: Key>(self, state: &K) -> u64 {
        (state.word(self.word) >> self.shift) & self.mask
    }

    #[inline]
    fn set<K: Key>(self, state: &mut K, symbol: u64) {
        state.set(self.word, symbol << self.shift);
    }
}

/// A piece that an action carries from one cell to another.
#[derive(Clone, Debug)]
struct Carried {
    from: Field,
    to: Field,
    /// The turned symbol of each symbol; empty if the piece does not turn.
    turned: Box<[u16]>,
}

/// The action of a move on packed states.
#[derive(Clone, Debug)]
struct PackedAction<K> {
    /// The bits of the cells whose contents stay.
    kept: K,
    carried: Box<[Carried]>,
}

impl<K: Key> PackedAction<K> {
    #[inline]
    fn apply(&self, state: &K) -> K {
        let mut image = state.and(&self.kept);
        for Carried { from, to, turned } in &self.carried {
            let symbol = from.get(state);
            let symbol = if turned.is_empty() { symbol } else { turned[symbol as usize].into() };
            to.set(&mut image, symbol);
        }
        image
    }
}

/// A condition for a move: whether a cell's symbol must be in a range, or must not.
#[derive(Clone, Debug)]
struct PackedGuard {
    field: Field,
    symbols: std::ops::Range<u64>,
    holds: bool,
}

#[derive(Clone, Debug)]
struct PackedMove<K> {
    action: PackedAction<K>,
    guard: Box<[PackedGuard]>,
}

/// The states of a puzzle with labels as packed keys. With free moves, the state of several vectors is the
/// smallest of them.
#[derive(Clone, Debug)]
pub struct ListSpace<K> {
    moves: Vec<PackedMove<K>>,
    /// The free moves other than the identity.
    free: Vec<PackedAction<K>>,
    /// The vectors of the given start states.
    starts: Box<[K]>,
    /// Actions that lead from their vectors to those of other start states.
    by: Box<[PackedAction<K>]>,
    /// The bytes of a key that can differ from zero, most significant first, as the number of the word and the
    /// distance from its least significant bit.
    bytes: Box<[(usize, u32)]>,
    /// The number of words that have fields.
    words: usize,
    is_closed_under_inverses: bool,
    symbols: Symbols,
    /// By cell.
    fields: Box<[Field]>,
}

/// The symbols of the cells.
#[derive(Clone, Debug)]
struct Symbols {
    /// By piece: the first symbol of its label.
    first: Box<[u16]>,
    /// By piece: the number of orientations that it shows.
    seen: Box<[u16]>,
    /// By cell: the number of symbols in its orbit.
    counts: Box<[u16]>,
    /// By orbit: the number of orientations that the label of each symbol shows, and the label's first symbol.
    orbits: Vec<Box<[(u16, u16)]>>,
    /// By cell: its orbit.
    orbit_of: Box<[usize]>,
}

impl Symbols {
    /// Pieces with one label are alike if their cells do not distinguish them, and they show as many orientations.
    fn new(puzzle: &Puzzle, labels: &Labels) -> Self {
        let cells = puzzle.cells;
        let (mut first, mut counts) = (vec![0; cells], vec![0; cells]);
        let (mut orbits, mut orbit_of) = (Vec::new(), vec![0; cells]);
        for orbit in puzzle.orbits() {
            let mut marks: HashMap<(u16, u16), u16> = HashMap::new();
            let mut symbols: Vec<(u16, u16)> = Vec::new();
            for &piece in &orbit {
                let seen = puzzle.seen[piece];
                let next = symbols.len() as u16;
                let mark = *marks.entry((labels.of_pieces()[piece], seen)).or_insert_with(|| {
                    symbols.extend((0..seen).map(|_| (seen, next)));
                    next
                });
                first[piece] = mark;
                orbit_of[piece] = orbits.len();
            }
            orbit.iter().for_each(|&cell| counts[cell] = symbols.len() as u16);
            orbits.push(symbols.into());
        }
        Self {
            first: first.into(),
            seen: puzzle.seen.clone().into(),
            counts: counts.into(),
            orbits,
            orbit_of: orbit_of.into(),
        }
    }

    /// Returns the symbol of a piece in an orientation.
    fn of(&self, piece: usize, orientation: u16) -> u64 {
        (self.first[piece] + orientation % self.seen[piece]).into()
    }

    /// Returns the symbols on a cell of all orientations of pieces that are like a piece; none if it never comes there.
    fn range(&self, piece: usize, cell: usize) -> std::ops::Range<u64> {
        if self.orbit_of[piece] != self.orbit_of[cell] {
            return 0..0;
        }
        let first = u64::from(self.first[piece]);
        first..first + u64::from(self.seen[piece])
    }

    /// Returns the turned symbol of each symbol on a cell; empty if no symbol changes.
    fn turned(&self, cell: usize, turn: u16) -> Box<[u16]> {
        let orbit = &self.orbits[self.orbit_of[cell]];
        let turned = |(symbol, &(seen, first)): (usize, &(u16, u16))| {
            first + (symbol as u16 - first + turn % seen) % seen
        };
        let turned: Box<[u16]> = orbit.iter().enumerate().map(turned).collect();
        if turned.iter().zip(0..).all(|(&to, from)| to == from) { Box::default() } else { turned }
    }
}

/// Returns the field of each cell, and the number of words of a state.
fn layout(counts: &[u16]) -> (Box<[Field]>, usize) {
    let (mut word, mut free) = (0, 64);
    let field = |&count: &u16| {
        let width = u16::BITS - count.saturating_sub(1).leading_zeros();
        if width > free {
            (word, free) = (word + 1, 64);
        }
        free -= width;
        Field { word, shift: free, mask: (1 << width) - 1 }
    };
    let fields = counts.iter().map(field).collect();
    (fields, word + 1)
}

/// Returns the number of 64-bit words that a state of a puzzle with labels takes.
pub fn words(puzzle: &Puzzle, labels: &Labels) -> usize {
    layout(&Symbols::new(puzzle, labels).counts).1
}

impl<K: Key> ListSpace<K> {
    /// Packs the states of a puzzle with labels, one for each piece.
    ///
    /// # Panics
    /// If a state takes more than [`Key::WORDS`] words: see [`words`].
    pub fn new(puzzle: &Puzzle, labels: &Labels) -> Self {
        let mut puzzle = puzzle.clone();
        puzzle.rule_out_alike(labels.of_pieces());
        let symbols = Symbols::new(&puzzle, labels);
        let (fields, words) = layout(&symbols.counts);
        assert!(words <= K::WORDS, "{words} words in a key of {}", K::WORDS);
        let action = |action: &OrientedPermutation| {
            let mut kept = K::ZERO;
            let mut carried = Vec::new();
            for (cell, (&field, &turn)) in fields.iter().zip(action.turns()).enumerate() {
                let to = action.cells().apply(cell);
                let turned = symbols.turned(cell, turn);
                match to == cell && turned.is_empty() {
                    true => field.set(&mut kept, field.mask),
                    false => carried.push(Carried { from: field, to: fields[to], turned }),
                }
            }
            PackedAction { kept, carried: carried.into() }
        };
        let guard = |&Guard { cell, piece, holds }: &Guard| PackedGuard {
            field: fields[usize::from(cell)],
            symbols: symbols.range(piece.into(), cell.into()),
            holds,
        };
        let packed = |m: &PuzzleMove| PackedMove {
            action: action(&m.action),
            guard: m.guard.iter().map(guard).collect(),
        };
        let mut solved = K::ZERO;
        let mut used = K::ZERO;
        for (piece, field) in fields.iter().enumerate() {
            field.set(&mut solved, symbols.of(piece, 0));
            field.set(&mut used, field.mask);
        }
        let bytes = (0..words).flat_map(|word| (0..8).rev().map(move |byte| (word, 8 * byte)));
        let mut bytes: Vec<_> =
            bytes.filter(|&(word, shift)| (used.word(word) >> shift) & 255 != 0).collect();
        if bytes.is_empty() {
            // The only state of a space has a byte, too.
            bytes.push((0, 0));
        }
        let space = Self {
            moves: puzzle.moves.iter().map(packed).collect(),
            free: puzzle.free.iter().skip(1).map(action).collect(),
            starts: puzzle.starts.states.iter().map(|start| action(start).apply(&solved)).collect(),
            by: puzzle.starts.by.iter().map(action).collect(),
            bytes: bytes.into(),
            words,
            is_closed_under_inverses: puzzle.is_closed_under_inverses(),
            symbols,
            fields,
        };
        match space.starts.is_empty() {
            true => Self { starts: [solved].into(), ..space },
            false => space,
        }
    }

    /// Returns the states at distance 0, in increasing order.
    ///
    /// # Errors
    /// [`StartsError`] if a state is given twice, or there are more than [`MAX_STARTS`].
    pub fn starts(&self) -> Result<Vec<K>, StartsError> {
        let mut given: Vec<(K, usize)> =
            self.starts.iter().map(|&start| self.canonical(start)).zip(1..).collect();
        given.sort_unstable();
        if let Some(twice) = given.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(StartsError::Twice { first: twice[0].1, second: twice[1].1 });
        }
        // Elements lead from the given vectors, not from the smallest vectors of the same states.
        let mut known = self.starts.to_vec();
        known.sort_unstable();
        let mut newest = known.clone();
        while !newest.is_empty() {
            let images = |vector: &K| self.by.iter().map(|by| by.apply(vector)).collect::<Vec<_>>();
            let mut next: Vec<K> = newest.iter().flat_map(images).collect();
            sort_distinct(&mut next);
            next.retain(|vector| known.binary_search(vector).is_err());
            if known.len() + next.len() > MAX_STARTS {
                return Err(StartsError::TooMany);
            }
            known.extend(&next);
            known.sort_unstable();
            newest = next;
        }
        known.iter_mut().for_each(|state| *state = self.canonical(*state));
        sort_distinct(&mut known);
        Ok(known)
    }

    /// Returns whether the inverse of every move is a move, so that depths of neighbours differ by at most one.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.is_closed_under_inverses
    }

    /// Returns the number of moves.
    pub fn moves(&self) -> usize {
        self.moves.len()
    }

    /// Passes the states to which moves lead from a state; the same state may be passed several times.
    #[inline]
    pub fn successors(&self, state: &K, mut found: impl FnMut(K)) {
        for PackedMove { action, guard } in &self.moves {
            let is_met = |asked: &PackedGuard| asked.symbols.contains(&asked.field.get(state)) == asked.holds;
            if guard.iter().all(is_met) {
                found(self.canonical(action.apply(state)));
            }
        }
    }

    /// Returns the symbol of a piece in an orientation on a cell; `None` if it never comes to the cell.
    pub(crate) fn symbol_of(&self, piece: usize, orientation: u16, cell: usize) -> Option<u64> {
        let symbols = &self.symbols;
        (symbols.orbit_of[piece] == symbols.orbit_of[cell]).then(|| symbols.of(piece, orientation))
    }

    /// Returns the state with these symbols, one for each cell.
    pub(crate) fn of_symbols(&self, symbols: &[u64]) -> K {
        let mut state = K::ZERO;
        self.fields.iter().zip(symbols).for_each(|(field, &symbol)| field.set(&mut state, symbol));
        self.canonical(state)
    }

    /// Returns the symbol on each cell of a state.
    pub(crate) fn symbols_of(&self, state: &K) -> Vec<u64> {
        self.fields.iter().map(|field| field.get(state)).collect()
    }

    /// Returns the smallest of the vectors of a state.
    #[inline]
    fn canonical(&self, state: K) -> K {
        self.free.iter().map(|free| free.apply(&state)).fold(state, K::min)
    }

    /// Returns the shard of a state, out of `shards`: its hash times `shards`, divided by 2^64.
    #[inline]
    pub fn shard(&self, state: &K, shards: u32) -> u32 {
        ((u128::from(state.hash(self.words)) * u128::from(shards)) >> 64) as u32
    }

    /// Returns the number of bytes of a state in a list.
    pub fn state_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Writes the bytes of a state, whose order is that of states.
    #[inline]
    pub fn write(&self, state: &K, bytes: &mut [u8]) {
        for (to, &(word, shift)) in bytes.iter_mut().zip(&self.bytes) {
            *to = (state.word(word) >> shift) as u8;
        }
    }

    /// Returns the state with these bytes.
    #[inline]
    pub fn read(&self, bytes: &[u8]) -> K {
        let mut state = K::ZERO;
        for (&byte, &(word, shift)) in bytes.iter().zip(&self.bytes) {
            state.set(word, u64::from(byte) << shift);
        }
        state
    }
}

/// Returns the BLAKE3 hash of everything on which packed states depend: cells, moves, guards, free moves and labels.
pub fn fingerprint(puzzle: &Puzzle, labels: &Labels) -> Digest {
    let mut hash = blake3::Hasher::new_derive_key("fathom 2026 list plan fingerprint, version 1");
    let mut field = |name: &str, numbers: &[u16]| {
        for length in [name.len(), numbers.len()] {
            hash.update(&(length as u64).to_le_bytes());
        }
        hash.update(name.as_bytes());
        numbers.iter().for_each(|number| {
            hash.update(&number.to_le_bytes());
        });
    };
    field("labels", labels.of_pieces());
    field("seen", &puzzle.seen);
    let moves = puzzle.moves.iter().map(|m| ("move", &m.action, &m.guard[..]));
    let free = puzzle.free.iter().map(|free| ("free move", free, &[][..]));
    let starts = puzzle.starts.states.iter().map(|start| ("start", start, &[][..]));
    let by = puzzle.starts.by.iter().map(|by| ("starts by", by, &[][..]));
    for (name, action, guard) in moves.chain(free).chain(starts).chain(by) {
        field(name, action.cells().images());
        field("turns", action.turns());
        let guard: Vec<u16> =
            guard.iter().flat_map(|asked| [asked.cell, asked.piece, asked.holds.into()]).collect();
        field("guard", &guard);
    }
    Digest(*hash.finalize().as_bytes())
}
