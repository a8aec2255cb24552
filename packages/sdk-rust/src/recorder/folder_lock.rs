//! The lock of a recorder's folder: one recorder at a time. docs/recorder.md, "The folder".

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::errors::{folder_in_use, spool_write_failed};
use super::files::private_file;
use crate::bytes::to_hex;
use crate::error::Result;

/// Keeps two recorders of one machine apart. Each makes a file of its own before it looks for those of others: of two
/// that begin at once neither can miss the other, and both may be refused. Dropping it lets go of the folder.
pub(super) struct FolderLock(PathBuf);

impl FolderLock {
    /// Takes a folder that is there.
    ///
    /// # Errors
    /// `folder_in_use`, or `spool_write_failed` for a folder that cannot be written.
    pub(super) fn take(folder: &Path) -> Result<Self> {
        let failed = |cause: io::Error| spool_write_failed(folder, "locked", cause);
        let mut nonce = [0; 4];
        getrandom::fill(&mut nonce).map_err(|cause| failed(io::Error::other(cause.to_string())))?;
        let pid = std::process::id();
        let start = start_of(pid).map_err(failed)?.unwrap_or_else(|| "0".to_owned());
        let lock = Self(folder.join(format!("lock-{pid}-{start}-{}", to_hex(&nonce))));
        private_file().write(true).create_new(true).open(&lock.0).map_err(failed)?;
        for other in fs::read_dir(folder).map_err(failed)? {
            let other = other.map_err(failed)?.path();
            if other != lock.0 {
                check_other(folder, &other)?;
            }
        }
        Ok(lock)
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Whatever is left of it is found to be dead by the next one.
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes the lock of a process that has ended. What is no lock is let be.
fn check_other(folder: &Path, other: &Path) -> Result<()> {
    let failed = |cause: io::Error| spool_write_failed(folder, "locked", cause);
    let Some((pid, start)) = other.file_name().and_then(|name| holder_of(name.to_str()?)) else { return Ok(()) };
    if start_of(pid).map_err(failed)?.as_deref() == Some(start) {
        return Err(folder_in_use(folder, pid));
    }
    match fs::remove_file(other) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(failed(cause)),
        _ => Ok(()),
    }
}

/// `lock-<process id>-<start>-<nonce>`
fn holder_of(name: &str) -> Option<(u32, &str)> {
    let mut parts = name.strip_prefix("lock-")?.split('-');
    let (pid, start, nonce) = (parts.next()?, parts.next()?, parts.next()?);
    let is_decimal = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let is_nonce = nonce.len() == 8 && nonce.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_lock = parts.next().is_none() && is_decimal(pid) && is_decimal(start) && is_nonce;
    Some((pid.parse().ok().filter(|_| is_lock)?, start))
}

/// When a process began, in ticks: another process that gets its id later has another one. "0" where there is no /proc;
/// `None`: there is no such process.
fn start_of(pid: u32) -> io::Result<Option<String>> {
    if !is_alive(pid) {
        return Ok(None);
    }
    // The name of the program, in brackets, may hold any bytes: fields are counted behind it. Field 22 is the start.
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(bytes) => {
            let stat = String::from_utf8_lossy(&bytes);
            let behind_name = stat.rsplit(") ").next().unwrap_or_default();
            Ok(Some(behind_name.split(' ').nth(19).unwrap_or("0").to_owned()))
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Some("0".to_owned())),
        Err(cause) => Err(cause),
    }
}

#[cfg(unix)]
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // If it belongs to somebody else, it lives.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Nothing safe tells: then a person has to remove the file of a process that was killed.
#[cfg(not(unix))]
fn is_alive(_pid: u32) -> bool {
    true
}
