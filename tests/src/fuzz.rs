//! Targets that fuzzers call with arbitrary bytes. Each target is a function here. `tests/fuzz` has a program
//! for each target, and a small corpus, which `tests/tests/repository/fuzz.rs` runs as an ordinary test.
//!
//! A target must return for any bytes. If a target panics, or takes more time or memory than its input
//! justifies, the fuzzer has found a fault.

use crate::forge::{HEADER, header_of, reseal};
use fathom_engine::run::{Geometry, ShardCut, ShardId};
use fathom_engine::run::{RunManifest, RunPlan, SpaceSpec};
use fathom_engine::task::layer::bits;
use fathom_kernel::{Kernel, SimdLevel};
use fathom_layer::chunk::{self, Coset};
use fathom_layer::{Digest, Encoding, Identity, Import, ImportMemory, Imports, LayerFile, Stored};
use fathom_proto::{convert, v1};
use fathom_puzzle::load::{self, Format};
use fathom_puzzle::{Definition, PuzzleSpec};
use fathom_space::fingerprint::fingerprint;
use fathom_space::{AxisMap, Labels, Shape, Space, Transform};
use prost::Message;
use std::fs;
use std::sync::Arc;

/// A target's function.
pub type Target = fn(&[u8]);

/// The targets by name. Each has a program in `tests/fuzz/fuzz_targets` and a folder in `tests/fuzz/corpus`.
pub const TARGETS: [(&str, Target); 8] = [
    ("layer_file", layer_file),
    ("imports", imports),
    ("wire", wire),
    ("run_toml", run_toml),
    ("load_toml", load_toml),
    ("load_gap", load_gap),
    ("load_ksolve", load_ksolve),
    ("load_kpuzzle", load_kpuzzle),
];

/// The number of cosets of the shard in the layer files.
pub const COSETS: u32 = 3;

/// Shapes with and without unused bits at the end of each row, with rows of 32 bits, of 64 bits and of
/// several words.
const SHAPES: [&[u32]; 9] = [
    &[3, 7, 7, 7],
    &[5, 33, 33],
    &[13, 60],
    &[65, 3, 65],
    &[1, 5],
    &[12, 12, 12],
    &[24, 24, 24],
    &[2, 24],
    &[130],
];

/// Shapes whose last axis is halved.
const HALVED: [&[u32]; 3] = [&[6, 6, 6], &[24, 2, 24], &[2, 120, 6]];

/// Returns shapes with all kinds of rows.
///
/// # Panics
/// If a shape is invalid.
pub fn shapes() -> Vec<Shape> {
    let whole = SHAPES.iter().map(|lengths| Shape::new(lengths));
    let halved = HALVED.iter().map(|lengths| Shape::halved(lengths));
    whole.chain(halved).map(|shape| shape.expect("the lengths are those of a shape")).collect()
}

/// Returns the identity of the layer file that [`layer_file`] writes.
pub fn identity(shape: &Shape) -> Identity {
    Identity {
        fingerprint: [7; 32],
        depth: 4,
        shard: 0,
        first_coset: 0,
        cosets: COSETS,
        packed_bytes: shape.packed_bytes(),
        row_bits: shape.row_bits(),
    }
}

/// Checks that all positions are positions of states, and that every kernel can pull and subtract them.
///
/// # Panics
/// If a position lies outside the coset, or a kernel counts different states.
pub fn harmless(shape: &Shape, stored: &Stored<'_>) {
    let row = shape.row_bytes() * 8;
    for position in stored.positions() {
        assert!(position % row < shape.row_bits() && position / row < shape.rows(), "{position}");
    }
    let axes = shape.lengths().len();
    let maps: Vec<AxisMap> =
        shape.lengths().iter().map(|&length| AxisMap::new((0..length).collect())).collect();
    let forth: Vec<u8> = (0..axes as u8).collect();
    let back: Vec<u8> = forth.iter().rev().copied().collect();
    let is_mirrored = shape.lengths().iter().eq(shape.lengths().iter().rev());
    for target in [forth, back].into_iter().take(1 + usize::from(is_mirrored)) {
        let maps_of = (0..axes as u32).collect();
        let transform = Transform { target, maps: maps_of, ..Transform::default() };
        for engine in SimdLevel::ALL {
            let Some(mut kernel) = engine.kernel(shape) else { continue };
            let kernel: &mut dyn Kernel = &mut *kernel;
            let mut packed = vec![0; shape.packed_bytes() as usize];
            kernel.clear();
            kernel.pull(bits(stored), &transform, &maps);
            let found = kernel.pack(&mut packed);
            assert_eq!(found as usize, stored.positions().count(), "{engine:?}");
            kernel.subtract(bits(stored));
        }
    }
}

