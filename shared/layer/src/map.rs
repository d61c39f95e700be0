//! Read-only memory maps of finished files, advice about them, and a clear error when the disk fails under
//! one.
//!
//! A map is sound as long as the bytes of the file do not change. Fathom ensures this for its own writes: a
//! file is written under a name that no other writer has, and never again once it has its final name. There
//! is no protection from other programs. If one of them shortens the file, reading ends the process, except
//! on the page with the new end, whose rest then reads as zeros. If one writes to the file in place, a coset
//! whose checksum was compared before the change is read with the change: only the first read of a coset
//! through a map compares the checksum. The [`Stamp`] of a file shows that another program has changed or
//! replaced it: when the file is requested again, and before any result computed from it is used.
//!
//! Reading a mapped page can fail long after the file was opened: the disk is bad, a network file system is
//! gone, or another program has truncated the file. The kernel then sends SIGBUS. [`report_faults`] installs
//! a handler that names the file and exits with status 1, instead of a core dump without a message.

use crate::disk::many_descriptors;
use crate::regular_file::open_regular;
use memmap2::Mmap;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

/// The bytes of a mapped file.
#[derive(Debug)]
pub struct Map {
    map: Mmap,
    stamp: Stamp,
    slot: Option<&'static Slot>,
    file: Option<Kept>,
}

/// A file that stays open together with its map.
#[derive(Debug)]
struct Kept(File);

/// The number of files that are kept open.
static KEPT: AtomicUsize = AtomicUsize::new(0);

impl Kept {
    /// Keeps a file open, unless [many](many_descriptors) are open already.
    fn new(file: File) -> Option<Self> {
        static MOST: LazyLock<usize> = LazyLock::new(many_descriptors);
        let kept = |kept| (kept < *MOST).then_some(kept + 1);
        KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, kept).is_ok().then(|| Self(file))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Map {
    /// Maps a whole file.
    ///
    /// # Errors
    /// The error of the operating system, or an error if the path is not a regular file or its length
    /// changes.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (file, is) = open_regular(path)?;
        // SAFETY: the bytes of a map must not change while the map lives. Only finished files are mapped, and
        // Fathom never writes to a file that has its final name: it replaces or removes the name, which does
        // not change the mapped file. That no other program writes to the file is a requirement on the user
        // of Fathom, which cannot be enforced here: a change of bytes after their checksum was compared is
        // detected only when the file's stamp is compared. If the file is shortened, reads beyond its end
        // fault, which ends the process (see `report_faults`).
        let map = unsafe { Mmap::map(&file)? };
        if map.len() as u64 != file.metadata()?.len() {
            return Err(io::Error::other("its length changed while it was being opened"));
        }
        let slot = Slot::take(&map, path);
        Ok(Self { map, stamp: Stamp::from(&is), slot, file: Kept::new(file) })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns whether the file at a path is the one that is mapped.
    pub fn is_at(&self, path: &Path) -> bool {
        Stamp::new(path).is_ok_and(|stamp| stamp == self.stamp)
    }

    /// Returns whether a program has written to the mapped file since it was mapped. If the file was [kept
    /// open](Self::file), this works whatever has happened to its name; otherwise only as long as the file is
    /// at its path.
    pub fn has_changed(&self, path: &Path) -> bool {
        let now = match &self.file {
            Some(Kept(file)) => file.metadata().map(|is| Stamp::from(&is)),
            None => Stamp::new(path),
        };
        now.is_ok_and(|now| now.is_changed(&self.stamp))
    }

    /// Returns the stamp of the file when it was mapped.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the file, if it was kept open. It is if the process has enough descriptors left for other
    /// files.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref().map(|Kept(file)| file)
    }

    /// Closes the file. The map stays.
    #[cfg(test)]
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// Disables read-ahead: without this advice, reading a page from disk also reads its surroundings.
    pub fn read_no_more_than_asked(&self) {
        // If the advice is ignored, it costs only time.
        let _ = self.map.advise(memmap2::Advice::Random);
    }

    /// Starts reading these bytes into the page cache, without waiting.
    pub fn will_need(&self, bytes: Range<usize>) {
        // If the advice is ignored, it costs only time.
        let _ = self.map.advise_range(memmap2::Advice::WillNeed, bytes.start, bytes.len());
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.release();
        }
    }
}

