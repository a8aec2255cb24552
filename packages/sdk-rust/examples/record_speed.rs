//! How long `record` takes. Nothing is sent: there is no service.
//!
//! ```text
//! cargo run --release --example record_speed -- 20000
//! ```

use std::time::{Duration, Instant};

use event_anchoring::{Client, Envelope, EnvelopeOptions, Recorder, RecorderOptions};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(20_000), |count| count.parse())?;
    let content = json!({
        "tool": "refund",
        "arguments": { "order": "4711", "amount": 1900, "currency": "EUR", "reason": "damaged on delivery" },
        "result": { "status": "paid", "transaction": "t-0123456789", "balance": 120_000 },
        "text": "x".repeat(180),
    });
    let client = Client::builder().endpoint("http://127.0.0.1:9").api_key("key").origin_fingerprint([7; 32]).build()?;
    let folder = std::env::temp_dir().join(format!("record-speed-{}", std::process::id()));
    let options = RecorderOptions { batch_wait: Duration::from_secs(3_600), ..RecorderOptions::default() };
    let recorder = Recorder::open(client, &folder, options.on_error(|_| ())).await?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        recorder.record(&content, EnvelopeOptions::new("tool.call").who("billing-agent"))?;
        times.push(started.elapsed());
    }
    let started = Instant::now();
    recorder.record(&content, "tool.call")?.durable().await?;
    let synced = started.elapsed();
    recorder.close(Duration::ZERO).await;
    std::fs::remove_dir_all(&folder)?;
    times.sort_unstable();
    let micros = |percent: usize| times.get(count * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    let bytes = Envelope::make(&content, &EnvelopeOptions::new("tool.call").who("billing-agent"))?.canonical().len();
    println!("{count} events of {bytes} bytes, durable after {synced:?}");
    println!("p50 {:.1} us, p90 {:.1}, p99 {:.1}", micros(50), micros(90), micros(99));
    Ok(())
}
