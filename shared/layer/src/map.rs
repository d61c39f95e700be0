//! Read-only memory maps of finished files, advice about them, and a clear end when the disk fails under one.
//!
//! Reading a mapped page can fail long after the file was opened: a bad disk, a network file system gone, a file
//! truncated by somebody. The kernel then sends SIGBUS. [`report_faults`] installs a handler that says which file it
//! was and exits with status 1, instead of a core dump without a word.

use memmap2::Mmap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
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
    /// As the operating system says, and for an empty file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: only finished files are mapped. Fathom never changes a file that has its final name: it replaces or
        // removes the name, which leaves the mapped file as it was. Should somebody else shorten the file, reads fault,
        // which ends the process (see `report_faults`); should they overwrite it, checksums differ.
        let map = unsafe { Mmap::map(&file)? };
        let slot = Slot::take(&map, path);
        Ok(Self { map, slot })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Has nothing read but what is asked for: otherwise whoever reads a page from disk gets its surroundings too.
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
        // SAFETY: `path` came from `CString::into_raw` in `take`, and the swap makes this the only owner. The handler may
        // hold the pointer only while another thread reads a map that is still alive, and this one's is going away.
        drop(unsafe { CString::from_raw(path) });
    }
}

/// From now on, a fault in a mapped file ends the process with a message on standard error and exit status 1.
///
/// # Errors
/// As the operating system says.
pub fn report_faults() -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is a valid value; the handler has the signature that SA_SIGINFO asks for and
    // calls only async-signal-safe functions.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
    };
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
