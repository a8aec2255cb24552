use serde_json::Value;

use super::{hex, list, text, vectors};
use crate::recorder::{write_frame, Frames, SpooledEvent};
use crate::Envelope;

fn event_of(case: &Value) -> SpooledEvent {
    SpooledEvent {
        client_event_id: hex(case, "client_event_id").try_into().unwrap(),
        content: case["content"].as_str().map(|content| crate::bytes::from_hex(content).unwrap()),
        fields: text(case, "fields").as_bytes().to_vec(),
        envelope: text(case, "envelope").as_bytes().to_vec(),
    }
}

#[test]
fn good_files() {
    let Some(file) = vectors("spool") else { return };
    for case in list(&file, "/good") {
        let (name, bytes) = (text(case, "name"), hex(case, "hex"));
        let read: Result<Vec<_>, _> = Frames::new(&bytes).collect();
        let read = read.unwrap_or_else(|spoiled| panic!("{name}: {spoiled:?}"));
        let events: Vec<SpooledEvent> = list(case, "/events").iter().map(event_of).collect();
        assert!(read.iter().map(|(event, _)| event).eq(&events), "{name}");
        let length = case["length"].as_u64().unwrap() as usize;
        assert_eq!(read.last().map_or(0, |(_, end)| *end), length, "{name}");
        let again = events.iter().flat_map(|SpooledEvent { client_event_id, content, fields, envelope }| {
            Envelope::parse(envelope).unwrap();
            write_frame(client_event_id, content.as_deref(), fields, envelope)
        });
        assert_eq!(again.collect::<Vec<u8>>(), bytes[..length], "{name}");
    }
}

#[test]
fn spoiled_files() {
    let Some(file) = vectors("spool") else { return };
    for case in list(&file, "/corrupt") {
        let bytes = hex(case, "hex");
        let spoiled = Frames::new(&bytes).find_map(Result::err);
        let offset = spoiled.map(|spoiled| spoiled.offset as u64);
        assert_eq!(offset, case["offset"].as_u64(), "{}", text(case, "name"));
    }
}

#[test]
fn a_file_that_ends_anywhere_gives_the_events_before() {
    let Some(file) = vectors("spool") else { return };
    let bytes = hex(list(&file, "/good").iter().find(|case| text(case, "name") == "every form").unwrap(), "hex");
    let ends: Vec<usize> = Frames::new(&bytes).map(|frame| frame.unwrap().1).collect();
    for length in 0..bytes.len() {
        let whole = ends.iter().filter(|end| **end <= length).count();
        let read: Result<Vec<_>, _> = Frames::new(&bytes[..length]).collect();
        assert_eq!(read.unwrap().len(), whole, "{length}");
    }
}
