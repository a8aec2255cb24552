//! A first anchor, and a receipt that is verified without trusting the service.
//!
//! ```text
//! cargo run --example first_anchor -- http://127.0.0.1:4001 <API_KEY> <ROOT_THK>
//! ```

use event_anchoring::{verify_receipt, Client, Hash, ReceiptExpectation, Result};

/// `pinned_root_thk`: what whoever runs the service has published, learnt by other means than from the service.
pub async fn run(client: &Client, pinned_root_thk: &str) -> Result<()> {
    let event_hash = Hash::sha256(b"what happened");
    let created = client.create_event_anchor(event_hash).await?;
    println!("anchored as {}", created.anchor.anchor_id);

    let receipt = client.get_receipt(created.anchor.anchor_id).await?;
    let trust_roots = client.trust_root_chain(pinned_root_thk).await?;
    verify_receipt(&receipt, &trust_roots, &ReceiptExpectation::event(event_hash))?;
    println!("proved by {} bytes: keep them", receipt.to_proof_text().len());
    Ok(())
}

#[allow(dead_code)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, api_key, pinned_root_thk] = arguments.as_slice() else {
        return Err("expected an endpoint, an API key and a RootTHK".into());
    };
    Ok(run(&Client::new(endpoint, api_key)?, pinned_root_thk).await?)
}
