//! The directories over which the layers of a run are spread, on several disks.
//!
//! A *root* is the directory that `layers` lies in if there is one disk: the directory of a run, a shared
//! store, or the directory of a run in a worker's store. If `stores.toml` lies there instead, the file lists
//! the *stores*: directories, each with a `layers` of its own. Shard s lies in store s mod n of n.
//!
//! Each store has a mark, `store.toml`, with the id of the list and the store's number. By the mark Fathom
//! tells a store from the empty mount point of a disk that is not there, from a store of another run, and
//! from another disk of the same run that was mounted in its place. The list is written first and the marks
//! after it. A mark that is missing counts as a failure of the store, unless the run has no layers yet.

mod owner;

pub use owner::{OWNER, Owner};

use crate::run::{RunError, ShardId};
use fathom_layer::writer::TEMPORARY_SUFFIX;
use fathom_layer::{Digest, Disk};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of the list of stores, in the root.
pub const LIST: &str = "stores.toml";
/// The name of a store's mark.
pub const MARK: &str = "store.toml";
/// The directory of layers, in a store, or in a root without a list.
pub const LAYERS: &str = "layers";

/// The format version of both files.
const FORMAT: u32 = 1;

/// The stores of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stores {
    root: PathBuf,
    /// The id of the list; `None` if the root is the only store and has no list.
    id: Option<String>,
    directories: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    format: u32,
    id: String,
    stores: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    format: u32,
    id: String,
    number: usize,
    /// The root, for people.
    root: PathBuf,
}

/// Returns the number of the store in which the files of a shard lie, of `stores` stores. Nothing else
/// decides where a file lies.
///
/// # Panics
/// If there are no stores.
pub fn number_of(shard: ShardId, stores: u32) -> u32 {
    shard.0 % stores
}

impl Stores {
    /// Reads the list of a root. A root without a list is its own only store. Whether the stores are there is
    /// not looked at.
    ///
    /// # Errors
    /// If the list cannot be read or used.
    pub fn of(root: &Path) -> Result<Self, RunError> {
        let path = root.join(LIST);
        let text = match fs::read_to_string(&path) {
            Err(error) if is_absent(&error) => {
                return Ok(Self { root: root.into(), id: None, directories: vec![root.into()] });
            }
            Err(source) => return Err(RunError::Io { action: "read", path, source }),
            Ok(text) => text,
        };
        let List { id, stores, .. } =
            parse(&text).and_then(usable).map_err(|reason| unusable(&path, reason))?;
        Ok(Self { root: root.into(), id: Some(id), directories: stores })
    }

    /// Writes the list of a new root, durably. The marks are written by [`Stores::claim`].
    ///
    /// # Errors
    /// If a path is not UTF-8, or the list cannot be written.
    pub fn create(root: &Path, directories: &[PathBuf], disk: &dyn Disk) -> Result<Self, RunError> {
        let id = Some(Owner::new_id());
        let directories = directories.iter().map(|path| absolute(path)).collect();
        let stores = Self { root: root.into(), id, directories };
        stores.write_list(disk)?;
        Ok(stores)
    }

