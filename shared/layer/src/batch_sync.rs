//! A disk that delays syncs, and makes many files durable together.
//!
//! A sync takes milliseconds whatever the size of the file, and a search of a small space would spend most of
//! its time waiting for syncs. So files are written and renamed as usual, and a [flush](Deferred::flush)
//! makes durable everything that was written since the previous flush. After a power cut, a file may have its
//! final name but not its contents: nothing may depend on a file that was neither flushed nor compared with
//! its checksums since then, and no file whose contents are still needed may be replaced through this disk.
//!
//! Files and directories that are removed before the flush are never made durable. A waiting file stays open,
//! so the number of waiting files is limited; further files are made durable immediately.

use crate::{Disk, DiskFile, LayerError};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest number of threads that make files durable. Each waits for the disk, which does many syncs in
/// the time of one.
const SYNCS_AT_ONCE: usize = 8;

/// A disk whose syncs wait for the next flush.
#[derive(Debug)]
pub struct Deferred<'d> {
    disk: &'d dyn Disk,
    waiting: Arc<Mutex<Waiting>>,
    /// Locked by a flush, so that no flush succeeds before the files of an earlier one are durable.
    flushing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    most_files: usize,
    /// The waiting files, by current path.
    files: BTreeMap<PathBuf, WaitingFile>,
    directories: BTreeSet<PathBuf>,
    /// The number of files that have ever waited.
    numbers: u64,
    /// The first sync that failed: its path and its error.
    failed: Option<(PathBuf, io::ErrorKind, String)>,
}

#[derive(Debug)]
struct WaitingFile {
    number: u64,
    /// `None` while a flush makes the file durable.
    file: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: Box<dyn DiskFile>,
    /// Whether the contents leave the page cache once they are durable.
    leaves_cache: bool,
}

impl OpenFile {
    fn sync(mut self) -> io::Result<()> {
        self.file.sync()?;
        if self.leaves_cache {
            self.file.uncache();
        }
        Ok(())
    }
}

impl Waiting {
    fn fail(&mut self, path: &Path, error: &io::Error) {
        self.failed.get_or_insert_with(|| (path.into(), error.kind(), error.to_string()));
    }

    /// Returns the error of the first sync that failed.
    fn check(&self) -> Result<(), LayerError> {
        match &self.failed {
            Some((path, kind, message)) => {
                Err(LayerError::io("sync", path)(io::Error::new(*kind, message.clone())))
            }
            None => Ok(()),
        }
    }

    /// Takes the waiting files for a flush, with their numbers.
    fn take_files(&mut self) -> Vec<(u64, OpenFile)> {
        let file = |waiting: &mut WaitingFile| Some((waiting.number, waiting.file.take()?));
        self.files.values_mut().filter_map(file).collect()
    }

    /// Ends the flush of the files that were taken. Returns the current paths of the `lost` ones, except for
    /// those that were removed in the meantime.
    fn end_flush(&mut self, lost: &BTreeMap<u64, io::Error>) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let ended: Vec<_> = self.files.extract_if(.., |_, file| file.file.is_none()).collect();
        for (path, WaitingFile { number, .. }) in ended {
            if let Some(error) = lost.get(&number) {
                self.fail(&path, error);
                paths.push(path);
            }
        }
        paths
    }

    /// Records that a file was renamed.
    fn was_renamed(&mut self, from: &Path, to: &Path) {
        // A file that had the name `to` before is gone.
        self.files.remove(to);
        if let Some(file) = self.files.remove(from) {
            self.files.insert(to.into(), file);
        }
    }
}

impl<'d> Deferred<'d> {
    /// Creates a disk that delays the syncs of `disk`, of at most `most_files` files at a time.
    pub fn new(disk: &'d dyn Disk, most_files: usize) -> Self {
        let waiting = Waiting { most_files, ..Waiting::default() };
        Self { disk, waiting: Arc::new(Mutex::new(waiting)), flushing: Mutex::default() }
    }

    /// Makes all waiting files and directories durable, contents before names. Other threads may continue to
    /// write; their files wait for the next flush.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a file or a directory cannot be made durable, now or at an earlier sync: an
    /// operating system reports lost writes once, so a second sync of the same file may succeed although its
    /// contents are lost. Such a file is removed, because it can still be read from memory, and a later
    /// process might take it for complete.
    pub fn flush(&self) -> Result<(), LayerError> {
        let _flushing = lock(&self.flushing);
        let mut waiting = lock(&self.waiting);
        waiting.check()?;
        let (files, directories) = (waiting.take_files(), std::mem::take(&mut waiting.directories));
        drop(waiting);
        let lost = sync_all(files);
        let mut waiting = lock(&self.waiting);
        for path in waiting.end_flush(&lost) {
            // If it cannot be removed, nothing else can be done.
            let _ = self.disk.remove(&path);
        }
        waiting.check()?;
        drop(waiting);
        for directory in directories {
            match self.disk.sync_directory(&directory) {
                // The directory was removed in the meantime, so it has no names to sync.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => lock(&self.waiting).fail(&directory, &error),
                Ok(()) => {}
            }
        }
        lock(&self.waiting).check()
    }
}

