//! Audits of every state.

use super::distance_laws::Contradiction;
use super::kept_layers::KeptLayers;
use super::list_files::ListFiles;
use super::plain_states::{Plain, State};
use super::{Audit, Audited, Options, Tally, given, look};
use anyhow::{Context, Result};
use fathom_command::bad_input;
use fathom_space::Space;
use indicatif::HumanBytes;
use std::ops::Range;

/// Checks every state of the space of a run by cosets.
pub(super) fn of_cosets(
    plain: &Plain,
    kept: &KeptLayers<'_>,
    space: &Space,
    options: Options,
) -> Result<Audit> {
    // The words of the search may also encode how the puzzle is held.
    let free = plain.words_of_each();
    let words = u64::try_from(space.states() * free).ok();
    let words = words.context("the space has 2^64 words or more")?;
    let mut tally = match plain.faithful_group() {
        Some(group) => {
            let word = |mut number: u64| {
                let digit = |length: usize| {
                    let digit = number % length as u64;
                    number /= length as u64;
                    digit as usize
                };
                plain.word(&group.element(digit))
            };
            let take = |numbers: Range<u64>| Ok(numbers.map(word).collect());
            look(plain, kept, options.threads, words, None, take)?
        }
        None => {
            // Two copies of each word, and the entries of the hash tables.
            let bytes = words.saturating_mul(8 * space.cells() as u64 + 96);
            if bytes > options.memory_bytes {
                return Err(bad_input!(
                    "a list of all {words} words of {} takes {} of memory, but only {} may be used. Use --samples, or raise --memory",
                    space.slug(),
                    HumanBytes(bytes),
                    HumanBytes(options.memory_bytes)
                ));
            }
            let states = plain.close();
            look(plain, kept, options.threads, states.len() as u64, None, given(&states))?
        }
    };
    let mut layers = Vec::new();
    for (row, depth) in kept.layers.iter().zip(0_u32..) {
        let found = tally.by_depth.get(depth as usize).copied().unwrap_or(0);
        let wrong = found != row.states * free;
        if wrong {
            tally.wrong += 1;
            tally.contradictions.push(Contradiction {
                depth: Some(depth),
                state: String::new(),
                reason: format!(
                    "{} states are at depth {depth}, but run.db has {}",
                    found / free,
                    row.states
                ),
            });
        }
        layers.push(Audited {
            depth,
            states: row.states,
            checked: found / free,
            all: true,
            wrong: u64::from(wrong),
            excluded: None,
        });
    }
    if tally.checked != words {
        tally.wrong += 1;
        tally.contradictions.push(Contradiction {
            depth: None,
            state: String::new(),
            reason: format!(
                "there are {} states, but the run expects {}",
                tally.checked / free,
                words / free
            ),
        });
    }
    Ok(Audit {
        complete: kept.is_complete,
        layers,
        at_large: None,
        unchecked: Vec::new(),
        proof: false,
        wrong: tally.wrong,
        contradictions: tally.contradictions,
    })
}

/// Checks every state of every layer of a run by lists, all of whose layers are kept, and that they have the start
/// states.
///
/// This proves the run, too: the start states are at depth 0, and if a finished layer has all states of its distance,
/// so has the next one, because every move from a state leads to some layer, and not to a later one.
pub(super) fn of_lists(
    plain: &Plain,
    kept: &KeptLayers<'_>,
    files: &ListFiles<'_>,
    options: Options,
) -> Result<Audit> {
    let starts: Vec<State> = plain.starts().into_iter().collect();
    let mut found = look(plain, kept, options.threads, starts.len() as u64, None, given(&starts))?;
    let mut layers = Vec::new();
    for (row, depth) in kept.layers.iter().zip(0_u32..) {
        let states = files.count(depth).with_context(|| format!("cannot read the layer of depth {depth}"))?;
        let take = |numbers: Range<u64>| files.numbered(depth, &numbers.collect::<Vec<u64>>());
        let mut tally = look(plain, kept, options.threads, states, Some(depth), take)?;
        if states != row.states {
            let reason = format!("{states} states are at depth {depth}, but run.db has {}", row.states);
            tally.wrong += 1;
            tally.contradictions.push(Contradiction { depth: Some(depth), state: String::new(), reason });
        }
        let (checked, wrong) = (tally.checked, tally.wrong);
        layers.push(Audited { depth, states: row.states, checked, all: true, wrong, excluded: None });
        found.wrong += wrong;
        found.contradictions.append(&mut tally.contradictions);
    }
    let Tally { wrong, contradictions, .. } = found;
    Ok(Audit {
        complete: kept.is_complete,
        layers,
        at_large: None,
        unchecked: Vec::new(),
        proof: false,
        wrong,
        contradictions,
    })
}