    /// Returns the directories, in order of their numbers.
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// Returns whether the root has a list of stores.
    pub fn are_listed(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the number of the store in which the files of a shard lie.
    pub fn number_of(&self, shard: ShardId) -> usize {
        number_of(shard, self.directories.len() as u32) as usize
    }

    /// Checks that a store is there, and that it is the right one. A root without a list always is.
    ///
    /// # Errors
    /// The reason, for people, if the store is not there, or is another one.
    pub fn check(&self, number: usize) -> Result<(), String> {
        let Some(id) = &self.id else { return Ok(()) };
        let mark = read_mark(&self.directories[number])?;
        let mark = mark.ok_or("its files are gone, or its disk is not mounted here; if it is elsewhere now, name all stores with --store, of 'fathom resume' or of the worker")?;
        if mark.id != *id {
            return Err(format!("it is a store of {}", mark.root.display()));
        }
        match mark.number == number {
            true => Ok(()),
            false => Err(format!(
                "it is store {}, in the place of store {number}: disks have changed places, and can be named anew with --store",
                mark.number
            )),
        }
    }

    /// Checks that all stores are there.
    ///
    /// # Errors
    /// [`RunError::Store`] for the first store that is not.
    pub fn check_all(&self) -> Result<(), RunError> {
        (0..self.directories.len()).try_for_each(|number| {
            let path = &self.directories[number];
            self.check(number).map_err(|reason| RunError::Store { path: path.clone(), reason })
        })
    }

    /// Checks that no other root has these stores: a run's directory that was copied has the list of the
    /// first one, and two processes would delete each other's layers. A root that was moved is no other one.
    ///
    /// # Errors
    /// [`RunError::Store`] if the root for which the stores were made still has them.
    pub fn require_no_copy(&self) -> Result<(), RunError> {
        let Some(id) = &self.id else { return Ok(()) };
        let list = |root: &Path| root.join(LIST).metadata().map(|file| (file.dev(), file.ino())).ok();
        for directory in &self.directories {
            let Ok(Some(mark)) = read_mark(directory) else { continue };
            let is_there = list(&mark.root).is_some_and(|of_first| Some(of_first) != list(&self.root));
            if is_there && Self::of(&mark.root).is_ok_and(|first| first.id.as_ref() == Some(id)) {
                let (copy, first) = (self.root.display(), mark.root.display());
                let reason =
                    format!("{copy} is a copy of {first}, and both would use its layers: go on in {first}");
                return Err(RunError::Store { path: directory.clone(), reason });
            }
        }
        Ok(())
    }

    /// Returns the stores that lie outside the root, and for each whether it is there, or why not.
    pub fn outside(&self) -> Vec<(&Path, Result<(), String>)> {
        let root = absolute(&self.root);
        let listed =
            self.directories.iter().enumerate().filter(|(_, path)| self.are_listed() && **path != root);
        listed.map(|(number, path)| (&**path, self.check(number))).collect()
    }

    /// Makes the directories and marks of stores that have none, durably. Only for a root that has no layers
    /// yet: otherwise the mark of a disk that is not mounted would be made in its mount point.
    ///
    /// # Errors
    /// [`RunError::Store`] if a directory holds something else, or cannot be made.
    pub fn claim(&self, disk: &dyn Disk) -> Result<(), RunError> {
        let Some(id) = &self.id else { return Ok(()) };
        for (number, directory) in self.directories.iter().enumerate() {
            let failed =
                |source: io::Error| RunError::Store { path: directory.clone(), reason: source.to_string() };
            match read_mark(directory) {
                Ok(Some(mark)) if mark.id == *id => continue,
                // A worker's own directory is the root and a store.
                Ok(None) if *directory == absolute(&self.root) => {}
                _ => require_free(directory)?,
            }
            make_directory(directory, disk).map_err(failed)?;
            let mark = Mark { format: FORMAT, id: id.clone(), number, root: absolute(&self.root) };
            write(&directory.join(MARK), &mark, disk).map_err(failed)?;
        }
        Ok(())
    }

    /// Finds the stores of a list among these directories, whatever their order and wherever their disks are
    /// mounted now. Writes the list again if the paths have changed. With `may_lack`, a directory that is
    /// listed may be without its mark.
    ///
    /// # Errors
    /// [`RunError::Store`] if the directories are not those of the list.
    pub fn arrange(&mut self, given: &[PathBuf], may_lack: bool, disk: &dyn Disk) -> Result<(), RunError> {
        let known =
            self.directories.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let refused = |path: &Path, what: &str| RunError::Store {
            path: path.into(),
            reason: format!("{what}: the layers of {} lie in {known}, and stay there", self.root.display()),
        };
        let mut places: BTreeMap<usize, PathBuf> = BTreeMap::new();
        for path in given {
            let listed = || self.directories.iter().position(|known| *known == absolute(path));
            let number = match read_mark(path) {
                Ok(Some(mark)) if Some(&mark.id) == self.id.as_ref() => Some(mark.number),
                Ok(Some(_)) => None,
                _ => listed().filter(|_| may_lack),
            };
            let number = number.filter(|&number| number < self.directories.len());
            let number = number.ok_or_else(|| match listed() {
                Some(number) => RunError::Store {
                    path: path.clone(),
                    reason: self.check(number).err().unwrap_or_default(),
                },
                None => refused(path, "it is none of the stores"),
            })?;
            if places.insert(number, absolute(path)).is_some() {
                return Err(refused(path, "it is the same store as another one"));
            }
        }
        if let Some(number) = (0..self.directories.len()).find(|number| !places.contains_key(number)) {
            return Err(refused(&self.directories[number], "it is not named with --store"));
        }
        let directories: Vec<PathBuf> = places.into_values().collect();
        if directories != self.directories {
            self.directories = directories;
            self.write_list(disk)?;
        }
        Ok(())
    }

    fn write_list(&self, disk: &dyn Disk) -> Result<(), RunError> {
        let path = self.root.join(LIST);
        if let Some(path) = self.directories.iter().find(|path| path.to_str().is_none()) {
            return Err(RunError::Store { path: path.clone(), reason: "its path is not UTF-8".into() });
        }
        let id = self.id.clone().unwrap_or_default();
        let list = List { format: FORMAT, id, stores: self.directories.clone() };
        write(&path, &list, disk).map_err(|source| RunError::Io { action: "write", path, source })
    }
}

/// Deletes a directory of layers from one of several stores.
///
/// # Errors
/// If it cannot be deleted.
pub fn remove(directory: &Path) -> io::Result<()> {
    // The mark goes last, so that a removal that is interrupted can be repeated.
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(path)?,
            false if path.file_name().is_some_and(|name| name == MARK) => {}
            false => fs::remove_file(path)?,
        }
    }
    fs::remove_file(directory.join(MARK))?;
    fs::remove_dir(directory)
}

