//! Layer files, and cosets from peers, with valid checksums and invalid contents: they are refused, and
//! accepted ones do no harm in any kernel.

use fathom_layer::{Encoding, Import, ImportMemory, Imports, LayerFile, LayerWriter, LocalDisk, Totals};
use fathom_space::Shape;
use fathom_tests::forge::reseal;
use fathom_tests::fuzz::{COSETS, harmless, identity, shapes};
use proptest::prelude::*;
use std::fs;
use std::sync::Arc;

/// Writes a file with an empty coset, one with a few states, and one with many.
fn write(path: &std::path::Path, shape: &Shape) -> Vec<u8> {
    let mut writer = LayerWriter::create(&LocalDisk, path, identity(shape)).unwrap();
    let mut stored = 0;
    for one_in in [u32::MAX, 300, 2] {
        let mut packed = vec![0; shape.packed_bytes() as usize];
        let mut states = 0;
        for (position, number) in shape.positions().zip(1_u32..) {
            if number.is_multiple_of(one_in) {
                packed[position as usize / 8] |= 1 << (position % 8);
                states += 1;
            }
        }
        stored += u64::from(states);
        writer.push(&packed, states, states).unwrap();
    }
    writer.finish(Totals { stored, ..Totals::default() }).unwrap();
    fs::read(path).unwrap()
}

/// A change to a file: to a byte of the data, or to the directory's record of the data.
#[derive(Clone, Debug)]
enum Change {
    Data(prop::sample::Index, u8),
    Entry(u32, usize, u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let data = (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Data(at, byte));
    let entry = (0..COSETS, 0_usize..24, 0..6_u8);
    let entry = entry.prop_map(|(coset, at, byte)| Change::Entry(coset, at, byte));
    proptest::collection::vec(prop_oneof![4 => data, 1 => entry], 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn files_with_valid_checksums_are_refused_or_harmless(
        which in 0..shapes().len(), changes in changes()
    ) {
        let shape = shapes().swap_remove(which);
        let directory = fathom_tests::tempdir().unwrap();
        let path = directory.path().join("layer");
        let mut bytes = write(&path, &shape);
        let data = 256 + 56 * COSETS as usize;
        for change in changes {
            match change {
                Change::Data(at, byte) => {
                    let at = data + at.index(bytes.len() - data);
                    bytes[at] = byte;
                }
                Change::Entry(coset, at, byte) => bytes[256 + 56 * coset as usize + at] = byte,
            }
        }
        reseal(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        if let Ok(file) = LayerFile::open(&path, &identity(&shape)) {
            for coset in 0..COSETS {
                match file.coset(coset) {
                    Ok(stored) => harmless(&shape, &stored),
                    Err(error) => prop_assert!(error.is_damage(), "{}", error),
                }
            }
        }
    }

    #[test]
    fn cosets_from_peers_are_refused_or_harmless(
        which in 0..shapes().len(),
        positions in proptest::collection::btree_set(any::<u32>(), 1..4),
        (at, byte) in (any::<prop::sample::Index>(), any::<u8>()),
        most in prop::sample::select(&[0, u64::MAX][..]),
    ) {
        let shape = shapes().swap_remove(which);
        let directory = fathom_tests::tempdir().unwrap();
        let memory = Arc::new(ImportMemory::new(most));
        let imports = Imports::new(directory.path(), 2, identity(&shape).tensor(), memory);
        let within = shape.packed_bytes() * 8;
        let mut sparse: Vec<u32> = positions.into_iter().map(|position| position % within).collect();
        sparse.sort_unstable();
        sparse.dedup();
        let sparse: Vec<u8> = sparse.iter().flat_map(|position| position.to_le_bytes()).collect();
        let mut dense = vec![0; shape.packed_bytes() as usize];
        let at = at.index(dense.len());
        dense[at] = byte;
        for (coset, encoding, states, canonical) in [
            (0, Encoding::Sparse, sparse.len() as u32 / 4, &sparse),
            (1, Encoding::Dense, byte.count_ones(), &dense),
        ] {
            match imports.push(&[Import { coset, encoding, states, canonical }]) {
                Ok(()) => harmless(&shape, &imports.coset(coset).unwrap()),
                Err(error) => prop_assert!(error.is_damage() && !imports.holds(coset), "{}", error),
            }
        }
    }
}

/// Sets a bit after each row in turn, in a list and in a tensor, as long as there are such bits.
#[test]
fn bits_after_a_row_are_refused() {
    for shape in shapes() {
        let tensor = identity(&shape).tensor();
        let row = shape.row_bytes() * 8;
        for position in (0..shape.packed_bytes() * 8).filter(|position| position % row >= shape.row_bits()) {
            let refusal = Encoding::Sparse.check(&position.to_le_bytes(), 1, tensor).unwrap_err();
            assert!(refusal.contains("beyond the end of a row"), "{refusal}");
            let mut packed = vec![0; shape.packed_bytes() as usize];
            packed[position as usize / 8] |= 1 << (position % 8);
            let refusal = Encoding::Dense.check(&packed, 1, tensor).unwrap_err();
            assert!(refusal.contains("beyond the end of a row"), "{refusal}");
        }
        let all: Vec<u8> = shape.positions().flat_map(u32::to_le_bytes).collect();
        let states = shape.bits() as u32;
        assert_eq!(Encoding::Sparse.check(&all, states, tensor), Ok(()));
    }
}
