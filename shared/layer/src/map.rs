//! Read-only memory maps of finished files, advice about them, and a clear end when the disk fails under one.
//!
//! A map is sound as long as nobody changes the bytes of the file. Fathom keeps to that by itself: a file is
//! written under a name that no other writer has, and never again once it has its final name. Against others
//! there is no guard. If they shorten the file, reading ends the process. If they write to it in place, a
//! coset whose checksum was compared before the change is read as it is now; only the first read of a coset
//! through a map compares the checksum, and `check_all` compares them all. That somebody else has changed or
//! replaced a file is seen by its [`Stamp`] when the file is asked for again.
//!
//! Reading a mapped page can fail long after the file was opened: a bad disk, a network file system gone, a
//! file truncated by somebody. The kernel then sends SIGBUS. [`report_faults`] installs a handler that says
//! which file it was and exits with status 1, instead of a core dump without a word.

use memmap2::Mmap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A file's bytes.
#[derive(Debug)]
pub struct Map {
    map: Mmap,
    slot: Option<&'static Slot>,
}

impl Map {
    /// Maps a whole file.
    ///
    /// # Errors
    /// The error of the operating system, also if the path names no regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let is = file.metadata()?;
        if !is.is_file() {
            return Err(io::Error::other("it is not a regular file, and only those keep their bytes"));
        }
        // SAFETY: the bytes of a map must not change while it lives. Only finished files are mapped, and
        // Fathom never writes to a file that has its final name: it replaces or removes the name,
        // which leaves the mapped file as it was. That no other program writes to the file is a
        // condition on whoever runs Fathom, which nothing here can enforce: bytes that change after
        // their checksum was compared are not noticed. If the file is shortened, reads beyond its end
        // fault, which ends the process (see `report_faults`).
        let map = unsafe { Mmap::map(&file)? };
        if map.len() as u64 != file.metadata()?.len() {
            return Err(io::Error::other("its length changes while it is opened"));
        }
        let slot = Slot::take(&map, path);
        Ok(Self { map, slot })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Has nothing read but what is asked for: otherwise whoever reads a page from disk gets its surroundings
    /// too.
    pub fn read_no_more_than_asked(&self) {
        // Advice that is not taken costs time alone.
        let _ = self.map.advise(memmap2::Advice::Random);
    }

    /// Has these bytes read into the page cache, without waiting for it.
    pub fn will_need(&self, bytes: Range<usize>) {
        // Advice that is not taken costs time alone.
        let _ = self.map.advise_range(memmap2::Advice::WillNeed, bytes.start, bytes.len());
    }

    /// Has the pages with these bytes leave memory; whoever reads them again gets them from disk.
    pub fn page_out(&self, bytes: Range<usize>) {
        let page = rustix::param::page_size();
        let start = bytes.start / page * page;
        let pages = &self.map[start..bytes.end];
        // SAFETY: the range lies in a live map, begins at a page, and its contents stay what they are.
        let _ = unsafe {
            rustix::mm::madvise(
                pages.as_ptr().cast_mut().cast(),
                pages.len(),
                rustix::mm::Advice::LinuxPageOut,
            )
        };
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.release();
        }
    }
}

/// What the file system says of a file at a path: another file, other contents or another length are another
/// stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    file: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file that is at a path now.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn of(path: &Path) -> io::Result<Self> {
        let is = std::fs::metadata(path)?;
        Ok(Self {
            device: is.dev(),
            file: is.ino(),
            bytes: is.size(),
            modified: (is.mtime(), is.mtime_nsec()),
            changed: (is.ctime(), is.ctime_nsec()),
        })
    }
}

/// The address range of a map, where the signal handler finds it without locks or allocation.
#[derive(Debug)]
struct Slot {
    /// 0: free; 1: being filled.
    start: AtomicUsize,
    end: AtomicUsize,
    path: AtomicPtr<libc::c_char>,
}

/// Maps beyond this number work, but a fault in one is reported without the file's name.
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
        // handler may hold the pointer only while another thread reads a map that is still alive, and
        // this one's is going away.
        drop(unsafe { CString::from_raw(path) });
    }
}

/// From now on, a fault in a mapped file ends the process with a message on standard error and exit status 1,
/// and a file that may not grow beyond a limit of this process is an error where it is written, instead of
/// the end without a word.
///
/// # Errors
/// The error of the operating system.
pub fn report_faults() -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is a valid value; the handler has the signature that SA_SIGINFO asks
    // for and calls only async-signal-safe functions.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
    };
    // SAFETY: to ignore a signal is valid, and nobody in this process has a handler for this one.
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
            // Not ours: back to the default, and the instruction faults again.
            // SAFETY: signal(2) is async-signal-safe.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
