//! Against a real cluster: the one whose cluster.json `EVENT_ANCHORING_CLUSTER` names. Without it these tests say so.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../examples/first_anchor.rs"]
mod first_anchor;
#[path = "../examples/recommended_flow.rs"]
mod recommended_flow;

use event_anchoring::*;
use serde_json::Value;

struct Cluster {
    endpoints: Vec<String>,
    origins: Vec<String>,
    api_key: String,
    pin: String,
}

fn cluster() -> Option<Cluster> {
    let Ok(path) = std::env::var("EVENT_ANCHORING_CLUSTER") else {
        println!("skipped: EVENT_ANCHORING_CLUSTER names no cluster.json");
        return None;
    };
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let nodes = file["nodes"].as_array().unwrap();
    let texts = |name: &str| nodes.iter().map(|node| node[name].as_str().unwrap().to_owned()).collect();
    Some(Cluster {
        endpoints: texts("api_url"),
        origins: texts("origin_fingerprint"),
        api_key: file["api_key"].as_str().unwrap().to_owned(),
        pin: file["trust_root"]["root_thk"].as_str().unwrap().to_owned(),
    })
}

impl Cluster {
    fn client(&self) -> Client {
        Client::new(&*self.endpoints[0], &*self.api_key).unwrap()
    }

    /// It holds receipts and proofs against these.
    fn client_with(&self, chain: TrustRootChain) -> Client {
        Client::builder().endpoint(&*self.endpoints[0]).api_key(&*self.api_key).trust_root(chain).build().unwrap()
    }
}

/// Unlike any other of this or another run.
fn unique() -> Hash {
    Hash::new(*LocalKey::generate().unwrap().public_key().as_bytes())
}

struct Party {
    entity: Hash,
    key: LocalKey,
    claim: Created,
}

async fn register(client: &Client, issuer: &LocalKey) -> Party {
    let (entity, key) = (unique(), LocalKey::generate().unwrap());
    let input = ClaimInput {
        entity_fingerprint: entity,
        attribute_type: 7,
        attribute_hash: unique(),
        subject_public_key: key.public_key(),
        issuer_public_key: issuer.public_key(),
        issued_at: None,
        expires_at: None,
    };
    // As with an HSM: bytes out, signatures in.
    let prepared = client.prepare_claim_anchor(&input).await.unwrap();
    let subject = key.sign_bytes(prepared.subject_payload().bytes());
    let issuer = issuer.sign_bytes(prepared.issuer_payload(subject.to_hex()).unwrap().bytes());
    let signed = prepared.with_signatures(subject, issuer).unwrap();
    let claim = client.create_claim_anchor(&signed).await.unwrap();
    let again = client.create_claim_anchor(&signed).await.unwrap();
    assert!(again.replayed && again.anchor.anchor_id == claim.anchor.anchor_id);
    Party { entity, key, claim }
}

#[tokio::test]
async fn the_examples_run() {
    let Some(cluster) = cluster() else { return };
    first_anchor::run(&cluster.client(), &cluster.pin).await.unwrap();
    recommended_flow::run(&cluster.client(), &unique().to_hex()).await.unwrap();
}

#[tokio::test]
async fn a_node_describes_itself() {
    let Some(cluster) = cluster() else { return };
    let client = Client::builder().endpoint(&*cluster.endpoints[1]).build().unwrap();
    let health = client.healthz().await.unwrap();
    assert_eq!(health.origin_fingerprint.to_hex(), cluster.origins[1]);
    assert_eq!(health.versions.api_contract, "4.2");
    assert_eq!(client.origin_fingerprint().await.unwrap(), health.origin_fingerprint);
    assert!(client.readyz().await.unwrap().ready);
    assert_eq!(client.limits().await.unwrap().batch_items_max, 1_000);
    let chain = client.trust_root_chain(&cluster.pin).await.unwrap();
    assert!(chain.newest().trust_root().origin(&health.origin_fingerprint).is_some());
    assert_eq!(client.trust_root_chain(Hash::ZERO).await.unwrap_err().code(), "pin_mismatch");
}