/// Returns the root of which a directory is a store, by its mark; `None` if it has no mark that can be read.
pub fn root_of_store(directory: &Path) -> Option<PathBuf> {
    read_mark(directory).ok().flatten().map(|mark| mark.root)
}

/// Returns the directories for the layers of a run in these stores, each of which may have layers of several
/// runs.
pub fn of_run(given: &[PathBuf], fingerprint: Digest) -> Vec<PathBuf> {
    given.iter().map(|store| store.join(&fingerprint.to_string()[..16])).collect()
}

/// Makes directories that are to become stores, so that the root is not begun if one of them cannot be made.
///
/// # Errors
/// [`RunError::Store`] if one of them holds something, or cannot be made. None is left then.
pub fn make(directories: &[PathBuf], disk: &dyn Disk) -> Result<(), RunError> {
    directories.iter().try_for_each(|directory| require_free(directory))?;
    for (number, directory) in directories.iter().enumerate() {
        if let Err(error) = make_directory(directory, disk) {
            // Only empty directories are removed.
            directories[..number].iter().for_each(|made| drop(disk.remove_directory(made)));
            return Err(RunError::Store { path: directory.clone(), reason: error.to_string() });
        }
    }
    Ok(())
}

/// Makes a directory and those above it, durably.
///
/// # Errors
/// If a directory cannot be made, or its name cannot be made durable.
pub fn make_directory(directory: &Path, disk: &dyn Disk) -> io::Result<()> {
    let absent: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    disk.create_directory(directory)?;
    for made in absent {
        let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty());
        disk.sync_directory(parent.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Checks that a directory can become a store: that it is not there, or empty.
fn require_free(directory: &Path) -> Result<(), RunError> {
    let refused = |reason: String| RunError::Store { path: directory.into(), reason };
    if let Some(mark) = read_mark(directory).map_err(refused)? {
        let root = mark.root.display();
        return Err(refused(format!(
            "it belongs to the run in {root}: delete it if that run no longer needs it, or name another directory"
        )));
    }
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| refused(error.to_string()))?,
    };
    for entry in entries {
        let name = entry.map_err(|error| refused(error.to_string()))?.file_name();
        // A temporary mark is left behind if a process dies while it makes the store.
        if name != *temporary(Path::new(MARK)) {
            return Err(refused(format!("it holds something else, {}", Path::new(&name).display())));
        }
    }
    Ok(())
}

