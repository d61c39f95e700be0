//! A disk that makes many files durable together, and later.
//!
//! A sync takes milliseconds whatever the size of the file, and a search of a small space waits for nothing
//! else. As long as a power cut would destroy nothing that matters, files are written and renamed as usual,
//! but only a [flush](Deferred::flush) makes them durable. Files and directories that are removed before the
//! flush are never made durable. A file that waits is open, so only so many wait as may be open.

use crate::{Disk, DiskFile};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most threads that make files durable. Each waits for the disk, which does many syncs in the time of
/// one.
const SYNCS_AT_ONCE: usize = 8;
/// The number of files for which a thread is worth its start.
const SYNCS_A_THREAD: usize = 3;

/// A disk whose syncs wait for the first flush. After that flush each sync happens at once.
#[derive(Debug)]
pub struct Deferred<'d> {
    disk: &'d dyn Disk,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    defers: bool,
    most_files: usize,
    /// By the present path of each file.
    files: BTreeMap<PathBuf, Box<dyn DiskFile>>,
    directories: BTreeSet<PathBuf>,
    /// The error of a flush that failed.
    failed: Option<(io::ErrorKind, String)>,
}

impl Waiting {
    fn flush(&mut self, disk: &dyn Disk) -> io::Result<()> {
        // Another process may have removed some. Some file systems count no names at all.
        let is_there = |(path, file): &(PathBuf, Box<dyn DiskFile>)| !file.is_removed() || path.exists();
        let (files, removed): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.files).into_iter().partition(is_there);
        let threads = (files.len() / SYNCS_A_THREAD).clamp(1, SYNCS_AT_ONCE);
        let files = Mutex::new(files.into_iter().map(|(_, file)| file));
        let next = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
        let sync = || std::iter::from_fn(next).try_for_each(|mut file| file.sync());
        std::thread::scope(|scope| {
            // If the system has no more threads, those that are there do all of it.
            let start = |_| std::thread::Builder::new().name("sync".into()).spawn_scoped(scope, sync).ok();
            let others: Vec<_> = (1..threads).filter_map(start).collect();
            let all = others.into_iter().map(|other| other.join().expect("a sync does not panic"));
            all.fold(sync(), Result::and)
        })?;
        for directory in std::mem::take(&mut self.directories) {
            match disk.sync_directory(&directory) {
                // The directory was removed in the meantime, so it has no names to sync.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                synced => synced?,
            }
        }
        // The room of removed files becomes free when they are closed. Nobody waits for that, because it
        // takes longer than the syncs. If there is no thread for it, they are closed here.
        let close = std::thread::Builder::new().name("close".into());
        let _closing = (!removed.is_empty()).then(|| close.spawn(|| drop(removed)));
        Ok(())
    }
}

impl<'d> Deferred<'d> {
    /// Makes a disk that delays the syncs of `disk` if `defers`, of at most `most_files` files at a time.
    pub fn new(disk: &'d dyn Disk, defers: bool, most_files: usize) -> Self {
        let (files, directories) = (BTreeMap::new(), BTreeSet::new());
        let waiting = Waiting { defers, most_files, files, directories, failed: None };
        Self { disk, waiting: Arc::new(Mutex::new(waiting)) }
    }

    /// Returns whether syncs wait.
    pub fn defers(&self) -> bool {
        lock(&self.waiting).defers
    }

    /// Makes the waiting files and directories durable, contents before names. Later syncs happen at once.
    ///
    /// # Errors
    /// If a file or a directory cannot be made durable, now or in an earlier flush: an operating system
    /// reports lost writes once, so that a second sync of the same file may succeed though its contents
    /// are lost.
    pub fn flush(&self) -> io::Result<()> {
        // The lock is held to the end, so that no other thread syncs a directory before the waiting files are
        // durable.
        let mut waiting = lock(&self.waiting);
        waiting.defers = false;
        if waiting.failed.is_none()
            && let Err(error) = waiting.flush(self.disk)
        {
            waiting.failed = Some((error.kind(), error.to_string()));
        }
        match &waiting.failed {
            Some((kind, message)) => Err(io::Error::new(*kind, message.clone())),
            None => Ok(()),
        }
    }

    /// Takes note that a file has another name now.
    fn was_renamed(&self, from: &Path, to: &Path) {
        let mut waiting = lock(&self.waiting);
        // A file that `to` named before is gone.
        waiting.files.remove(to);
        if let Some(file) = waiting.files.remove(from) {
            waiting.files.insert(to.into(), file);
        }
    }
}

