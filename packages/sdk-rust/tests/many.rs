//! Many events over a scripted transport: in batches, in their order, and asked for again with the same ids.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{body, problem, Reply, Script};
use event_anchoring::*;

fn event(number: u64) -> Event {
    let mut hash = [0; 32];
    hash[24..].copy_from_slice(&number.to_be_bytes());
    Event::new(hash).unwrap()
}

fn number_of(item: &ManyItem) -> u64 {
    let event = item.result.anchor.as_ref().unwrap().content.event().unwrap();
    u64::from_be_bytes(event.event_hash.as_bytes()[24..].try_into().unwrap())
}

fn ids_of(request: &HttpRequest) -> Vec<String> {
    let events = body(request)["events"].as_array().unwrap().clone();
    events.iter().map(|event| event["client_event_id"].as_str().unwrap().to_owned()).collect()
}

fn options(concurrency: usize) -> ManyOptions {
    ManyOptions { concurrency }
}

#[tokio::test(start_paused = true)]
async fn answers_come_in_their_order_in_batches_of_a_thousand() {
    let script = Script::new((0..3).map(|_| Reply::Recorded));
    let mut many = script.client().create_many((0..2_300).map(event), options(2)).unwrap();
    for number in 0..2_300 {
        let item = many.next().await.unwrap().unwrap();
        assert_eq!((number_of(&item), item.client_event_id.len()), (number, 32));
    }
    assert_eq!((many.next().await.unwrap(), many.done(), many.left().count()), (None, 2_300, 0));
    let sizes: Vec<usize> = script.requests().iter().map(|request| ids_of(request).len()).collect();
    assert_eq!(sizes, [1_000, 1_000, 300]);
    assert!(script.requests().iter().all(|request| body(request)["receipts"] == "shared"));
    let mut none = Script::new([]).client().create_many([], options(1)).unwrap();
    assert_eq!(none.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn events_are_taken_when_there_is_room_for_them() {
    let script = Script::new((0..9).map(|_| Reply::Recorded));
    let taken = std::cell::Cell::new(0);
    let events = (0..10_000).map(event).inspect(|_| taken.set(taken.get() + 1));
    let mut many = script.client().create_many(events, options(2)).unwrap();
    many.next().await.unwrap().unwrap();
    // Two batches, and the one event that shows that the second is full.
    assert_eq!(taken.get(), 2_001);
    assert!(script.count() <= 2);
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_what_is_left_is_asked_for_with_the_same_ids() {
    let lost = || Reply::Fails(TransportStage::Lost);
    let script = Script::new([Reply::Recorded, lost(), Reply::Recorded, Reply::Recorded, Reply::Recorded]);
    let client = script.builder().origin_fingerprint([7; 32]).retry(RetryPolicy::none()).build().unwrap();
    let mut many = client.create_many((0..2_500).map(event), options(2)).unwrap();
    for number in 0..1_000 {
        assert_eq!(number_of(&many.next().await.unwrap().unwrap()), number);
    }
    let error = many.next().await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error:?}");
    // No answer came for the second batch, nor for the one that was under way beside it.
    let unsaid: Vec<Option<String>> = script.requests()[1..3].iter().flat_map(ids_of).map(Some).collect();
    assert_eq!(error.client_event_ids(), unsaid);
    assert_eq!(many.left().count(), 1_500);
    for number in 1_000..2_500 {
        assert_eq!(number_of(&many.next().await.unwrap().unwrap()), number);
    }
    assert_eq!(many.next().await.unwrap(), None);
    let again: Vec<Option<String>> = script.requests()[3..].iter().flat_map(ids_of).map(Some).collect();
    assert_eq!(again, unsaid);
}

/// Polls it until it waits, and drops it.
async fn given_up<I: Iterator<Item = Event>>(many: &mut ManyEvents<I>) {
    let waited = tokio::time::timeout(std::time::Duration::from_millis(1), many.next()).await;
    assert!(waited.is_err(), "it has answered");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_loses_no_event_and_sends_none_twice() {
    let go_on = std::sync::Arc::new(tokio::sync::Notify::new());
    let script = Script::new([Reply::Held(go_on.clone()), Reply::Recorded, Reply::Recorded]);
    let mut many = script.client().create_many((0..2_500).map(event), options(2)).unwrap();
    for _ in 0..3 {
        given_up(&mut many).await;
        assert_eq!((many.done(), many.left().count(), script.count()), (0, 2_001, 2));
    }
    go_on.notify_one();
    for number in 0..2_500 {
        assert_eq!(number_of(&many.next().await.unwrap().unwrap()), number);
    }
    assert_eq!((many.next().await.unwrap(), many.left().count(), script.count()), (None, 0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_behind_a_failure_asks_again_with_the_same_ids() {
    let never = std::sync::Arc::new(tokio::sync::Notify::new());
    let lost = Reply::Fails(TransportStage::Lost);
    let script = Script::new([lost, Reply::Held(never), Reply::Recorded, Reply::Recorded]);
    let client = script.builder().origin_fingerprint([7; 32]).retry(RetryPolicy::none()).build().unwrap();
    let mut many = client.create_many((0..2_000).map(event), options(2)).unwrap();
    // The first batch has failed, and the second is waited for before that is told.
    given_up(&mut many).await;
    assert_eq!((many.done(), many.left().count(), script.count()), (0, 2_000, 2));
    for number in 0..2_000 {
        assert_eq!(number_of(&many.next().await.unwrap().unwrap()), number);
    }
    assert_eq!((many.next().await.unwrap(), many.left().count()), (None, 0));
    let asked: Vec<Vec<String>> = script.requests().iter().map(ids_of).collect();
    assert_eq!(asked[2..], asked[..2]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_all_is_told_as_it_is() {
    let script = Script::new((0..2).map(|_| problem(401, "api_key_invalid")));
    let mut many = script.client().create_many((0..1_001).map(event), options(2)).unwrap();
    let error = many.next().await.unwrap_err();
    assert!(error.is_unauthorized() && error.client_event_ids().is_empty());
    assert_eq!(script.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn signed_events_go_in_smaller_batches() {
    let script = Script::new((0..2).map(|_| Reply::Recorded));
    let (client, key) = (script.client(), LocalKey::from_seed([9; 32]));
    let mut signed = Vec::new();
    for number in 0..300 {
        let prepared = client.prepare_event_anchor(&event(number), &key.public_key()).await.unwrap();
        signed.push(prepared.sign(&key).await.unwrap());
    }
    let mut many = client.create_many(signed, ManyOptions::default()).unwrap();
    while let Some(item) = many.next().await.unwrap() {
        assert_eq!(number_of(&item), many.done() - 1);
    }
    let sizes: Vec<usize> = script.requests().iter().map(|request| ids_of(request).len()).collect();
    assert_eq!(sizes, [256, 44]);
}

#[tokio::test(start_paused = true)]
async fn events_without_ids_are_refused_and_the_others_sent() {
    let script = Script::new([Reply::Recorded]);
    let events = vec![event(0), event(1).client_event_id(ClientEventId::None), event(2)];
    let mut many = script.client().create_many(events, ManyOptions::default()).unwrap();
    assert_eq!(many.next().await.unwrap_err().field(), Some("client_event_id"));
    assert_eq!(number_of(&many.next().await.unwrap().unwrap()), 0);
    assert_eq!(number_of(&many.next().await.unwrap().unwrap()), 2);
    assert_eq!(many.next().await.unwrap(), None);
    for concurrency in [0, 17] {
        let refused = script.client().create_many([], options(concurrency));
        assert_eq!(refused.err().unwrap().field(), Some("concurrency"));
    }
}
