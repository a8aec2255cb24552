//! What a recorder says of its own, beside the errors of the client.

use std::io;
use std::path::Path;

use crate::error::Error;

pub(super) fn folder_in_use(folder: &Path, pid: u32) -> Error {
    let folder = folder.display();
    Error::recorder("folder_in_use", format!("process {pid} records in {folder}: one recorder for a folder at a time"))
}

pub(super) fn spool_corrupt(file: &Path, offset: u64, detail: &str) -> Error {
    Error::recorder("spool_corrupt", format!("{}, at {offset}: {detail}", file.display()))
}

pub(super) fn spool_full(bytes_max: u64) -> Error {
    Error::recorder("spool_full", format!("{bytes_max} bytes wait to be anchored: wait for room(), or record less"))
}

pub(super) fn spool_write_failed(path: &Path, what: &str, cause: io::Error) -> Error {
    Error::recorder("spool_write_failed", format!("{} cannot be {what}: {cause}", path.display())).with_source(cause)
}

pub(super) fn not_durable() -> Error {
    let message =
        "its file of the spool could not be synced, and is given up: whether the disk has the event is not known";
    Error::recorder("spool_write_failed", message)
}

pub(super) fn not_kept(folder: &Path, cause: io::Error) -> Error {
    Error::recorder("not_kept", format!("{} cannot be written: {cause}", folder.display())).with_source(cause)
}

pub(super) fn not_flushed(left: u64) -> Error {
    Error::recorder("not_flushed", format!("{left} events are not anchored yet; they stay in the spool"))
}

pub(super) fn closed() -> Error {
    Error::invalid_input("recorder", "it is closed")
}

/// What a recorder says of its own.
impl Error {
    /// The spool holds as much as it may: nothing was recorded. [`room`](crate::Recorder::room) waits until there is
    /// some.
    pub fn is_spool_full(&self) -> bool {
        self.code() == "spool_full"
    }

    /// The event could not be written to the spool, because the disk is full, say: nothing was recorded. Of `durable`:
    /// it may not survive the loss of power.
    pub fn is_spool_write_failed(&self) -> bool {
        self.code() == "spool_write_failed"
    }

    /// A file of the spool is not what was written. The message names it, and the offset of the frame.
    pub fn is_spool_corrupt(&self) -> bool {
        self.code() == "spool_corrupt"
    }

    /// Another recorder uses the folder. The message names its process.
    pub fn is_folder_in_use(&self) -> bool {
        self.code() == "folder_in_use"
    }

    /// The time was up. What is left stays in the spool, and is sent by the next recorder of the folder.
    pub fn is_not_flushed(&self) -> bool {
        self.code() == "not_flushed"
    }
}