#[tokio::test]
async fn claims_and_grants_come_stand_and_end() {
    let Some(cluster) = cluster() else { return };
    let client = cluster.client();
    let chain = client.trust_root_chain(&cluster.pin).await.unwrap();
    let issuer = LocalKey::generate().unwrap();
    let (grantor, grantee) = (register(&client, &issuer).await, register(&client, &issuer).await);
    let found = client.get_claim_anchor(grantor.entity, 7).await.unwrap();
    assert_eq!(found.anchor.anchor_id, grantor.claim.anchor.anchor_id);
    verify_receipt(&found.receipt, &chain, &ReceiptExpectation::default()).unwrap();
    let input = GrantInput {
        grantor_claim_ref: grantor.claim.anchor.anchor_id,
        grantee_claim_ref: grantee.claim.anchor.anchor_id,
        scope_hash: unique(),
        delegation_depth: 2,
        grantor_public_key: grantor.key.public_key(),
        witness_public_key: issuer.public_key(),
        parent_grant_ref: None,
        issued_at: None,
        not_before: Some(1),
        expires_at: Some(4_000_000_000_000),
    };
    let prepared = client.prepare_grant_anchor(&input).await.unwrap();
    let payload = prepared.grantor_payload().bytes().to_vec();
    let created = client.create_grant_anchor(&prepared.sign(&grantor.key, &issuer).await.unwrap()).await.unwrap();
    let expect =
        ReceiptExpectation { anchor_id: Some(created.anchor.anchor_id), ..ReceiptExpectation::payload(payload) };
    verify_receipt(&created.receipt.unwrap(), &chain, &expect).unwrap();
    let grant = created.anchor.anchor_id;
    let active = client.get_grant_anchor(grantor.entity, grantee.entity).await.unwrap();
    assert_eq!((active.anchor.anchor_id, active.others), (grant, 0));
    let options = VerifyOptions { trusted_roots: vec![grantor.claim.anchor.anchor_id], ..VerifyOptions::default() };
    let verified = client.verify_grant_anchor(grant, &options).await.unwrap();
    assert!(verified.verified.valid && verified.delegation.len() == 1);
    let with_proof = VerifyOptions { proof: true, ..VerifyOptions::default() };
    let held = cluster.client_with(chain.clone());
    let active = held.verify_grant_anchor(grant, &with_proof).await.unwrap().verified.proof.unwrap();

    let revocation = RevocationInput {
        target_origin_fingerprint: created.anchor.origin_fingerprint,
        target_anchor_id: grant,
        reason: RevocationReason::KeyCompromise,
        suspect_since: Some(1),
        issued_at: None,
        revoker_public_key: Some(issuer.public_key()),
    };
    let revocation = client.prepare_revocation(&revocation).await.unwrap().sign(&issuer).await.unwrap();
    let revoked = client.revoke_grant_anchor(&revocation).await.unwrap();
    assert_eq!(revoked.anchor.content.revocation().unwrap().authority, "witness");
    let gone = client.get_grant_anchor(grantor.entity, grantee.entity).await.unwrap_err();
    assert_eq!((gone.code(), gone.is_not_found()), ("no_active_grant", true));
    assert_eq!(gone.problem().unwrap().extensions["state"], "revoked");
    let by_client = Revocation::by_client(grantee.claim.anchor.anchor_id, RevocationReason::Cessation).unwrap();
    client.revoke_claim_anchor(&by_client).await.unwrap();
    let verified = client.verify_claim_anchor(grantee.claim.anchor.anchor_id, &VerifyOptions::default()).await.unwrap();
    assert_eq!((verified.verified.valid, verified.state), (false, RecordState::Revoked));
    let traced = held.trace(grant, &TraceOptions { proof: true, ..TraceOptions::default() }).await.unwrap();
    for (proof, state) in [(active, "active"), (traced.proof.unwrap(), "revoked")] {
        let bundle = Bundle::parse(proof.as_str()).unwrap();
        let pin = BundleTrust::Pin(Hash::from_hex(&cluster.pin).unwrap());
        let proved = verify_bundle(&bundle, &pin, &BundleExpectation::default()).unwrap();
        assert_eq!(proved.standing.unwrap().state, state);
    }
    let filter = GrantFilter::Between { grantor: grantor.entity, grantee: grantee.entity };
    let history = client.list_grant_anchors(&filter, &Page::default()).await.unwrap();
    let ended = history.items[0].ended.as_ref().unwrap();
    assert_eq!((history.items[0].anchor.anchor_id, ended.code.as_str()), (grant, "grant_revoked"));
    assert_eq!(ended.ended_by, Some(revoked.anchor.anchor_id));
    let filter = ClaimFilter { entity_fingerprint: grantee.entity, attribute_type: None };
    let history = client.list_claim_anchors(&filter, &Page::default()).await.unwrap();
    assert_eq!(history.items[0].ended.as_ref().unwrap().code, "claim_revoked");
    let before = VerifyOptions { as_of: Some(Position::Sequence(created.anchor.sequence)), ..VerifyOptions::default() };
    assert!(client.verify_claim_anchor(grantee.claim.anchor.anchor_id, &before).await.unwrap().verified.valid);
}

