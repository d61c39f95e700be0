//! `cosets.bin`: the tables of a run's cosets, saved so that a run resumes sooner. They are saved only if
//! building them takes long.
//!
//! The numbers are little-endian. The file has `FATHOMC1`, the run's fingerprint (32 bytes), the number of
//! patterns and of representatives (8 bytes each), the rank of each representative's pattern (8 bytes each),
//! the size of each representative's orbit (4 bytes each), the pattern table (4 bytes a pattern), and the
//! BLAKE3 hash of all that. If the file is missing or damaged, the tables are built again.

use crate::run::RunError;
use bytesize::ByteSize;
use fathom_layer::writer::temporary;
use fathom_layer::{Digest, Disk, DiskFile, free_bytes, open_regular};
use fathom_space::{Colouring, CosetError, CosetGraph, CosetTables, Space};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use tracing::warn;

const NAME: &str = "cosets.bin";
const MAGIC: &[u8; 8] = b"FATHOMC1";

/// The smallest number of patterns for which tables are saved. Tables of fewer patterns are built in about
/// the time that it takes to write and sync a file.
pub const PATTERNS_WORTH_KEEPING: u64 = 1 << 15;

/// The number of bytes that are read or written in one call.
const PIECE: usize = 1 << 20;

/// The reason why saved tables cannot be used, or tables cannot be saved. Neither ends the search, which
/// builds its tables again.
#[derive(Debug, thiserror::Error)]
enum TablesError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is not a file of tables, or was written by an incompatible version")]
    NoTables,
    #[error("it belongs to another run")]
    OtherRun,
    #[error("it has {patterns} patterns and {representatives} representatives")]
    Size { patterns: u64, representatives: u64 },
    #[error("it has checksum {got}, but {expected} is expected")]
    Checksum { expected: Digest, got: Digest },
    #[error(transparent)]
    Cosets(#[from] CosetError),
    #[error("they take {:.2}, but most of the {:.2} free space is for layers", ByteSize(*bytes), ByteSize(*free))]
    NoRoom { bytes: u64, free: u64 },
}

/// Returns the coset graph of a run: from the tables in the run's directory, or built again. A new graph's
/// tables are saved there, unless that fails.
///
/// # Errors
/// If there are more cosets than the tables can address.
pub fn cosets(
    run: &Path,
    fingerprint: Digest,
    space: &Space,
    colouring: &Colouring,
    disk: &dyn Disk,
) -> Result<CosetGraph, RunError> {
    if let Some(graph) = kept(run, fingerprint, space, colouring) {
        return Ok(graph);
    }
    let graph = CosetGraph::build(space, colouring)?;
    keep(run, fingerprint, &graph, disk);
    Ok(graph)
}

/// Writes the tables of a coset graph to the directory of a run, if they have at least
/// [`PATTERNS_WORTH_KEEPING`] patterns. A failure is only logged.
pub fn keep(run: &Path, fingerprint: Digest, graph: &CosetGraph, disk: &dyn Disk) {
    if CosetGraph::table_entries(graph.space(), graph.colouring()) >= PATTERNS_WORTH_KEEPING
        && let Err(error) = write(run, fingerprint, graph, disk)
    {
        let path = run.join(NAME);
        warn!(%error, path = %path.display(), "cannot save the coset tables");
    }
}

/// Returns the coset graph of a run for a process that only reads: from the tables in the run's directory, or
/// built again and not saved.
///
/// # Errors
/// If there are more cosets than the tables can address.
pub fn cosets_for_reading(
    run: &Path,
    fingerprint: Digest,
    space: &Space,
    colouring: &Colouring,
) -> Result<CosetGraph, RunError> {
    match kept(run, fingerprint, space, colouring) {
        Some(graph) => Ok(graph),
        None => Ok(CosetGraph::build(space, colouring)?),
    }
}

/// Returns the coset graph from the tables in the run's directory, if they exist and are intact.
fn kept(run: &Path, fingerprint: Digest, space: &Space, colouring: &Colouring) -> Option<CosetGraph> {
    let path = run.join(NAME);
    if CosetGraph::table_entries(space, colouring) < PATTERNS_WORTH_KEEPING || !path.exists() {
        return None;
    }
    let kept = read(&path, fingerprint, colouring)
        .and_then(|tables| Ok(CosetGraph::from_tables(space, colouring, tables)?));
    kept.inspect_err(|error| warn!(%error, path = %path.display(), "cannot use the saved coset tables; building them again")).ok()
}

fn read(path: &Path, fingerprint: Digest, colouring: &Colouring) -> Result<CosetTables, TablesError> {
    let (file, _) = open_regular(path)?;
    let mut file = Hashed { inner: BufReader::with_capacity(PIECE, file), hasher: blake3::Hasher::new() };
    if file.bytes::<8>()? != *MAGIC {
        return Err(TablesError::NoTables);
    }
    if file.bytes()? != fingerprint.0 {
        return Err(TablesError::OtherRun);
    }
    let (patterns, representatives) = (u64::from_le_bytes(file.bytes()?), u64::from_le_bytes(file.bytes()?));
    if patterns != colouring.patterns().total() || representatives > patterns {
        return Err(TablesError::Size { patterns, representatives });
    }
    let representatives = representatives as usize;
    let tables = CosetTables {
        representatives: file.numbers(representatives, u64::from_le_bytes)?,
        orbit_sizes: file.numbers(representatives, u32::from_le_bytes)?,
        table: file.numbers(patterns as usize, u32::from_le_bytes)?,
    };
    let got = file.hasher.finalize();
    let mut expected = [0; 32];
    file.inner.read_exact(&mut expected)?;
    if *got.as_bytes() != expected {
        return Err(TablesError::Checksum { expected: Digest(expected), got: Digest(*got.as_bytes()) });
    }
    Ok(tables)
}

