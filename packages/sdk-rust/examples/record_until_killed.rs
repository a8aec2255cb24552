//! Records events, and may be killed at any time: for `test/long/recorder-kills.test.ts` of the repository.
//!
//! ```text
//! export ANCHORING_API_KEY=<API_KEY>
//! cargo run --example record_until_killed -- audit http://127.0.0.1:4001 65536 0 300 </dev/null
//! ```
//!
//! Arguments: the folder, the API's addresses with commas between them, how many bytes may wait, the number of the
//! first event, and that after the last. Prints the number of each event when `record` has returned for it. An event has
//! the same id, time and content whenever it is recorded. Flushes and ends when its standard input has ended.

use std::io::{Read as _, Write as _};
use std::time::{Duration, UNIX_EPOCH};

use event_anchoring::{Client, EnvelopeOptions, Hash, RecordOptions, Recorder, RecorderOptions, When};
use serde_json::json;

/// 2026-11-23T10:00:00Z, after 1970.
const START: Duration = Duration::from_secs(1_795_428_000);

/// Until there is room.
async fn record(recorder: &Recorder, directory: &str, at: u64) -> Result<(), Box<dyn std::error::Error>> {
    let content = json!({ "at": at, "text": "x".repeat(300) });
    let when = When::At(UNIX_EPOCH + START + Duration::from_millis(at));
    let mut said = RecordOptions::from(EnvelopeOptions::new("count").when(when));
    said.client_event_id = Hash::sha256(format!("{directory} {at}")).as_ref().first_chunk().copied();
    loop {
        match recorder.record(&content, said.clone()) {
            Ok(_) => return Ok(()),
            Err(error) if error.is_spool_full() => recorder.room().await?,
            Err(error) => return Err(error.into()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, endpoints, spool_bytes_max, first, end] = arguments.as_slice() else {
        return Err("expected a folder, addresses, a number of bytes, and the numbers of two events".into());
    };
    let client = endpoints.split(',').fold(Client::builder(), |builder, endpoint| builder.endpoint(endpoint));
    let client = client.api_key(std::env::var("ANCHORING_API_KEY")?).build()?;
    let options = RecorderOptions {
        batch_events_max: 200,
        batch_wait: Duration::from_millis(20),
        spool_bytes_max: spool_bytes_max.parse()?,
        ..RecorderOptions::default()
    };
    let recorder = Recorder::open(client, directory, options.on_error(|_| ())).await?;
    for at in first.parse()?..end.parse()? {
        record(&recorder, directory, at).await?;
        writeln!(std::io::stdout(), "{at}")?;
        // Events are sent by this very thread.
        tokio::task::yield_now().await;
    }
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    recorder.flush(Duration::from_secs(600)).await?;
    recorder.close(Duration::from_secs(10)).await;
    Ok(())
}