/// Selects a shape by the first byte; returns the shape and the remaining bytes.
fn shape_and_rest(bytes: &[u8]) -> Option<(Shape, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let mut shapes = shapes();
    let which = usize::from(*first) % shapes.len();
    Some((shapes.swap_remove(which), rest))
}

/// Opens a layer file whose checksums are all valid: the input is what follows the header, and the header
/// matches it. The first byte selects the shape.
///
/// # Panics
/// If an accepted coset has states outside the shape, or an error does not report damage.
pub fn layer_file(bytes: &[u8]) {
    let Some((shape, rest)) = shape_and_rest(bytes) else { return };
    let identity = identity(&shape);
    // The file has room for the directory, and for the bytes after the last data that a reader may touch.
    let length = (HEADER + rest.len()).max(HEADER + 56 * COSETS as usize + 64);
    let mut file = vec![0; length];
    file[..HEADER].copy_from_slice(&header_of(&identity, length as u64));
    file[HEADER..HEADER + rest.len()].copy_from_slice(rest);
    reseal(&mut file);
    let directory = crate::tempdir().expect("a temporary directory");
    let path = directory.path().join("layer");
    fs::write(&path, &file).expect("the file can be written");
    match LayerFile::open(&path, &identity) {
        Err(error) => assert!(error.is_damage(), "{error}"),
        Ok(file) => (0..COSETS).for_each(|coset| match file.coset(coset) {
            Ok(stored) => harmless(&shape, &stored),
            Err(error) => assert!(error.is_damage(), "{error}"),
        }),
    }
}

/// Imports cosets from a peer. The input is a chunk as sent over the wire, or as it is after decompression;
/// each coset is also imported with a number of states that matches its bits. The first byte selects the
/// shape. Memory holds one coset, and the others go to disk.
///
/// # Panics
/// If an accepted coset is harmful, or an error does not report damage.
pub fn imports(bytes: &[u8]) {
    let Some((shape, rest)) = shape_and_rest(bytes) else { return };
    let unpacked = chunk::decompress(rest, shape.packed_bytes() as usize);
    let cosets = unpacked.as_deref().unwrap_or(rest);
    let directory = crate::tempdir().expect("a temporary directory");
    let memory = Arc::new(ImportMemory::new(u64::from(shape.packed_bytes()) + 128));
    let imports = Imports::new(directory.path(), COSETS, identity(&shape).tensor(), memory);
    for Coset { number: coset, encoding, states, canonical } in chunk::cosets(cosets).map_while(Result::ok) {
        let found = match encoding {
            Encoding::Sparse => canonical.len() as u32 / 4,
            _ => canonical.iter().map(|byte| byte.count_ones()).sum(),
        };
        for states in [states, found] {
            match imports.push(&[Import { coset, encoding, states, canonical }]) {
                Ok(()) => harmless(&shape, &imports.coset(coset).expect("an accepted coset is stored")),
                Err(error) => assert!(error.is_damage(), "{error}"),
            }
        }
    }
}

