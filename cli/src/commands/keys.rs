//! `fathom keys`.
//!
//! The directory is created under a temporary name and renamed once all files are written, so that it has
//! either all keys or none.

use crate::arguments::KeysArguments;
use anyhow::{Context, Result};
use fathom_command::machine;
use fathom_command::shell::quoted;
use fathom_command::{bad_input, output};
use fathom_layer::{Disk, LocalDisk};
use fathom_proto::access::Keys;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(crate) fn keys(args: &KeysArguments) -> Result<()> {
    let dir = &args.dir;
    require_nothing(dir)?;
    let keys = Keys::make(args.days)?;
    make(dir, &keys).with_context(|| format!("cannot create {}", dir.display()))?;
    let keys = quoted(&dir.display().to_string());
    let host = quoted(&machine::host_name());
    output::line(&format!(
        "fathom serve 3x4 --listen 0.0.0.0:7400 --keys {keys}\nfathom-worker --join {host}:7400 --listen 0.0.0.0:0 --store store --keys {keys}"
    ))
}

fn require_nothing(dir: &Path) -> Result<()> {
    let taken = match fs::read_dir(dir) {
        // A rename cannot replace a symbolic link, even one that leads to an empty directory.
        Ok(mut entries) => entries.next().is_some() || dir.is_symlink(),
        Err(error) if error.kind() == ErrorKind::NotFound => dir.is_symlink(),
        Err(error) if error.kind() == ErrorKind::NotADirectory && dir.symlink_metadata().is_ok() => true,
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(bad_input!(
                "cannot create {}: part of the path is a file. Choose another directory",
                dir.display()
            ));
        }
        Err(error) => return Err(error).with_context(|| format!("cannot list {}", dir.display())),
    };
    match taken {
        true => Err(bad_input!("{} already exists; choose a new or an empty directory", dir.display())),
        false => Ok(()),
    }
}

fn make(dir: &Path, keys: &Keys) -> Result<()> {
    // An absolute path has a parent, and collecting the components drops a trailing slash.
    let dir: PathBuf = std::path::absolute(dir)?.components().collect();
    let parent = dir.parent().context("the root directory cannot hold the keys")?;
    let absent: Vec<&Path> = parent.ancestors().take_while(|path| !path.exists()).collect();
    LocalDisk.create_directory(parent)?;
    let unfinished = tempfile::Builder::new()
        .prefix(".fathom-keys-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        // The error's own text names the temporary directory.
        .map_err(|error| {
            bad_input!(
                "cannot create a directory in {}: {}. Choose another directory",
                parent.display(),
                error.kind()
            )
        })?;
    for (name, text, mode) in [
        ("token", format!("{}\n", keys.token), 0o600),
        ("ca.pem", keys.ca.clone(), 0o644),
        ("ca-key.pem", keys.ca_key.clone(), 0o600),
        ("cert.pem", keys.cert.clone(), 0o644),
        ("key.pem", keys.key.clone(), 0o600),
    ] {
        write(&unfinished.path().join(name), &text, mode).with_context(|| format!("cannot write {name}"))?;
    }
    LocalDisk.sync_directory(unfinished.path())?;
    // If something was created at `dir` meanwhile, the rename replaces it only if it is an empty directory.
    LocalDisk.rename(unfinished.path(), &dir)?;
    // The rename has removed the temporary name, so there is nothing left to delete.
    let _ = unfinished.keep();
    LocalDisk.sync_directory(parent)?;
    for made in absent {
        LocalDisk.sync_directory(made.parent().unwrap_or(Path::new("/")))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