/// The identity and version of the file at a path, according to the file system. Another file, other contents
/// or another length have a different stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    file: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of the file that is currently at a path.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&std::fs::metadata(path)?))
    }

    /// Changes the stamp of the file at a path, so that the process that wrote the file learns from
    /// [`Stamp::has_stayed`] that others use it. The modification time is increased by the first of 1 ns, 1
    /// μs and 1 s that the file system records.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn claim(path: &Path) -> io::Result<()> {
        let (file, is) = open_regular(path)?;
        let modified = is.modified()?;
        for later in [Duration::from_nanos(1), Duration::from_micros(1), Duration::from_secs(1)] {
            file.set_modified(modified + later)?;
            if file.metadata()?.modified()? != modified {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether the contents of this file were written after the last change of another one, of any
    /// kind: setting times back also changes the inode.
    pub fn is_later_than(&self, other: &Self) -> bool {
        self.modified > other.changed
    }

    /// Returns whether this is the file with that earlier stamp, not written to since.
    pub fn has_stayed(&self, earlier: &Self) -> bool {
        (self.device, self.file) == (earlier.device, earlier.file) && !self.is_changed(earlier)
    }

    /// Returns whether this is the file with that earlier stamp, written to since. A change of its names or
    /// permissions is not a change of its contents.
    fn is_changed(&self, earlier: &Self) -> bool {
        (self.device, self.file) == (earlier.device, earlier.file)
            && (self.bytes, self.modified) != (earlier.bytes, earlier.modified)
    }
}

impl From<&Metadata> for Stamp {
    fn from(is: &Metadata) -> Self {
        Self {
            device: is.dev(),
            file: is.ino(),
            bytes: is.size(),
            modified: (is.mtime(), is.mtime_nsec()),
            changed: (is.ctime(), is.ctime_nsec()),
        }
    }
}

/// The address range of a map, in a place where the signal handler finds it without locks or allocation.
#[derive(Debug)]
struct Slot {
    /// The start address; 0 if the slot is free, 1 while it is being filled.
    start: AtomicUsize,
    end: AtomicUsize,
    path: AtomicPtr<libc::c_char>,
}

/// Further maps work, but a fault in one of them is reported without the file's name.
const SLOTS: usize = 8192;

static MAPS: [Slot; SLOTS] = [const {
    Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), path: AtomicPtr::new(ptr::null_mut()) }
}; SLOTS];

impl Slot {
    fn take(map: &Mmap, path: &Path) -> Option<&'static Self> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        let slot = MAPS
            .iter()
            .find(|slot| slot.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok())?;
        let start = map.as_ptr() as usize;
        slot.path.store(name.into_raw(), Ordering::Release);
        slot.end.store(start + map.len(), Ordering::Release);
        slot.start.store(start, Ordering::Release);
        Some(slot)
    }

    fn release(&self) {
        self.end.store(0, Ordering::Release);
        let path = self.path.swap(ptr::null_mut(), Ordering::AcqRel);
        self.start.store(0, Ordering::Release);
        // SAFETY: `path` came from `CString::into_raw` in `take`, and the swap makes this the only owner. The
        // handler holds the pointer only while another thread reads a map that is still alive, and this map
        // is being dropped.
        drop(unsafe { CString::from_raw(path) });
    }
}

/// Changes how this process reacts to two signals. A fault in a mapped file ends the process with a message
/// on standard error and exit status 1. A write beyond the file size limit of the process returns an error
/// instead of ending the process without a message.
///
/// # Errors
/// The error of the operating system.
pub fn report_faults() -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is a valid value; the handler has the signature that SA_SIGINFO
    // requires, and calls only async-signal-safe functions.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
    };
    // SAFETY: ignoring a signal is valid, and this process has no handler for SIGXFSZ.
    let ignored = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let result = if ignored == libc::SIG_ERR { -1 } else { result };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo, and SIGBUS carries an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let in_map = MAPS.iter().find(|slot| {
        let (start, end) = (slot.start.load(Ordering::Acquire), slot.end.load(Ordering::Acquire));
        start > 1 && (start..end).contains(&address)
    });
    let say = |text: &[u8]| {
        // SAFETY: write(2) is async-signal-safe, and the slice is valid.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    };
    match in_map {
        Some(slot) => {
            let path = slot.path.load(Ordering::Acquire);
            say(b"error: reading ");
            if !path.is_null() {
                // SAFETY: the slot is in use, so `path` is the valid C string that `take` stored.
                say(unsafe { std::slice::from_raw_parts(path.cast(), libc::strlen(path)) });
            }
            say(b" failed: the disk has a fault, or the file was shortened while it was in use; check the disk, \
                then run 'fathom verify' on the run directory\n");
            // SAFETY: _exit(2) is async-signal-safe.
            unsafe { libc::_exit(1) };
        }
        None => {
            // The fault is not in a map: the default action ends the process when the instruction faults
            // again.
            // SAFETY: signal(2) is async-signal-safe.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
