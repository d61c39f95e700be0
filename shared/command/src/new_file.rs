//! Files that a command writes for users.

use crate::bad_input;
use anyhow::{Context, Result};
use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a file that appears under its name when it is whole.
///
/// # Errors
/// If the file exists and is not to be replaced, `write` fails, or the file cannot be written.
pub fn to_file(path: &Path, replace: bool, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path.exists() && !replace {
        return Err(bad_input!("{} exists. Choose another name, or replace it with --force", path.display()));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot write {}", path.display());
    let file = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(parent);
    let file = file.map_err(|error| bad_input!("{}: {error}", cannot()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(cannot)?;
    file.as_file().sync_all().with_context(cannot)?;
    let named = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    named.map(drop).map_err(|error| error.error).with_context(cannot)
}
