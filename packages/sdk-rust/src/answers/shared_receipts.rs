//! Makes receipts whole that name their checkpoint by its place in the answer.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::CreatedBatch;

/// The answer to a batch, whose receipts may be shared: as it is read, they become whole.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct AnyBatch(pub(crate) CreatedBatch);

impl TryFrom<Value> for AnyBatch {
    type Error = String;

    fn try_from(answer: Value) -> Result<Self, String> {
        let batch = serde_json::from_value(with_whole_receipts(answer)?);
        batch.map(Self).map_err(|error| error.to_string())
    }
}

fn whole_receipt(item: &Map<String, Value>, shared: &Value, named: &[Value]) -> Result<Value, String> {
    let mut receipt = shared.as_object().ok_or("a shared receipt is no object")?.clone();
    let place = receipt.remove("checkpoint").and_then(|place| place.as_u64());
    let checkpoint = place
        .and_then(|place| usize::try_from(place).ok())
        .and_then(|place| named.get(place))
        .and_then(Value::as_object)
        .ok_or("a shared receipt names no checkpoint of the answer")?;
    receipt.extend(checkpoint.clone());
    let anchor_id = item.get("anchor").and_then(|anchor| anchor.get("anchor_id")).cloned().unwrap_or(Value::Null);
    receipt.insert("anchor_id".into(), anchor_id);
    Ok(Value::Object(receipt))
}

fn with_whole_receipts(mut answer: Value) -> Result<Value, String> {
    let named = answer.get("checkpoints").and_then(Value::as_array).cloned().unwrap_or_default();
    let items = answer.get_mut("results").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
        match item.remove("shared_receipt") {
            None | Some(Value::Null) => {}
            Some(shared) => {
                let receipt = whole_receipt(item, &shared, &named)?;
                item.insert("receipt".into(), receipt);
            }
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::with_whole_receipts;

    #[test]
    fn a_shared_receipt_becomes_whole() {
        let shared = json!({ "leaf": "AA==", "index": 4, "inclusion": ["BB=="], "checkpoint": 1 });
        let first = json!({ "tree_size": 5, "checkpoint": "one", "trust_root_version": 1 });
        let second = json!({ "tree_size": 9, "checkpoint": "two", "trust_root_version": 2 });
        let refused = json!({ "status": 422, "problem": {} });
        let answer = json!({
            "results": [{ "anchor": { "anchor_id": "ab" }, "shared_receipt": shared }, refused],
            "checkpoints": [first, second],
        });
        let whole = with_whole_receipts(answer).unwrap();
        let receipt = json!({
            "anchor_id": "ab", "leaf": "AA==", "index": 4, "inclusion": ["BB=="],
            "tree_size": 9, "checkpoint": "two", "trust_root_version": 2,
        });
        assert_eq!(whole["results"], json!([{ "anchor": { "anchor_id": "ab" }, "receipt": receipt }, refused]));
    }

    #[test]
    fn one_that_names_no_checkpoint_is_refused() {
        for place in [json!(1), json!(-1), json!("0"), json!(null)] {
            let shared = json!({ "leaf": "", "index": 0, "inclusion": [], "checkpoint": place });
            let answer = json!({ "results": [{ "anchor": {}, "shared_receipt": shared }], "checkpoints": [{}] });
            assert!(with_whole_receipts(answer).is_err());
        }
        assert!(with_whole_receipts(json!({ "results": [{ "shared_receipt": "none" }] })).is_err());
    }
}
