//! The recommended flow: register who is who, delegate, act, and show on whose behalf.
//!
//! ```text
//! cargo run --example recommended_flow -- http://127.0.0.1:4001 <API_KEY>
//! ```

use event_anchoring::{
    signer_of, Authorised, ClaimInput, Client, ClientEventId, Created, Event, GrantInput, Hash, LocalKey, Payload,
    Result, Revocation, RevocationReason, SemanticAnchor, Signer, TraceOptions, VerifyOptions,
};

/// A claim about an entity, signed by its subject and by who vouches for it.
async fn register(client: &Client, name: &str, subject: &LocalKey, issuer: &dyn Signer) -> Result<Created> {
    let claim = ClaimInput {
        entity_fingerprint: Hash::sha256(name),
        attribute_type: 0x10,
        attribute_hash: Hash::sha256(format!("what is claimed of {name}")),
        subject_public_key: subject.public_key(),
        issuer_public_key: issuer.public_key(),
        issued_at: None,
        expires_at: None,
    };
    let signed = client.prepare_claim_anchor(&claim).await?.sign(subject, issuer).await?;
    client.create_claim_anchor(&signed).await
}

/// Runs the flow; `run` makes its names unlike those of any other run.
pub async fn run(client: &Client, run: &str) -> Result<()> {
    // Keys in this process, for the sake of the example. One of them stands in for an HSM: what it is asked to sign is
    // all that it sees.
    let (deployer, agent, witness) = (LocalKey::generate()?, LocalKey::generate()?, LocalKey::generate()?);
    let in_hsm = std::sync::Arc::new(LocalKey::generate()?);
    let issuer = signer_of(in_hsm.public_key(), move |payload: Payload| {
        let hsm = std::sync::Arc::clone(&in_hsm);
        async move { Ok(hsm.sign_bytes(payload.bytes())) }
    });

    // Who: a deployer and its agent.
    let deployer_claim = register(client, &format!("deployer {run}"), &deployer, &issuer).await?.anchor.anchor_id;
    let agent_claim = register(client, &format!("agent {run}"), &agent, &issuer).await?.anchor.anchor_id;
    let verified = client.verify_claim_anchor(agent_claim, &VerifyOptions::default()).await?;
    println!("claim {agent_claim} is valid: {}", verified.verified.valid);

    // On whose behalf, and how far.
    let grant = GrantInput {
        grantor_claim_ref: deployer_claim,
        grantee_claim_ref: agent_claim,
        scope_hash: Hash::sha256("may order spare parts"),
        delegation_depth: 0,
        grantor_public_key: deployer.public_key(),
        witness_public_key: witness.public_key(),
        parent_grant_ref: None,
        issued_at: None,
        not_before: None,
        expires_at: None,
    };
    let signed = client.prepare_grant_anchor(&grant).await?.sign(&deployer, &witness).await?;
    let grant = client.create_grant_anchor(&signed).await?.anchor.anchor_id;

    // What was done, signed by who did it.
    let event_hash = Hash::sha256(format!("order 42 of {run}"));
    let event = Event::new(event_hash)?
        .semantic_anchor(SemanticAnchor {
            iris_ref: Some(agent_claim),
            grant_ref: Some(grant),
            event_data_hash: Some(event_hash),
            ..SemanticAnchor::default()
        })
        .client_event_id(ClientEventId::Given(format!("order 42 of {run}")));
    let event = client.prepare_event_anchor(&event, &agent.public_key()).await?.sign(&agent).await?;
    let act = client.create_event(&event).await?;
    println!("event {} in a tree of origin {}", act.anchor.anchor_id, act.anchor.origin_fingerprint);
    let again = client.create_event(&event).await?;
    println!("sent twice, recorded once: {}", again.replayed && again.anchor.anchor_id == act.anchor.anchor_id);

    // And back again: who acted, who delegated, within what bounds.
    let trace = client.trace(act.anchor.anchor_id, &TraceOptions::default()).await?;
    println!("authorised when it was done: {:?}, now: {:?}", trace.authorised_at_action, trace.authorised_now);

    // The deployer takes the grant back. What was done under it stays authorised when it was done.
    let revocation = Revocation::by_client(grant, RevocationReason::PrivilegeWithdrawn)?;
    client.revoke_grant_anchor(&revocation).await?;
    let trace = client.trace(act.anchor.anchor_id, &TraceOptions::default()).await?;
    println!("authorised when it was done: {:?}, now: {:?}", trace.authorised_at_action, trace.authorised_now);
    assert_eq!((trace.authorised_at_action, trace.authorised_now), (Authorised::Yes, Authorised::No));
    Ok(())
}

#[allow(dead_code)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, api_key] = arguments.as_slice() else {
        return Err("expected an endpoint and an API key".into());
    };
    let name = LocalKey::generate()?.public_key().to_hex();
    Ok(run(&Client::new(endpoint, api_key)?, &name).await?)
}