/// Decodes messages of peers: another host must decode a converted message to the same value.
///
/// # Panics
/// If an accepted message changes when it is converted back.
pub fn wire(bytes: &[u8]) {
    let cut = ShardCut::new(7, 2).expect("seven cosets make two shards");
    let geometry = Geometry { cut, fingerprint: [7; 32], packed_bytes: 41, row_bits: 8, dense_bytes: 7 * 41 };
    if let Ok(message) = v1::Outcome::decode(bytes)
        && let Ok(outcome) = convert::outcome(message, &geometry)
    {
        let again = convert::outcome(outcome.clone().into(), &geometry);
        assert_eq!(again.as_ref(), Ok(&outcome));
    }
    if let Ok(message) = v1::Failure::decode(bytes)
        && let Ok(failure) = convert::failure(message, &geometry)
    {
        assert!(failure.to_string().chars().all(|c| !c.is_control()), "{failure:?}");
    }
    if let Ok(message) = v1::File::decode(bytes)
        && let Ok(task) = convert::file(Some(&message), &geometry)
    {
        assert_eq!(v1::File::from(task), message);
    }
    if let Ok(v1::LookUpRequest { places, words, .. }) = v1::LookUpRequest::decode(bytes)
        && let Ok(places) = convert::looked_up(&places, &words, ShardId(1), &geometry)
    {
        let is_there = |&(coset, position): &(u32, u32)| (3..7).contains(&coset) && position < 8 * 41;
        assert!(places.iter().all(is_there) && places.len().max(words.len()) <= 4096, "{places:?}");
    }
    let _ = convert::worker_id(bytes);
    let _ = convert::digest("checksum", bytes);
}

/// Reads a file `run.toml`: it must be written again identically, and with the right fingerprint it becomes a
/// run or is refused.
///
/// # Panics
/// If the file reads differently after it was written.
pub fn run_toml(bytes: &[u8]) {
    let Ok(mut manifest) = RunManifest::from_toml(&String::from_utf8_lossy(bytes)) else { return };
    assert_eq!(RunManifest::from_toml(&manifest.to_toml()).as_ref().ok(), Some(&manifest));
    if !is_small(&manifest.spec.source) {
        return;
    }
    let SpaceSpec { source, metric, labels } = manifest.spec.clone();
    let Ok(puzzle) = source.unsearched(metric) else { return };
    let RunPlan::Cosets(plan) = &mut manifest.plan else { return };
    let Ok(space) = Space::open(puzzle, metric, labels, &plan.encoding) else { return };
    let Ok(colouring) = plan.colouring(&space) else { return };
    plan.fingerprint = Digest(fingerprint(&space, &colouring));
    if let Ok((space, colouring)) = manifest.open() {
        let _ = Geometry::new(&manifest, &space, &colouring);
    }
}

/// Returns whether a space of the puzzle is set up in milliseconds.
fn is_small(source: &PuzzleSpec) -> bool {
    match source {
        PuzzleSpec::Board(board) => board.cells() <= 9,
        PuzzleSpec::Defined(definition) => {
            let points: usize = definition.orientation_counts().into_iter().map(usize::from).sum();
            let generators = definition.moves().len() + definition.free().len();
            points <= 24 && generators <= 8
        }
    }
}

/// Reads a file in Fathom's own format.
pub fn load_toml(bytes: &[u8]) {
    load(bytes, Format::Toml);
}

/// Reads a file in GAP's format.
pub fn load_gap(bytes: &[u8]) {
    load(bytes, Format::Gap);
}

/// Reads a file of ksolve or twsearch.
pub fn load_ksolve(bytes: &[u8]) {
    load(bytes, Format::Ksolve);
}

/// Reads a file of cubing.js.
pub fn load_kpuzzle(bytes: &[u8]) {
    load(bytes, Format::Kpuzzle);
}

/// Reads a file, writes it in Fathom's own format, and reads it again, which must return the same puzzle. A
/// small puzzle becomes a space or is refused.
fn load(bytes: &[u8], format: Format) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(definition) = load::parse(&text, format, "fuzz") else { return };
    let own = definition.to_toml();
    let again: Option<Definition> = load::parse(&own, Format::Toml, "again").ok();
    assert_eq!(again.as_ref(), Some(&definition), "{own}");
    let source = PuzzleSpec::Defined(Box::new(definition));
    if is_small(&source) {
        let labels = Labels::from_values(source.solved());
        let metric = source.metric();
        let _ = SpaceSpec { source, metric, labels }.space();
    }
}
