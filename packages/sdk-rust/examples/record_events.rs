//! What happens is written down, anchored in the background, and kept beside its receipt.
//!
//! ```text
//! cargo run --example record_events -- http://127.0.0.1:4001 <API_KEY> audit
//! ```

use std::time::Duration;

use event_anchoring::{Client, EnvelopeOptions, Recorder, RecorderOptions, Result};
use serde_json::json;

/// Leaves the envelope and the receipt of one event in the folder.
pub async fn record_events(client: Client, directory: &str) -> Result<()> {
    let recorder = Recorder::open(client, directory, RecorderOptions::default()).await?;
    let refund = json!({ "order": "4711", "amount": 19.5 });
    recorder.record(&refund, EnvelopeOptions::new("refund.paid").who("billing-agent"))?;
    recorder.close(Duration::from_secs(10)).await; // directory/kept has the envelope and its receipt
    Ok(())
}

#[allow(dead_code)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, api_key, directory] = arguments.as_slice() else {
        return Err("expected an endpoint, an API key and a folder".into());
    };
    Ok(record_events(Client::new(endpoint, api_key)?, directory).await?)
}