#[tokio::test]
async fn events_by_one_and_by_many() {
    let Some(cluster) = cluster() else { return };
    let client = cluster.client();
    let (event_hash, id) = (unique(), unique().to_hex());
    let options = EventOptions { client_event_id: ClientEventId::Given(id.clone()), ..EventOptions::default() };
    let created = client.create_event_anchor_with_options(event_hash, options.clone()).await.unwrap();
    let event = created.anchor.content.event().unwrap();
    let salt = event.client_event_salt.unwrap();
    assert_eq!(event.client_event_commit, Some(client_event_commit(&salt, &id)));
    let conflict = client.create_event_anchor_with_options(unique(), options).await.unwrap_err();
    assert_eq!((conflict.code(), conflict.is_conflict()), ("client_event_id_conflict", true));
    let listed = client.list_event_anchors(&EventFilter::ClientEventId(id), &Page::default()).await.unwrap();
    assert_eq!(listed.items[0].anchor_id, created.anchor.anchor_id);

    let key = LocalKey::generate().unwrap();
    let signed = client.prepare_event_anchor(&Event::new(unique()).unwrap(), &key.public_key()).await.unwrap();
    let dangling = SemanticAnchor { scroll_ref: Some(unique()), ..SemanticAnchor::default() };
    let events = [
        Event::new(unique()).unwrap(),
        signed.sign(&key).await.unwrap(),
        Event::new(unique()).unwrap().semantic_anchor(dangling),
    ];
    let batch = client.create_event_anchors(&events, BatchOptions::default()).await.unwrap();
    let sharing = BatchOptions { shared_receipts: true, ..BatchOptions::default() };
    let shared = client.create_event_anchors(&events, sharing).await.unwrap();
    let certified =
        |batch: &CreatedBatch| -> Vec<bool> { batch.results.iter().map(|item| item.receipt.is_some()).collect() };
    assert_eq!(certified(&shared), certified(&batch));
    let statuses: Vec<u16> = batch.results.iter().map(|item| item.status).collect();
    assert_eq!(statuses, [201, 201, 422]);
    let refused = client
        .create_event_anchors(&events, BatchOptions { atomic: true, ..BatchOptions::default() })
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "batch_refused");
    assert!(refused.problem().unwrap().extensions.contains_key("results"));

    let known = VerifyItem { anchor_id: created.anchor.anchor_id, event_hash: Some(event_hash) };
    let unknown = VerifyItem { anchor_id: unique(), event_hash: None };
    let verified = client.verify_event_anchors(&[known, unknown], &VerifyOptions::default()).await.unwrap();
    assert_eq!((verified.summary.valid, verified.summary.not_found), (1, 1));
    let other = VerifyOptions { event_hash: Some(unique()), ..VerifyOptions::default() };
    assert!(!client.verify_event_anchor(created.anchor.anchor_id, &other).await.unwrap().valid);
    let trace = client.trace(created.anchor.anchor_id, &TraceOptions::default()).await.unwrap();
    assert_eq!(trace.authorised_now, Authorised::Unknown);
}

