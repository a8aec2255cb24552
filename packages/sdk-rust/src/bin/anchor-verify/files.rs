//! Files, and what can be wrong with them.

use std::fs::File;
use std::io::{ErrorKind, Read as _};

use event_anchoring::Hash;
use sha2::{Digest as _, Sha256};

use crate::output::Fault;

const CHUNK_BYTES: usize = 64 * 1024;

fn unreadable(path: &str, error: &std::io::Error) -> Fault {
    let reason = match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is not a folder".to_owned(),
        _ => error.to_string(),
    };
    Fault::usage("cannot_read", format!("cannot read {path}: {reason}"))
}

/// SHA-256 of a file, which may be larger than memory.
pub(crate) fn hash_file(path: &str) -> Result<Hash, Fault> {
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    if file.metadata().is_ok_and(|file| file.is_dir()) {
        return Err(Fault::usage("not_a_file", format!("{path} is a folder, not a file")));
    }
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    loop {
        let length = file.read(&mut chunk).map_err(|error| unreadable(path, &error))?;
        match chunk.get(..length) {
            Some([]) | None => return Ok(Hash::new(hash.finalize().into())),
            Some(bytes) => hash.update(bytes),
        }
    }
}

/// A whole text of at most `bytes_max` bytes. What is no UTF-8 becomes U+FFFD, which no format has.
pub(crate) fn read_text(path: &str, bytes_max: u64) -> Result<String, Fault> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("{path} has more than the {bytes_max} bytes expected");
        return Err(Fault::usage("file_too_large", message));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
