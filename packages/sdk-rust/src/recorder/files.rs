//! What a spool needs of a file system. Tests put a full disk, or one that cannot sync, in its place.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{absolute, Path, PathBuf};

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

/// Makes a folder, with those above it. Returns the folders to be synced for it to be found after the loss of power: those
/// that name what was made, and two in any case, as an earlier run may have made them and not come to sync them.
pub(super) fn make_folder(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let folder = absolute(folder)?;
    let missing = folder.ancestors().take_while(|above| !above.exists());
    let made = missing.filter_map(Path::parent).map(Path::to_owned);
    let above: BTreeSet<PathBuf> = made.chain(folder.ancestors().skip(1).take(2).map(Path::to_owned)).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(&folder)?;
    Ok(above)
}

/// What is recorded is for the user of the program alone. What is there keeps the rights that it has.
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// How a file is opened that others may not read if this makes it.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Syncs folders above those of a recorder. One that is gone, or that this program may not read, was not made by it or has
/// been moved.
pub(super) fn sync_above(files: &dyn Files, folders: &BTreeSet<PathBuf>) -> io::Result<()> {
    for folder in folders {
        match files.sync_folder(folder) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                return Err(error)
            }
            _ => {}
        }
    }
    Ok(())
}
