//! The group elements that carry frames from the home coset to the other cosets.

use super::{Actions, Frames, Leads, NO_ELEMENT, turned};
use crate::cells::Cell;
use crate::{CosetGraph, CosetId};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Mutex;

/// Returns, by coset, the element that carries the home coset's words there: the moves along the first path
/// that a breadth-first search finds.
pub(super) fn carriers(graph: &CosetGraph, leads: &Leads, home: CosetId) -> Box<[(Cell, u8)]> {
    let cells = graph.space().cells();
    let mut carriers = vec![(Cell::MAX, 0); graph.len() as usize * cells];
    let mut actions = Actions::new(graph);
    let colours = graph.colouring().colours() as u8;
    for colour in 0..colours {
        let first = graph.colouring().first_place(colour);
        let places = graph.colouring().first_place(colour + 1) - first;
        let known = &mut carriers[home.0 as usize * cells + first..][..places];
        known.iter_mut().zip(0..).for_each(|(known, place)| *known = (place, 0));
    }
    let mut open = std::collections::VecDeque::from([home.0]);
    while let Some(source) = open.pop_front() {
        let from = carriers[source as usize * cells..][..cells].to_vec();
        for &(target, mv) in leads.from(source) {
            let known = &mut carriers[target as usize * cells..][..cells];
            if known[0].0 != Cell::MAX {
                continue;
            }
            actions.read_move(graph, CosetId(target), mv as usize);
            for colour in 0..colours {
                let (first, order) =
                    (graph.colouring().first_place(colour), actions.orientation_counts[usize::from(colour)]);
                let moved = &actions.moved[usize::from(colour)];
                for place in first..first + moved.len() {
                    let (to, turn) = moved[usize::from(from[place].0)];
                    known[place] = (to, turned(u16::from(turn) + u16::from(from[place].1), order));
                }
            }
            open.push_back(target);
        }
    }
    carriers.into()
}

/// For each place of the home coset: its image, and the turn of its symbol.
type Element = Box<[(Cell, u8)]>;

/// Returns, by coset and arrival, the number of the arrival's action on indices where frames are carried.
/// This action is an element of the group that keeps the home coset. Returns `None` if there are too many
/// elements to keep.
pub(super) fn elements(graph: &CosetGraph, carried: &Frames) -> Option<Box<[u32]>> {
    const MOST: usize = 1 << 14;
    const COSETS: usize = 1 << 10;
    let incoming = graph.space().incoming_moves().len();
    let numbers: Mutex<FxHashMap<Element, u32>> = Mutex::default();
    let number = |element: &[(Cell, u8)]| {
        let mut numbers = numbers.lock().expect("no thread panics while it holds the lock");
        let next = numbers.len() as u32;
        (numbers.len() < MOST).then(|| *numbers.entry(element.into()).or_insert(next))
    };
    let mut elements = vec![NO_ELEMENT; graph.len() as usize * incoming];
    let pieces = elements.par_chunks_mut(COSETS * incoming).enumerate();
    let is_known = pieces.map_init(
        || (Actions::new(graph), FxHashMap::<Element, u32>::default(), Vec::new()),
        |(actions, known, element), (piece, elements)| {
            for (at, found) in elements.iter_mut().enumerate() {
                let (coset, mv) = (CosetId((piece * COSETS + at / incoming) as u32), at % incoming);
                let Some((source, _)) = graph.source(coset, mv) else {
                    continue;
                };
                actions.read_move(graph, coset, mv);
                actions.between_carried(carried, source, coset);
                element.clear();
                element.extend(actions.moved.iter().flatten());
                *found = match known.get(&element[..]) {
                    Some(&number) => number,
                    None => {
                        let number = number(element)?;
                        known.insert(element[..].into(), number);
                        number
                    }
                };
            }
            Some(())
        },
    );
    is_known.collect::<Option<()>>()?;
    Some(elements.into())
}