/// Makes files durable, several at a time. Returns the numbers and the errors of those that cannot be.
fn sync_all(files: Vec<(u64, OpenFile)>) -> BTreeMap<u64, io::Error> {
    let threads = files.len().min(SYNCS_AT_ONCE);
    let files = Mutex::new(files.into_iter());
    let next = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
    let sync = || -> BTreeMap<u64, io::Error> {
        std::iter::from_fn(next).filter_map(|(number, file)| Some((number, file.sync().err()?))).collect()
    };
    std::thread::scope(|scope| {
        // If no more threads can be spawned, the existing ones do all the work.
        let start = |_| std::thread::Builder::new().name("sync".into()).spawn_scoped(scope, sync).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut lost = sync();
        others.into_iter().for_each(|other| lost.extend(other.join().expect("a sync does not panic")));
        lost
    })
}

/// Ignores poisoning: no code here panics while it holds the lock, but the disk of a test may.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk for Deferred<'_> {
    fn inner(&self) -> &dyn Disk {
        self.disk
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = Some(self.disk.create(path)?);
        let waiting = Arc::clone(&self.waiting);
        Ok(Box::new(DeferredFile { path: path.into(), file, leaves_cache: false, waiting }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        // This happens under the lock, so that a failing flush knows the name.
        let mut waiting = lock(&self.waiting);
        self.disk.rename(from, to)?;
        waiting.was_renamed(from, to);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut waiting = lock(&self.waiting);
        self.disk.rename_new(from, to)?;
        waiting.was_renamed(from, to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)?;
        let removed = lock(&self.waiting).files.remove(path);
        // Closing the file frees its disk space, which takes too long to do under the lock.
        drop(removed);
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_directory(path)?;
        lock(&self.waiting).directories.remove(path);
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        lock(&self.waiting).directories.insert(path.into());
        Ok(())
    }
}

/// A file that is added to the waiting files when it is synced.
#[derive(Debug)]
struct DeferredFile {
    /// The path under which the file was created. A file is synced before it is renamed.
    path: PathBuf,
    /// `None` once the file waits.
    file: Option<Box<dyn DiskFile>>,
    leaves_cache: bool,
    waiting: Arc<Mutex<Waiting>>,
}

impl DiskFile for DeferredFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_at(bytes, offset),
            None => Err(io::Error::other("the file is already finished")),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let mut waiting = lock(&self.waiting);
        if waiting.files.len() < waiting.most_files {
            waiting.numbers += 1;
            let number = waiting.numbers;
            let file = Some(OpenFile { file, leaves_cache: self.leaves_cache });
            waiting.files.insert(self.path.clone(), WaitingFile { number, file });
            return Ok(());
        }
        drop(waiting);
        let synced = file.sync();
        if let Err(error) = &synced {
            lock(&self.waiting).fail(&self.path, error);
        }
        self.file = Some(file);
        synced
    }

    fn uncache(&mut self) {
        self.leaves_cache = true;
        if let Some(file) = &mut self.file {
            file.uncache();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NullDisk;
    use std::sync::mpsc;

    const MOST: usize = 2;

    /// Records which files and directories are made durable, and which files are removed.
    #[derive(Debug, Default)]
    struct Counting(Arc<Mutex<Vec<String>>>);

    impl Counting {
        fn note(&self, what: &str, path: &Path) {
            self.0.lock().unwrap().push(format!("{what} {}", path.display()));
        }

        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    #[derive(Debug)]
    struct CountingFile(Counting, PathBuf);

    impl Disk for Counting {
        fn inner(&self) -> &dyn Disk {
            &NullDisk
        }

        fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
            Ok(Box::new(CountingFile(Self(Arc::clone(&self.0)), path.into())))
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            self.note("remove", path);
            Ok(())
        }
        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            self.note("sync", path);
            if path.ends_with("lost") { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    impl DiskFile for CountingFile {
        fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            self.0.note("sync", &self.1);
            if self.1.ends_with("lost") { Err(io::Error::other("lost writes")) } else { Ok(()) }
        }
        fn uncache(&mut self) {
            self.0.note("uncache", &self.1);
        }
    }

    fn write(disk: &Deferred<'_>, name: &str) {
        let mut file = disk.create(Path::new(name)).unwrap();
        file.write_at(b"x", 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory(Path::new("layers")).unwrap();
    }

    #[test]
    fn flush_syncs_writes_since_previous_flush() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, MOST);
        write(&disk, "a");
        write(&disk, "b");
        assert_eq!(counting.take(), [""; 0]);
        disk.flush().unwrap();
        assert_eq!(counting.take(), ["sync a", "sync b", "sync layers"]);
        disk.flush().unwrap();
        assert_eq!(counting.take(), [""; 0]);
        write(&disk, "c");
        disk.flush().unwrap();
        assert_eq!(counting.take(), ["sync c", "sync layers"]);
    }

    #[test]
    fn removed_files_are_not_synced() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, MOST);
        for name in ["a", "b"] {
            write(&disk, "part");
            disk.rename_new(Path::new("part"), Path::new(name)).unwrap();
        }
        disk.remove(Path::new("a")).unwrap();
        disk.remove_directory(Path::new("layers")).unwrap();
        disk.flush().unwrap();
        assert_eq!(counting.take(), ["remove a", "sync part"]);
    }

    #[test]
    fn durable_file_leaves_the_cache() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, MOST);
        let mut file = disk.create(Path::new("a")).unwrap();
        file.uncache();
        assert_eq!(counting.take(), ["uncache a"]);
        file.sync().unwrap();
        file.uncache();
        assert_eq!(counting.take(), [""; 0]);
        disk.flush().unwrap();
        assert_eq!(counting.take(), ["sync a", "uncache a"]);
    }

    /// The system reports lost writes once, and has the contents in memory for whoever reads them next.
    #[test]
    fn lost_file_is_removed_and_flushes_fail() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, MOST);
        write(&disk, "lost");
        disk.rename_new(Path::new("lost"), Path::new("name")).unwrap();
        let expected = "cannot sync name";
        assert_eq!(disk.flush().unwrap_err().to_string(), expected);
        assert_eq!(counting.take(), ["sync lost", "remove name"]);
        write(&disk, "b");
        assert_eq!(disk.flush().unwrap_err().to_string(), expected);
        assert_eq!(counting.take(), [""; 0]);
    }

    #[test]
    fn lost_directory_fails_flushes_with_its_error_kind() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, MOST);
        disk.sync_directory(Path::new("lost")).unwrap();
        for _ in 0..2 {
            assert!(disk.flush().unwrap_err().is_disk_full());
        }
        assert_eq!(counting.take(), ["sync lost"]);
    }

    #[test]
    fn waiting_files_are_limited() {
        let counting = Counting::default();
        let disk = Deferred::new(&counting, MOST);
        ["a", "b", "c"].iter().for_each(|name| write(&disk, name));
        assert_eq!(counting.take(), ["sync c"]);
        disk.flush().unwrap();
        assert_eq!(counting.take(), ["sync a", "sync b", "sync layers"]);
        // An error of a file that does not wait also fails all later flushes.
        ["a", "b"].iter().for_each(|name| write(&disk, name));
        assert!(disk.create(Path::new("lost")).unwrap().sync().is_err());
        assert!(disk.flush().is_err());
        assert_eq!(counting.take(), ["sync lost"]);
    }

    /// A disk whose syncs block until they are released.
    #[derive(Debug)]
    struct Slow(Mutex<Option<mpsc::Receiver<()>>>);

    #[derive(Debug)]
    struct SlowFile(Option<mpsc::Receiver<()>>);

    impl Disk for Slow {
        fn inner(&self) -> &dyn Disk {
            &NullDisk
        }

        fn create(&self, _: &Path) -> io::Result<Box<dyn DiskFile>> {
            Ok(Box::new(SlowFile(self.0.lock().unwrap().take())))
        }
    }

    impl DiskFile for SlowFile {
        fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            // The first file waits; the others do not.
            self.0.take().map_or(Ok(()), |go| go.recv().map_err(io::Error::other))
        }
    }

    #[test]
    fn writers_proceed_during_a_flush() {
        let (go, gone) = mpsc::channel();
        let slow = Slow(Mutex::new(Some(gone)));
        let disk = Deferred::new(&slow, MOST);
        write(&disk, "a");
        std::thread::scope(|scope| {
            let flush = scope.spawn(|| disk.flush());
            while lock(&disk.waiting).files.values().any(|file| file.file.is_some()) {
                std::thread::yield_now();
            }
            write(&disk, "b");
            disk.rename_new(Path::new("b"), Path::new("c")).unwrap();
            assert!(!flush.is_finished());
            go.send(()).unwrap();
            flush.join().unwrap().unwrap();
        });
        let waiting: Vec<PathBuf> = lock(&disk.waiting).files.keys().cloned().collect();
        assert_eq!(waiting, [Path::new("c")]);
    }
}
