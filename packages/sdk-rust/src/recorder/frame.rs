//! The bytes of a spool: frames, and the events in them. docs/recorder.md, "The spool".

/// Length of the body, its CRC, and the CRC of the body.
const HEADER_BYTES: usize = 12;
const BODY_BYTES_MIN: u32 = 22;
const BODY_BYTES_MAX: u32 = 64 * 1024 * 1024;
const KIND_EVENT: u8 = 1;
const OTHER_FORM: &str = "a frame of another form";

/// 16 bytes, which the service knows as 32 lower-case hex digits.
pub(crate) type OwnId = [u8; 16];

/// One event as it waits to be anchored.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SpooledEvent {
    pub(crate) client_event_id: OwnId,
    /// Bytes that lie beside the envelope.
    pub(crate) content: Option<Vec<u8>>,
    /// What the request says beside the hash: canonical JSON of an object.
    pub(crate) fields: Vec<u8>,
    /// The bytes that are hashed.
    pub(crate) envelope: Vec<u8>,
}

/// A part of a body, behind its length. A length beyond all limits makes a frame that no reader takes: the caller has
/// bounded the parts.
fn push_part(frame: &mut Vec<u8>, part: &[u8]) {
    frame.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    frame.extend_from_slice(part);
}

/// The frame of an event.
pub(crate) fn write_frame(id: &OwnId, content: Option<&[u8]>, fields: &[u8], envelope: &[u8]) -> Vec<u8> {
    let parts = content.map_or(0, |content| 4 + content.len()) + 4 + fields.len() + envelope.len();
    let mut frame = Vec::with_capacity(HEADER_BYTES + 18 + parts);
    frame.extend_from_slice(&[0; HEADER_BYTES]);
    frame.push(KIND_EVENT);
    frame.extend_from_slice(id);
    frame.push(u8::from(content.is_some()));
    if let Some(content) = content {
        push_part(&mut frame, content);
    }
    push_part(&mut frame, fields);
    frame.extend_from_slice(envelope);
    let (header, body) = frame.split_at_mut(HEADER_BYTES);
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    let checksums = [crc32fast::hash(&length).to_be_bytes(), crc32fast::hash(body).to_be_bytes()];
    header.copy_from_slice(&[length, checksums[0], checksums[1]].concat());
    frame
}

/// A frame that is not what was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Spoiled {
    /// Where it begins.
    pub(crate) offset: usize,
    pub(crate) detail: &'static str,
}

/// The events of a file, each with the place where its frame ends. What is torn off at the end is left out.
pub(crate) struct Frames<'a> {
    file: &'a [u8],
    start: usize,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(file: &'a [u8]) -> Self {
        Self { file, start: 0 }
    }

    /// The body that begins here; `None`: the file ends, torn or not.
    fn body(&self) -> Result<Option<&'a [u8]>, &'static str> {
        let rest = self.file.get(self.start..).unwrap_or_default();
        let Some((header, behind)) = rest.split_at_checked(HEADER_BYTES) else { return Ok(None) };
        let [length, length_crc, body_crc] = words_of(header);
        let is_good = crc32fast::hash(&length.to_be_bytes()) == length_crc;
        if !is_good || !(BODY_BYTES_MIN..=BODY_BYTES_MAX).contains(&length) {
            // A file system that lost power may have made a file longer, and not written it.
            let is_blank = rest.iter().all(|byte| *byte == 0);
            return if is_blank { Ok(None) } else { Err("a frame has a spoiled length") };
        }
        let Some(body) = behind.get(..length as usize) else { return Ok(None) };
        match crc32fast::hash(body) == body_crc {
            true => Ok(Some(body)),
            false if body.len() == behind.len() => Ok(None),
            false => Err("a frame has a spoiled body"),
        }
    }
}

impl Iterator for Frames<'_> {
    type Item = Result<(SpooledEvent, usize), Spoiled>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.start;
        let read = self.body().and_then(|body| match body {
            None => Ok(None),
            Some(body) => Ok(Some((event_of(body).ok_or(OTHER_FORM)?, offset + HEADER_BYTES + body.len()))),
        });
        match read {
            Ok(None) => None,
            Ok(Some((event, end))) => {
                self.start = end;
                Some(Ok((event, end)))
            }
            Err(detail) => {
                self.start = self.file.len();
                Some(Err(Spoiled { offset, detail }))
            }
        }
    }
}

fn words_of(header: &[u8]) -> [u32; 3] {
    let mut words = header.chunks_exact(4).map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
    [0; 3].map(|_| words.next().unwrap_or(0))
}

fn event_of(body: &[u8]) -> Option<SpooledEvent> {
    let (kind, rest) = body.split_first()?;
    let (client_event_id, rest) = rest.split_first_chunk::<16>()?;
    let (has_content, rest) = rest.split_first()?;
    let (content, rest) = match (*kind, *has_content) {
        (KIND_EVENT, 0) => (None, rest),
        (KIND_EVENT, 1) => part_of(rest).map(|(content, rest)| (Some(content.to_vec()), rest))?,
        _ => return None,
    };
    let (fields, envelope) = part_of(rest)?;
    Some(SpooledEvent {
        client_event_id: *client_event_id,
        content,
        fields: fields.to_vec(),
        envelope: envelope.to_vec(),
    })
}

fn part_of(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}
