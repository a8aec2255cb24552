//! The log itself, as C2SP tlog-tiles: what a monitor fetches that wants every leaf.

use super::{Call, Client, KeyUse};
use crate::checkpoint::read_checkpoint_note;
use crate::error::{Error, Result};
use crate::hash::{Hash, OriginFingerprint};

/// Hashes in a full tile, and leaves in a full entry bundle.
const TILE_WIDTH: u16 = 256;
const LEVEL_MAX: u8 = 63;

/// Groups of three digits, all but the last with an `x` in front: 1234067 is `x001/x234/067`.
fn number_path(index: u64) -> String {
    let mut path = format!("{:03}", index % 1_000);
    let mut rest = index / 1_000;
    while rest > 0 {
        path = format!("x{:03}/{path}", rest % 1_000);
        rest /= 1_000;
    }
    path
}

fn check_width(width: u16) -> Result<()> {
    if (1..=TILE_WIDTH).contains(&width) {
        Ok(())
    } else {
        Err(Error::invalid_input("width", "expected 1 to 256"))
    }
}

/// `tile/<name>/<N>[.p/<W>]`.
fn tile_path(name: &str, index: u64, width: u16) -> Result<String> {
    check_width(width)?;
    let partial = if width == TILE_WIDTH { String::new() } else { format!(".p/{width}") };
    Ok(format!("tile/{name}/{}{partial}", number_path(index)))
}

/// Hashes of 32 bytes each, as many as were asked for.
fn read_tile(bytes: &[u8], width: u16) -> Option<Vec<Hash>> {
    let hashes: Vec<Hash> = bytes.chunks(32).map(|hash| Hash::try_from(hash).ok()).collect::<Option<_>>()?;
    (hashes.len() == usize::from(width)).then_some(hashes)
}

/// Leaves, each after its length as u16; as many as were asked for.
fn read_entries(mut bytes: &[u8], width: u16) -> Option<Vec<Vec<u8>>> {
    let mut leaves = Vec::with_capacity(usize::from(width));
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (leaf, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        leaves.push(leaf.to_vec());
        bytes = rest;
    }
    (bytes.is_empty() && leaves.len() == usize::from(width)).then_some(leaves)
}

/// The log of an origin, up to its newest certified size. A public log needs no API key.
impl Client {
    /// The newest certified checkpoint: a signed note, for [`verify_checkpoint`](crate::verify_checkpoint).
    ///
    /// # Errors
    /// `origin_unknown`, or that of the connection.
    pub async fn get_checkpoint(&self, origin_fingerprint: &OriginFingerprint) -> Result<String> {
        let target = format!("/v1/origins/{origin_fingerprint}/checkpoint");
        let call = Call { accept: "text/plain", key: KeyUse::Welcome, ..self.get(target) };
        let response = self.call_raw(&call, &[]).await?;
        let note = String::from_utf8(response.body)
            .map_err(|cause| Error::response_invalid("the checkpoint is no text").with_source(cause))?;
        let noted = read_checkpoint_note(&note)
            .map_err(|cause| Error::response_invalid("the answer is no signed checkpoint").with_source(cause))?;
        if noted.checkpoint.origin.ends_with(&format!("/origin/{origin_fingerprint}")) {
            return Ok(note);
        }
        Err(Error::verification("origin_differs", "the checkpoint is of another origin"))
    }

    /// The hashes of a tile: roots of the perfect subtrees of level 8 · `level`, from 256 · `index` on. `width` is how
    /// many there are; 256 is a full tile. They prove nothing until they are folded into the root of a checkpoint.
    ///
    /// # Errors
    /// `invalid_input`, or that of the connection.
    pub async fn get_tile(
        &self,
        origin_fingerprint: &OriginFingerprint,
        level: u8,
        index: u64,
        width: u16,
    ) -> Result<Vec<Hash>> {
        if level > LEVEL_MAX {
            return Err(Error::invalid_input("level", "expected 0 to 63"));
        }
        let bytes = self.tile(origin_fingerprint, &tile_path(&level.to_string(), index, width)?).await?;
        read_tile(&bytes, width).ok_or_else(|| Error::response_invalid("the tile holds another number of hashes"))
    }

    /// The leaves of an entry bundle, from 256 · `index` on. `width` is how many there are; 256 is a full one. Each
    /// hashes to its anchor id with [`anchor_id_of`](crate::anchor_id_of).
    ///
    /// # Errors
    /// `invalid_input`, or that of the connection.
    pub async fn get_entries(
        &self,
        origin_fingerprint: &OriginFingerprint,
        index: u64,
        width: u16,
    ) -> Result<Vec<Vec<u8>>> {
        let bytes = self.tile(origin_fingerprint, &tile_path("entries", index, width)?).await?;
        read_entries(&bytes, width).ok_or_else(|| Error::response_invalid("the bundle holds another number of leaves"))
    }

    async fn tile(&self, origin_fingerprint: &OriginFingerprint, path: &str) -> Result<Vec<u8>> {
        let target = format!("/v1/origins/{origin_fingerprint}/{path}");
        let call = Call { accept: "application/octet-stream", key: KeyUse::Welcome, ..self.get(target) };
        Ok(self.call_raw(&call, &[]).await?.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{list, text, vectors};

    #[test]
    fn places_are_called_what_the_vectors_call_them() {
        let Some(file) = vectors("tiles") else { return };
        for case in list(&file, "/paths") {
            let index = case["index"].as_u64().unwrap();
            let width = u16::try_from(case["width"].as_u64().unwrap()).unwrap();
            assert_eq!(tile_path(&case["level"].to_string(), index, width).unwrap(), text(case, "tile"));
            assert_eq!(tile_path("entries", index, width).unwrap(), text(case, "entries"));
        }
        // Those that are no u16 cannot be said.
        for width in list(&file, "/bad_widths").iter().filter_map(|width| u16::try_from(width.as_u64()?).ok()) {
            assert_eq!(tile_path("0", 0, width).unwrap_err().field(), Some("width"));
        }
    }

    #[test]
    fn tiles_and_bundles_of_another_size_are_refused() {
        assert_eq!(read_tile(&[7; 64], 2).unwrap().len(), 2);
        for (length, width) in [(0, 1), (31, 1), (33, 1), (64, 1), (32, 2)] {
            assert_eq!(read_tile(&vec![7; length], width), None);
        }
        assert_eq!(read_entries(&[0, 1, 9, 0, 0], 2).unwrap(), [vec![9], vec![]]);
        for bytes in [&[][..], &[0], &[0, 1], &[0, 1, 9, 0], &[0, 1, 9, 0, 0], &[255, 255, 1]] {
            assert_eq!(read_entries(bytes, 1), None);
        }
    }
}