/// A file whose bytes are hashed as they are read.
struct Hashed {
    inner: BufReader<File>,
    hasher: blake3::Hasher,
}

impl Hashed {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn numbers<T, const N: usize>(&mut self, count: usize, number: fn([u8; N]) -> T) -> io::Result<Box<[T]>> {
        let mut numbers = Vec::with_capacity(count);
        let mut piece = vec![0; (N * count).min(PIECE)];
        while numbers.len() < count {
            let left = N * (count - numbers.len());
            let bytes = &mut piece[..left.min(PIECE)];
            self.fill(bytes)?;
            numbers.extend(bytes.as_chunks().0.iter().map(|&bytes| number(bytes)));
        }
        Ok(numbers.into())
    }
}

fn write(run: &Path, fingerprint: Digest, graph: &CosetGraph, disk: &dyn Disk) -> Result<(), TablesError> {
    let temporary = temporary(&run.join(NAME));
    let written = write_to(&temporary, fingerprint, graph, disk).and_then(|()| {
        disk.rename(&temporary, &run.join(NAME))?;
        Ok(disk.sync_directory(run)?)
    });
    if written.is_err() {
        // The unfinished file is deleted, because layers need the space more.
        let _ = disk.remove(&temporary);
    }
    written
}

fn write_to(
    temporary: &Path,
    fingerprint: Digest,
    graph: &CosetGraph,
    disk: &dyn Disk,
) -> Result<(), TablesError> {
    let (table, representatives, orbit_sizes) = graph.tables();
    let bytes = 4 * table.len() as u64 + 12 * representatives.len() as u64;
    let free = free_bytes(temporary)?;
    if free / 2 < bytes {
        return Err(TablesError::NoRoom { bytes, free });
    }
    let mut file = Pieces::new(disk.create(temporary)?);
    file.push(MAGIC)?;
    file.push(&fingerprint.0)?;
    file.push(&(table.len() as u64).to_le_bytes())?;
    file.push(&(representatives.len() as u64).to_le_bytes())?;
    for rank in representatives {
        file.push(&rank.to_le_bytes())?;
    }
    for number in orbit_sizes.iter().chain(table) {
        file.push(&number.to_le_bytes())?;
    }
    Ok(file.finish()?)
}

/// A file whose bytes are collected into large pieces, hashed, and written.
struct Pieces {
    file: Box<dyn DiskFile>,
    hasher: blake3::Hasher,
    piece: Vec<u8>,
    offset: u64,
}

impl Pieces {
    fn new(file: Box<dyn DiskFile>) -> Self {
        Self { file, hasher: blake3::Hasher::new(), piece: Vec::with_capacity(PIECE + 64), offset: 0 }
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() < PIECE { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.piece);
        self.file.write_at(&self.piece, self.offset)?;
        self.offset += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.write_at(self.hasher.finalize().as_bytes(), self.offset)?;
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_layer::LocalDisk;
    use fathom_puzzle::{Board, Metric};
    use fathom_space::{CosetId, Labels, Plan};

    fn small() -> (Space, Colouring) {
        let board: Board = "3x4".parse().unwrap();
        let space = Space::new(board.puzzle(Metric::Multi), Metric::Multi, Labels::distinct(12)).unwrap();
        let colouring = Plan::new(&space).unwrap().colouring;
        (space, colouring)
    }

    #[test]
    fn saved_tables_give_the_same_graph() {
        let (space, colouring) = small();
        let directory = tempfile::tempdir().unwrap();
        let fingerprint = Digest([7; 32]);
        let graph = CosetGraph::build(&space, &colouring).unwrap();
        write(directory.path(), fingerprint, &graph, &LocalDisk).unwrap();
        let tables = read(&directory.path().join(NAME), fingerprint, &colouring).unwrap();
        let again = CosetGraph::from_tables(&space, &colouring, tables).unwrap();
        assert_eq!(again.len(), graph.len());
        for coset in (0..graph.len()).map(CosetId) {
            assert_eq!(again.pattern(coset), graph.pattern(coset));
            assert_eq!(again.orbit_size(coset), graph.orbit_size(coset));
            (0..space.moves().len())
                .for_each(|mv| assert_eq!(again.source(coset, mv), graph.source(coset, mv)));
        }
    }

    #[test]
    fn damaged_and_foreign_tables_are_refused() {
        let (space, colouring) = small();
        let directory = tempfile::tempdir().unwrap();
        let fingerprint = Digest([7; 32]);
        let path = directory.path().join(NAME);
        write(directory.path(), fingerprint, &CosetGraph::build(&space, &colouring).unwrap(), &LocalDisk)
            .unwrap();
        assert!(read(&path, Digest([8; 32]), &colouring).unwrap_err().to_string().contains("another run"));
        let whole = std::fs::read(&path).unwrap();
        for damage in 0..whole.len() / 997 {
            let mut bytes = whole.clone();
            bytes[damage * 997] ^= 4;
            std::fs::write(&path, &bytes).unwrap();
            assert!(read(&path, fingerprint, &colouring).is_err(), "byte {}", damage * 997);
        }
        for length in [0, 7, 40, 60, 1000, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path, fingerprint, &colouring).is_err(), "{length} bytes");
        }
    }
}