/// Checks that no directory is given twice, under whatever names.
///
/// # Errors
/// [`RunError::Store`] for the second of two paths that lead to one directory.
pub fn require_distinct(given: &[PathBuf]) -> Result<(), RunError> {
    let mut seen = BTreeMap::new();
    for path in given {
        if let Some(first) = seen.insert(identity(path), path) {
            let reason = format!("it is the same directory as {}: give each store once", first.display());
            return Err(RunError::Store { path: path.clone(), reason });
        }
    }
    Ok(())
}

/// Returns for each directory how many of them lie on its file system.
pub fn sharers(directories: &[PathBuf]) -> Vec<u64> {
    let devices: Vec<_> = directories.iter().map(|path| identity(path).0.map(|(device, _)| device)).collect();
    devices.iter().map(|device| devices.iter().filter(|other| *other == device).count() as u64).collect()
}

/// Returns the device and inode of a directory, or of its nearest ancestor that exists and the names behind
/// that.
fn identity(path: &Path) -> (Option<(u64, u64)>, PathBuf) {
    let path = absolute(path);
    let Some((there, is)) = path.ancestors().find_map(|path| Some((path, fs::metadata(path).ok()?))) else {
        return (None, path);
    };
    let rest = path.strip_prefix(there).expect("it is an ancestor");
    // What does not exist is no link, so a name and `..` behind it cancel each other.
    match rest.iter().position(|name| name == "..") {
        Some(at) => {
            let shorter = rest.iter().take(at.saturating_sub(1)).chain(rest.iter().skip(at + 1));
            identity(&there.join(shorter.collect::<PathBuf>()))
        }
        None => (Some((is.dev(), is.ino())), rest.into()),
    }
}

/// Reads the mark of a directory; `None` if the mark or the directory is not there.
fn read_mark(directory: &Path) -> Result<Option<Mark>, String> {
    match fs::read_to_string(directory.join(MARK)) {
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(format!("its {MARK} cannot be read: {error}")),
        Ok(text) => parse(&text).map(Some).map_err(|reason| format!("its {MARK} {reason}")),
    }
}

/// Parses one of the two files.
fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let damaged = |error: toml::de::Error| format!("is damaged: {}", error.message());
    let Version { format } = toml::from_str(text).map_err(damaged)?;
    if format > FORMAT {
        return Err(format!("has format {format}, and this version of Fathom reads up to {FORMAT}"));
    }
    toml::from_str(text).map_err(damaged)
}

fn usable(list: List) -> Result<List, String> {
    match list.stores.is_empty() {
        true => Err("is damaged: it lists no store".into()),
        false => Ok(list),
    }
}

fn unusable(path: &Path, reason: String) -> RunError {
    RunError::Store { path: path.into(), reason: format!("the list of stores {reason}") }
}

/// Writes a file under a temporary name, makes it durable, and renames it.
fn write<T: Serialize>(path: &Path, contents: &T, disk: &dyn Disk) -> io::Result<()> {
    let text = toml::to_string(contents).map_err(io::Error::other)?;
    let temporary = PathBuf::from(temporary(path));
    let mut file = disk.create(&temporary)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename(&temporary, path)?;
    disk.sync_directory(path.parent().unwrap_or(Path::new(".")))
}

/// Returns the temporary name of a file that only one process at a time writes.
fn temporary(path: &Path) -> OsString {
    let mut name = OsString::from(path);
    name.push(TEMPORARY_SUFFIX);
    name
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}
