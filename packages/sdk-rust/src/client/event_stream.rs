//! Server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use std::collections::VecDeque;

use crate::error::{Error, Result};

/// A head has a few thousand.
const EVENT_BYTES_MAX: usize = 256 * 1024;

/// One event. Comments, ids and pauses are not kept: a follower goes on from what it has verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerSentEvent {
    pub(super) kind: String,
    pub(super) data: String,
}

/// Takes the bytes of an answer in whatever pieces they come. What the end of the answer has cut is no event.
#[derive(Default)]
pub(super) struct EventStream {
    line: Vec<u8>,
    ended_in_cr: bool,
    kind: String,
    data: Vec<String>,
    data_bytes: usize,
    has_begun: bool,
}

impl EventStream {
    /// Adds the events that these bytes complete.
    pub(super) fn push(&mut self, chunk: &[u8], events: &mut VecDeque<ServerSentEvent>) -> Result<()> {
        for &byte in chunk {
            let follows_cr = std::mem::replace(&mut self.ended_in_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\r' | b'\n' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data_bytes > EVENT_BYTES_MAX {
                return Err(Error::response_invalid("an event is too large"));
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<ServerSentEvent> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if line.is_empty() {
            let (kind, data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
            self.data_bytes = 0;
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            return (!data.is_empty()).then(|| ServerSentEvent { kind, data: data.join("\n") });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "data" => {
                self.data_bytes += value.len();
                self.data.push(value.to_owned());
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_alike_wherever_it_is_cut() {
        let text = "\u{feff}:x\r\rdata: a\r\ndata:b\n\nid: 9\nevent: é\rdata\rdata:  c\r\n\r\nevent: none\n\ndata: d";
        let event = |kind: &str, data: &str| ServerSentEvent { kind: kind.to_owned(), data: data.to_owned() };
        for at in 1..text.len() {
            let (mut stream, mut events) = (EventStream::default(), VecDeque::new());
            stream.push(&text.as_bytes()[..at], &mut events).unwrap();
            stream.push(&text.as_bytes()[at..], &mut events).unwrap();
            assert_eq!(events, [event("message", "a\nb"), event("é", "\n c")]);
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let long = vec![b'x'; EVENT_BYTES_MAX + 1];
        assert!(EventStream::default().push(&long, &mut VecDeque::new()).is_err());
        let mut lines = EventStream::default();
        let many = "data: 0123456789\n".repeat(30_000);
        assert!(lines.push(many.as_bytes(), &mut VecDeque::new()).is_err());
    }
}
