//! From an event of the spool to what the service is asked, and what its answers mean.

use serde_json::{Map, Value};

use super::frame::SpooledEvent;
use crate::bytes::to_hex;
use crate::canonical_json::canonical_json;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::hash::{Hash, PublicKey};
use crate::input::{Event, SemanticAnchor};
use crate::signer::Signer;

/// What the service says of one event, and would say again.
const FOR_GOOD: [u16; 6] = [400, 404, 409, 410, 413, 422];
/// What it says of a batch in which one event may be the reason.
const ABOUT_SOME: [u16; 3] = [400, 413, 422];

/// What the request says beside the hash, as the spool holds it.
pub(super) fn fields_of(semantic_anchor: &SemanticAnchor, actor_public_key: Option<PublicKey>) -> Result<Vec<u8>> {
    let mut fields = Map::new();
    if let Some(key) = actor_public_key {
        fields.insert("actor_public_key".into(), key.to_hex().into());
    }
    if let Some(semantic_anchor) = semantic_anchor.to_json() {
        fields.insert("semantic_anchor".into(), semantic_anchor);
    }
    canonical_json(&fields).map_err(|cause| Error::invalid_input("semantic_anchor", cause.to_string()))
}

/// Whether its request carries a signature: a batch takes fewer of these.
pub(super) fn is_signed(event: &SpooledEvent) -> bool {
    let name = b"\"actor_public_key\"";
    event.fields.windows(name.len()).any(|part| part == name)
}

/// The event as the client takes it, signed if it was recorded to be signed: the spool has no key.
pub(super) async fn request_of(client: &Client, actor: Option<&dyn Signer>, event: &SpooledEvent) -> Result<Event> {
    let unreadable = |cause: serde_json::Error| Error::invalid_input("fields", cause.to_string());
    let mut fields: Map<String, Value> = serde_json::from_slice(&event.fields).map_err(unreadable)?;
    let signature = fields.remove("actor_signature");
    fields.insert("event_hash".into(), Hash::sha256(&event.envelope).to_hex().into());
    fields.insert("client_event_id".into(), to_hex(&event.client_event_id).into());
    let read = Event::from_json(&Value::Object(fields))?;
    let Some(key) = read.actor_public_key else { return Ok(read.input) };
    let prepared = client.prepare_event_anchor(&read.input, &key).await?;
    if let Some(signature) = signature {
        return prepared.with_signature(signature.as_str().unwrap_or_default());
    }
    match actor.filter(|actor| actor.public_key() == key) {
        Some(actor) => prepared.sign(actor).await,
        None => {
            let message = format!("an event was recorded to be signed with {key}, which is not given");
            Err(Error::invalid_input("actor", message))
        }
    }
}

/// Whether the service would refuse the event again. A closed or lost origin is not its fault: another one takes it.
pub(super) fn is_for_good(problem: &Error) -> bool {
    problem.status().is_some_and(|status| FOR_GOOD.contains(&status)) && !problem.code().starts_with("origin_")
}

/// Whether fewer events might be taken. Something on the way that is not the service has no code of its own.
pub(super) fn is_about_events(error: &Error) -> bool {
    let is_of_service =
        error.is_problem() && !error.code().starts_with("http_") && !error.code().starts_with("origin_");
    let is_refused = is_of_service && error.status().is_some_and(|status| ABOUT_SOME.contains(&status));
    is_refused || error.field().is_some_and(|field| field.starts_with("events"))
}
