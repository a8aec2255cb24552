//! What a spool needs of a file system. Tests put a full disk, or one that cannot sync, in its place.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

pub(crate) trait Files: Send + Sync {
    /// Appends some of the bytes, and tells how many.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let mut file = file;
        file.write(bytes)
    }

    /// Cuts a file off.
    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    /// What the file holds survives the loss of power from then on.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// The same of the names in a folder.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        sync_folder(folder)
    }
}

/// Those of the operating system.
pub(crate) struct SystemFiles;

impl Files for SystemFiles {}

#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder is no file that could be opened.
#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
