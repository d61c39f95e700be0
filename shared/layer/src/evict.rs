//! Eviction: the pages of many parts of maps are released to the system in one call.
//!
//! The page cache keeps pages that a process has mapped. To unmap them, the system must interrupt all other
//! threads of the process, which then flush their address translations. One interruption suffices for many
//! parts if they are unmapped in one call.

use crate::map::Map;
use std::io::IoSlice;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// A range of pages of a map.
#[derive(Clone, Debug)]
pub struct Part<'m> {
    map: &'m Map,
    /// From the start of a page to the end of one, or to the end of the map.
    bytes: Range<usize>,
}

impl<'m> Part<'m> {
    /// Returns the pages that contain these bytes of a map. The first and the last page may contain other
    /// bytes as well: `but_first` and `but_last` omit them if they do.
    pub fn new(map: &'m Map, bytes: Range<usize>, but_first: bool, but_last: bool) -> Self {
        let page = rustix::param::page_size();
        let start = if but_first { bytes.start.next_multiple_of(page) } else { bytes.start / page * page };
        let end = if but_last { bytes.end / page * page } else { bytes.end.next_multiple_of(page) };
        let end = end.min(map.bytes().len());
        Self { map, bytes: start.min(end)..end }
    }

    fn pages(&self) -> &'m [u8] {
        &self.map.bytes()[self.bytes.clone()]
    }
}

/// Asks the operating system to evict parts of maps; the next read of each gets it from disk. Maps that were
/// not [kept open](Map::file) are evicted by a slower call.
pub fn evict(parts: &[Part<'_>]) {
    // For the system, a length of 0 means everything.
    let parts = parts.iter().filter(|part| !part.bytes.is_empty());
    let (open, closed): (Vec<_>, Vec<_>) = parts.partition(|part| part.map.file().is_some());
    for part in closed {
        let pages = part.pages();
        let advice = rustix::mm::Advice::LinuxPageOut;
        // SAFETY: the range is inside a live map and starts at a page, and the call does not change its
        // contents.
        let _ = unsafe { rustix::mm::madvise(pages.as_ptr().cast_mut().cast(), pages.len(), advice) };
    }
    unmap(&open);
    for part in open {
        let Some(file) = part.map.file() else { continue };
        // The system evicts only whole pages of the range, and the last page of a file counts as whole.
        let length = NonZeroU64::new(part.bytes.len() as u64);
        // If the advice is ignored, it costs only memory.
        let _ = rustix::fs::fadvise(file, part.bytes.start as u64, length, rustix::fs::Advice::DontNeed);
    }
}

/// The calling thread, where a descriptor of a process is asked for (Linux 6.14 and later).
const PIDFD_SELF: libc::c_int = -10_000;

/// Whether the system unmaps many ranges in one call, as far as is known.
static TOGETHER: AtomicBool = AtomicBool::new(true);

/// Removes pages from the address space; reading them maps them again.
fn unmap(parts: &[&Part<'_>]) {
    /// The largest number of ranges of one call (`UIO_MAXIOV`).
    const MOST: usize = 1024;
    for parts in parts.chunks(MOST) {
        let pages: Vec<_> = parts.iter().map(|part| IoSlice::new(part.pages())).collect();
        if TOGETHER.load(Ordering::Relaxed) {
            // SAFETY: the ranges are inside live maps of files and start at pages, and an `IoSlice` has the
            // layout of an `iovec`. The call does not change the contents of the maps: a removed page is read
            // from the file again.
            let done = unsafe {
                libc::syscall(
                    libc::SYS_process_madvise,
                    PIDFD_SELF,
                    pages.as_ptr(),
                    pages.len(),
                    libc::MADV_DONTNEED,
                    0,
                )
            };
            if done >= 0 {
                continue;
            }
            // Systems before Linux 6.14 refuse, which is tried once.
            TOGETHER.store(false, Ordering::Relaxed);
        }
        for pages in pages {
            let advice = rustix::mm::Advice::LinuxDontNeed;
            // SAFETY: as above.
            let _ = unsafe { rustix::mm::madvise(pages.as_ptr().cast_mut().cast(), pages.len(), advice) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Returns, for each page of a map, whether it is in memory.
    fn in_memory(map: &Map) -> Vec<bool> {
        let bytes = map.bytes();
        let mut pages = vec![0u8; bytes.len().div_ceil(rustix::param::page_size())];
        // SAFETY: the range is a live map, and there is a byte for each of its pages.
        let result =
            unsafe { libc::mincore(bytes.as_ptr().cast_mut().cast(), bytes.len(), pages.as_mut_ptr()) };
        assert_eq!(result, 0);
        pages.into_iter().map(|page| page & 1 == 1).collect()
    }

    /// Maps a file of eight pages and two bytes, and evicts the parts of some ranges of its bytes.
    fn evicted(keep_open: bool, ranges: &[(Range<usize>, bool, bool)]) -> Vec<usize> {
        let page = rustix::param::page_size();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..8 * page + 2).map(|at| (at / page) as u8 + 1).collect();
        file.write_all(&bytes).unwrap();
        file.as_file().sync_all().unwrap();
        let mut map = Map::open(file.path()).unwrap();
        if !keep_open {
            map.close();
        }
        map.read_no_more_than_asked();
        // A file that was just written is in memory in larger pieces.
        evict(&[Part::new(&map, 0..bytes.len(), false, false)]);
        map.will_need(0..bytes.len());
        assert_eq!(map.bytes(), bytes);
        assert!(in_memory(&map).iter().all(|&is_in| is_in));
        let part = |(range, but_first, but_last): &(Range<usize>, bool, bool)| {
            Part::new(&map, range.start * page / 2..range.end * page / 2, *but_first, *but_last)
        };
        let mut parts: Vec<_> = ranges.iter().map(part).collect();
        // A range that starts in the last page shares this page.
        parts.push(Part::new(&map, bytes.len() - 1..bytes.len(), true, false));
        evict(&parts);
        let gone = in_memory(&map).iter().zip(0..).filter(|(is_in, _)| !**is_in).map(|(_, at)| at).collect();
        assert_eq!(map.bytes(), bytes, "what was evicted is read again");
        // Files in a memory file system cannot be evicted.
        let is_in_memory = rustix::fs::fstatfs(file.as_file()).unwrap().f_type == libc::TMPFS_MAGIC;
        if is_in_memory { Vec::new() } else { gone }
    }

    #[test]
    fn evicted_parts_can_be_read_again() {
        // In units of half a page.
        let ranges = [(3..6, false, false), (9..13, true, false), (14..16, false, false)];
        for (keep_open, together) in [(true, true), (true, false), (false, true)] {
            TOGETHER.store(together, Ordering::Relaxed);
            let gone = evicted(keep_open, &ranges);
            assert!(gone.is_empty() || gone == [1, 2, 5, 6, 7], "{keep_open}: {gone:?}");
        }
        let ends = [(1..3, true, true), (4..7, false, true), (15..17, false, true)];
        let gone = evicted(true, &ends);
        assert!(gone.is_empty() || gone == [2, 7], "{gone:?}");
    }
}