/// Ignores poisoning: no code here panics while it holds the lock, but the disk of a test may.
fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk for Deferred<'_> {
    fn inner(&self) -> &dyn Disk {
        self.disk
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = Some(self.disk.create(path)?);
        Ok(Box::new(DeferredFile { path: path.into(), file, waiting: Arc::clone(&self.waiting) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)?;
        self.was_renamed(from, to);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_new(from, to)?;
        self.was_renamed(from, to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)?;
        lock(&self.waiting).files.remove(path);
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_directory(path)?;
        lock(&self.waiting).directories.remove(path);
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut waiting = lock(&self.waiting);
        if waiting.defers {
            waiting.directories.insert(path.into());
            return Ok(());
        }
        drop(waiting);
        self.disk.sync_directory(path)
    }
}

/// A file that joins the waiting files when it is synced.
#[derive(Debug)]
struct DeferredFile {
    /// The path under which the file was created. A file is synced before it is renamed.
    path: PathBuf,
    file: Option<Box<dyn DiskFile>>,
    waiting: Arc<Mutex<Waiting>>,
}

impl DiskFile for DeferredFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_at(bytes, offset),
            None => Err(io::Error::other("the file was finished before")),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut waiting = lock(&self.waiting);
        if waiting.defers && waiting.files.len() < waiting.most_files {
            waiting.files.extend(self.file.take().map(|file| (self.path.clone(), file)));
            return Ok(());
        }
        drop(waiting);
        self.file.as_mut().map_or(Ok(()), |file| file.sync())
    }

    fn uncache(&mut self) {
        if let Some(file) = &mut self.file {
            file.uncache();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalDisk, NullDisk};

    const MOST: usize = 2;

    /// Records which files and directories are made durable.
    #[derive(Debug, Default)]
    struct Counting(Arc<Mutex<Vec<String>>>);

    #[derive(Debug)]
    struct CountingFile(Arc<Mutex<Vec<String>>>, String);

    impl Disk for Counting {
        fn inner(&self) -> &dyn Disk {
            &NullDisk
        }

        fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
            Ok(Box::new(CountingFile(Arc::clone(&self.0), path.display().to_string())))
        }

        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            self.0.lock().unwrap().push(path.display().to_string());
            Ok(())
        }
    }

    impl DiskFile for CountingFile {
        fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            if self.1 == "lost" {
                return Err(io::Error::other("lost writes"));
            }
            self.0.lock().unwrap().push(self.1.clone());
            Ok(())
        }
        fn is_removed(&self) -> bool {
            self.1 == "removed"
        }
    }

    #[test]
    fn what_waits_is_made_durable_in_a_flush_and_nothing_waits_after_it() {
        let counting = Counting::default();
        let synced = Arc::clone(&counting.0);
        let disk = Deferred::new(&counting, true, MOST);
        let write = |name: &str| {
            let mut file = disk.create(Path::new(name)).unwrap();
            file.write_at(b"x", 0).unwrap();
            file.sync().unwrap();
            disk.sync_directory(Path::new("layers")).unwrap();
        };
        write("a");
        write("b");
        assert!(synced.lock().unwrap().is_empty());
        disk.flush().unwrap();
        assert_eq!(*synced.lock().unwrap(), ["a", "b", "layers"]);
        write("c");
        assert_eq!(synced.lock().unwrap()[3..], ["c", "layers"]);
        disk.flush().unwrap();
        assert_eq!(synced.lock().unwrap().len(), 5);
    }

    #[test]
    fn what_is_removed_before_a_flush_is_not_made_durable() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, true, MOST);
        for name in ["a", "b"] {
            disk.create(Path::new("part")).unwrap().sync().unwrap();
            disk.rename(Path::new("part"), Path::new(name)).unwrap();
            disk.sync_directory(Path::new("layers")).unwrap();
        }
        disk.remove(Path::new("a")).unwrap();
        disk.remove_directory(Path::new("layers")).unwrap();
        disk.flush().unwrap();
        assert_eq!(*counting.0.lock().unwrap(), ["part"]);
    }

    #[test]
    fn what_another_process_removed_is_not_made_durable() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = LocalDisk.create(&path).unwrap();
        assert!(!file.is_removed());
        let counting = Counting::default();
        let disk = Deferred::new(&counting, true, MOST);
        disk.create(Path::new("removed")).unwrap().sync().unwrap();
        disk.create(Path::new("there")).unwrap().sync().unwrap();
        disk.flush().unwrap();
        assert_eq!(*counting.0.lock().unwrap(), ["there"]);
        std::fs::remove_file(&path).unwrap();
        assert!(file.is_removed());
    }

    #[test]
    fn a_flush_after_one_that_failed_fails_too() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, true, MOST);
        disk.create(Path::new("lost")).unwrap().sync().unwrap();
        for _ in 0..2 {
            assert_eq!(disk.flush().unwrap_err().to_string(), "lost writes");
        }
    }

    #[test]
    fn without_deferring_each_sync_happens_at_once() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, false, MOST);
        disk.create(Path::new("a")).unwrap().sync().unwrap();
        assert_eq!(*counting.0.lock().unwrap(), ["a"]);
    }

    #[test]
    fn only_so_many_files_wait_as_may_be_open() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, true, MOST);
        for name in ["a", "b", "c"] {
            disk.create(Path::new(name)).unwrap().sync().unwrap();
        }
        assert_eq!(*counting.0.lock().unwrap(), ["c"]);
        disk.flush().unwrap();
        assert_eq!(*counting.0.lock().unwrap(), ["c", "a", "b"]);
    }
}