#[tokio::test]
async fn writes_by_any_node_and_past_one_that_is_down() {
    let Some(cluster) = cluster() else { return };
    let down = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let builder = Client::builder().endpoint(down).endpoint(&*cluster.endpoints[2]).api_key(&*cluster.api_key);
    let client = builder.origin_fingerprint(&cluster.origins[0]).build().unwrap();
    let created = client.create_event_anchor(unique()).await.unwrap();
    assert_eq!(created.anchor.origin_fingerprint.to_hex(), cluster.origins[0]);
    let quick = client.with_prefer(Prefer::respond_async()).create_event_anchor(unique()).await.unwrap();
    let receipt = client.get_receipt(quick.anchor.anchor_id).await.unwrap();
    let chain = client.trust_root_chain(&cluster.pin).await.unwrap();
    verify_receipt(&receipt, &chain, &ReceiptExpectation::default()).unwrap();
    assert_eq!(client.get_anchor(quick.anchor.anchor_id).await.unwrap().anchor.finality, Finality::Certified);
}

#[tokio::test]
async fn heads_only_grow() {
    let Some(cluster) = cluster() else { return };
    let client = cluster.client();
    let origin = client.origin_fingerprint().await.unwrap();
    client.create_event_anchor(unique()).await.unwrap();
    let monitor = Monitor::new(client.clone(), &cluster.pin, MemoryMonitorStore::default()).unwrap();
    let first = monitor.update(&origin).await.unwrap().checkpoint.checkpoint;
    client.create_event_anchor(unique()).await.unwrap();
    let second = monitor.update(&origin).await.unwrap();
    assert_eq!(second.seen_size, Some(first.tree_size));
    let size = second.checkpoint.checkpoint.tree_size;
    assert!(size > first.tree_size);
    let proof = client.consistency(Some(&origin), first.tree_size, Some(size)).await.unwrap();
    assert_eq!((proof.from.root_hash, proof.to.root_hash), (first.root_hash, second.checkpoint.checkpoint.root_hash));
    let ahead = client.latest(Some(&origin), Some(1_000_000)).await.unwrap_err();
    assert_eq!(ahead.code(), "from_size_ahead");
}

#[tokio::test]
async fn the_log_itself() {
    let Some(cluster) = cluster() else { return };
    let client = cluster.client();
    let anchor = client.create_event_anchor(unique()).await.unwrap().anchor;
    let origin = anchor.origin_fingerprint;
    let chain = client.trust_root_chain(&cluster.pin).await.unwrap();
    let note = client.get_checkpoint(&origin).await.unwrap();
    let size = verify_checkpoint(&note, &chain).unwrap().checkpoint.tree_size;
    let (bundle, place) = (anchor.depth / 256, anchor.depth % 256);
    let width = u16::try_from((size - bundle * 256).min(256)).unwrap();
    let leaves = client.get_entries(&origin, bundle, width).await.unwrap();
    let hashes = client.get_tile(&origin, 0, bundle, width).await.unwrap();
    assert_eq!(leaves.iter().map(|leaf| anchor_id_of(leaf)).collect::<Vec<_>>(), hashes);
    assert_eq!(hashes[usize::try_from(place).unwrap()], anchor.anchor_id);
}

#[tokio::test]
async fn refusals_of_a_real_service() {
    let Some(cluster) = cluster() else { return };
    let stranger = Client::new(&*cluster.endpoints[0], "no-such-key").unwrap();
    let error = stranger.create_event_anchor(unique()).await.unwrap_err();
    assert!(error.is_unauthorized() && error.request_id().is_some());
    let client = cluster.client();
    assert_eq!(client.get_anchor(unique()).await.unwrap_err().code(), "anchor_not_found");
    let nowhere = SemanticAnchor { iris_ref: Some(unique()), ..SemanticAnchor::default() };
    let options = EventOptions { semantic_anchor: nowhere, ..EventOptions::default() };
    let error = client.create_event_anchor_with_options(unique(), options).await.unwrap_err();
    assert!(error.is_unprocessable());
    assert_eq!(error.problem().unwrap().errors[0].pointer.as_deref(), Some("/semantic_anchor/iris_ref"));
    let elsewhere = Client::builder().endpoint(&*cluster.endpoints[0]).api_key(&*cluster.api_key);
    let error =
        elsewhere.origin_fingerprint(unique()).build().unwrap().create_event_anchor(unique()).await.unwrap_err();
    assert_eq!((error.code(), error.is_conflict()), ("origin_unknown", true));
}
