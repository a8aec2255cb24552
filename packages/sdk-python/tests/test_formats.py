from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Dict

import pytest

from event_anchoring import _bytes, _tags, leaf, merkle, notes, payloads, policy, proof, receipt, trust_root
from event_anchoring.ed25519 import verify_signature
from event_anchoring.errors import VerificationError

from .vectors import load, name_of

BYTES = load("bytes")
TAGS = load("tags")
LEAVES = load("leaf")
MERKLE = load("merkle")
NOTES = load("note")
CHECKPOINTS = load("checkpoint")
COSIGNATURES = load("cosignature")
PAYLOADS = load("payloads")
TRUST_ROOTS = load("trust-root")
RECEIPTS = load("receipt")


def refusal(code: str) -> Any:
    return pytest.raises(VerificationError, check=lambda error: error.code == code)


def test_hex() -> None:
    for case in BYTES["hex"]["good"]:
        assert _bytes.hex_to_bytes(case["text"]).hex() == case["result"]
    for text in BYTES["hex"]["bad"]:
        with refusal("hex_invalid"):
            _bytes.hex_to_bytes(text)


def test_base64() -> None:
    for case in BYTES["base64"]["good"]:
        assert _bytes.base64_to_bytes(case["text"]).hex() == case["result"]
    for text in BYTES["base64"]["bad"]:
        with refusal("base64_invalid"):
            _bytes.base64_to_bytes(text)


def test_u64() -> None:
    for case in BYTES["u64"]["good"]:
        assert _bytes.read_u64(bytes.fromhex(case["bytes"])) == case["value"]
        assert _bytes.u64(case["value"]).hex() == case["bytes"]
    for text in BYTES["u64"]["bad"]:
        if len(text) == 16:
            with refusal("integer_unsafe"):
                _bytes.read_u64(bytes.fromhex(text))


def test_decimals() -> None:
    for text in BYTES["decimal"]["good"]:
        assert _bytes.parse_decimal(text) == int(text)
    for text in BYTES["decimal"]["bad"]:
        assert _bytes.parse_decimal(text) is None


def test_tags() -> None:
    for case in TAGS["tags"]:
        assert _tags.tag(case["name"]).hex() == case["bytes"]
    for name in TAGS["bad_tag_names"]:
        with pytest.raises(ValueError, match="not the name of a tag"):
            _tags.tag(name)


def test_derived_values() -> None:
    origin = TAGS["origin_fingerprint"]
    key = bytes.fromhex(origin["cosigner_public_key"])
    assert _tags.origin_fingerprint_of(bytes.fromhex(origin["cluster_id"]), key).hex() == origin["result"]
    commit = TAGS["client_event_commit"]
    made = _tags.client_event_commit(bytes.fromhex(commit["salt"]), commit["client_event_id"])
    assert made.hex() == commit["result"]
    client = TAGS["client_revoker"]
    assert _tags.client_revoker(bytes.fromhex(client["api_client_id"])).hex() == client["result"]
    operator = TAGS["operator_revoker"]
    assert _tags.operator_revoker(bytes.fromhex(operator["public_key"])).hex() == operator["result"]


def fields_of(decoded: leaf.Leaf) -> Dict[str, Any]:
    fields = asdict(decoded)
    fields["kind"] = leaf.kind_of(decoded)
    if "semantic_anchor" in fields:
        fields["semantic_anchor"] = {name: each.hex() for name, each in fields["semantic_anchor"].items()}
    return {name: each.hex() if isinstance(each, bytes) else each for name, each in fields.items()}


@pytest.mark.parametrize("case", LEAVES["good"], ids=lambda case: str(case["fields"]["kind"]))
def test_good_leaf(case: Any) -> None:
    encoded = bytes.fromhex(case["leaf"])
    decoded = leaf.decode_leaf(encoded)
    assert fields_of(decoded) == case["fields"]
    assert leaf.encode_leaf(decoded) == encoded
    assert leaf.anchor_id_of(encoded).hex() == case["anchor_id"]


@pytest.mark.parametrize("case", LEAVES["bad"], ids=name_of)
def test_bad_leaf(case: Any) -> None:
    with refusal(case["error"]):
        leaf.decode_leaf(bytes.fromhex(case["leaf"]))


def test_roots() -> None:
    leaves = [bytes.fromhex(each) for each in MERKLE["leaves"]]
    for size, root in enumerate(MERKLE["roots"]):
        frontier = merkle.Frontier()
        for each in leaves[:size]:
            frontier.append(merkle.leaf_hash(each))
        assert frontier.root().hex() == root
        assert frontier.size == size


def inclusion_holds(case: Any) -> bool:
    path = [bytes.fromhex(each) for each in case["path"]]
    hashed, root = bytes.fromhex(case["leaf_hash"]), bytes.fromhex(case["root_hash"])
    return merkle.is_included(hashed, case["index"], case["size"], path, root)


def consistency_holds(case: Any) -> bool:
    path = [bytes.fromhex(each) for each in case["path"]]
    old_root, root = bytes.fromhex(case["old_root"]), bytes.fromhex(case["root"])
    return merkle.is_consistent(case["old_size"], old_root, case["size"], root, path)


def test_proofs() -> None:
    assert [case["name"] for case in MERKLE["inclusion"]["good"] if not inclusion_holds(case)] == []
    assert [case["name"] for case in MERKLE["inclusion"]["bad"] if inclusion_holds(case)] == []
    assert [case["name"] for case in MERKLE["consistency"]["good"] if not consistency_holds(case)] == []
    assert [case["name"] for case in MERKLE["consistency"]["bad"] if consistency_holds(case)] == []


def test_good_notes() -> None:
    for case in NOTES["good"]:
        note = notes.parse_note(case["note"])
        assert notes.format_note(note.text, note.lines) == case["note"]
        verified = notes.verify_known_lines(note, [notes.parse_vkey(vkey) for vkey in case["vkeys"]])
        assert not isinstance(verified, notes.NoteRefusal)
        assert len(verified) == len(case["vkeys"])


@pytest.mark.parametrize("case", NOTES["bad"], ids=name_of)
def test_bad_note(case: Any) -> None:
    with refusal(case["error"]):
        notes.parse_note(case["note"])


def test_vkeys() -> None:
    for vkey in NOTES["vkey"]["good"]:
        assert str(notes.parse_vkey(vkey)) == vkey
    for case in NOTES["vkey"]["bad"]:
        with refusal(case["error"]):
            notes.parse_vkey(case["vkey"])


def test_good_checkpoints() -> None:
    for case in CHECKPOINTS["good"]:
        checkpoint = notes.parse_checkpoint(case["text"])
        assert (checkpoint.origin, checkpoint.tree_size) == (case["origin"], case["tree_size"])
        assert checkpoint.root_hash.hex() == case["root_hash"]
        assert checkpoint.text() == case["text"]


@pytest.mark.parametrize("case", CHECKPOINTS["bad"], ids=name_of)
def test_bad_checkpoint(case: Any) -> None:
    with refusal(case["error"]):
        notes.parse_checkpoint(case["text"])


def test_names() -> None:
    assert all(notes.is_cluster_name(name) for name in CHECKPOINTS["cluster_names"]["good"])
    assert not any(notes.is_cluster_name(name) for name in CHECKPOINTS["cluster_names"]["bad"])
    assert all(notes.is_node_id(name) for name in CHECKPOINTS["node_ids"]["good"])
    assert not any(notes.is_node_id(name) for name in CHECKPOINTS["node_ids"]["bad"])


def test_cosignature_message() -> None:
    message = COSIGNATURES["message"]
    assert notes.cosignature_message(message["time_s"], message["checkpoint"]).hex() == message["bytes"]


@pytest.mark.parametrize("case", COSIGNATURES["good"] + COSIGNATURES["bad"], ids=name_of)
def test_quorum(case: Any) -> None:
    rule = policy.parse_policy(COSIGNATURES["policy"])
    cosigners = [vkey for _, vkey in rule.witnesses]
    verified = notes.verify_known_lines(notes.parse_note(case["note"]), cosigners)
    if isinstance(verified, notes.NoteRefusal):
        assert verified.code == case["refusal"]
        assert not case["satisfied"]
        return
    assert case["refusal"] is None
    assert rule.is_satisfied_by(verified) is case["satisfied"]
    distinct = notes.distinct_lines(verified, cosigners)
    assert (len(distinct) >= rule.groups[0].threshold) is case["satisfied"]
    if case["satisfied"]:
        times = sorted(line.time_s for line in distinct if line.time_s is not None)
        assert times[rule.groups[0].threshold - 1] == case["certified_at_s"]


def test_good_policies() -> None:
    for text in COSIGNATURES["policies"]["good"]:
        rule = policy.parse_policy(text)
        assert policy.parse_policy(str(rule)) == rule


@pytest.mark.parametrize("case", COSIGNATURES["policies"]["bad"], ids=name_of)
def test_bad_policy(case: Any) -> None:
    with refusal(case["error"]):
        policy.parse_policy(case["policy"])


def verifies(case: Any) -> bool:
    public_key, signature = bytes.fromhex(case["public_key"]), bytes.fromhex(case["signature"])
    return verify_signature(public_key, bytes.fromhex(case["message"]), signature)


def test_payload_signatures() -> None:
    assert [case["name"] for case in PAYLOADS["good"] if not verifies(case)] == []
    assert [case["name"] for case in PAYLOADS["bad"] if verifies(case)] == []


def test_payloads_of_leaves() -> None:
    by_name = {case["payload"]: bytes.fromhex(case["message"]) for case in PAYLOADS["good"]}
    seen = []
    for case in LEAVES["good"]:
        decoded = leaf.decode_leaf(bytes.fromhex(case["leaf"]))
        if isinstance(decoded, leaf.ClaimLeaf):
            seen.append(payloads.claim_payload_of(decoded) == by_name["claim"])
        if isinstance(decoded, leaf.GrantLeaf):
            seen.append(payloads.grant_payload_of(decoded) == by_name["grant"])
    assert seen
    assert any(seen)


def test_good_trust_roots() -> None:
    for case in TRUST_ROOTS["good"]:
        assert trust_root.parse_trust_root(case["text"]).root_thk.hex() == case["root_thk"]


@pytest.mark.parametrize("case", TRUST_ROOTS["policies"], ids=name_of)
def test_policies_of_trust_roots(case: Any) -> None:
    root = trust_root.parse_trust_root(case["text"])
    assert str(root.policy()) == case["certified"]
    if case["witnessed"] is None:
        with pytest.raises(ValueError, match="lists no witness"):
            root.witnessed_policy()
        return
    assert str(root.witnessed_policy()) == case["witnessed"]
    assert policy.parse_policy(case["witnessed"]) == root.witnessed_policy()


@pytest.mark.parametrize("case", TRUST_ROOTS["bad"], ids=name_of)
def test_bad_trust_root(case: Any) -> None:
    with refusal(case["error"]):
        trust_root.parse_trust_root(case["text"])


@pytest.mark.parametrize("case", TRUST_ROOTS["chains"]["good"], ids=name_of)
def test_good_chain(case: Any) -> None:
    chain = trust_root.verify_trust_root(case["documents"], case["pinned_root_thk"])
    assert len(chain.versions) == len(case["documents"])
    first = trust_root.verify_trust_root(case["documents"][:1], case["pinned_root_thk"])
    assert trust_root.extend_trust_root(first, case["documents"][1:]).versions == chain.versions
    assert policy.parse_policy(str(chain.newest.policy())) == chain.newest.policy()


@pytest.mark.parametrize("case", TRUST_ROOTS["chains"]["bad"], ids=name_of)
def test_bad_chain(case: Any) -> None:
    with refusal(case["error"]):
        trust_root.verify_trust_root(case["documents"], case["pinned_root_thk"])


def test_good_proofs() -> None:
    for case in RECEIPTS["proof"]["good"]:
        read = proof.parse_proof(case["proof"])
        assert read.to_proof_text() == case["proof"]
        assert proof.receipt_from_json(case["json"]).to_proof_text() == case["proof"]
        assert proof.Receipt.parse(json.dumps(case["json"])).to_proof_text() == case["proof"]
        assert proof.Receipt.parse(case["proof"].encode("utf-8")) == read


@pytest.mark.parametrize("case", RECEIPTS["proof"]["bad"], ids=name_of)
def test_bad_proof(case: Any) -> None:
    with refusal(case["error"]):
        proof.parse_proof(case["proof"])


@pytest.mark.parametrize("case", RECEIPTS["json"]["bad"], ids=name_of)
def test_bad_json(case: Any) -> None:
    with refusal("proof_malformed"):
        proof.receipt_from_json(case["value"])


def judge_case(case: Any, judged_by: Any) -> Any:
    documents = RECEIPTS["trust_roots"][: case["trust_root_versions"]]
    chain = trust_root.verify_trust_root(documents, RECEIPTS["pinned_root_thk"])
    expect = dict(case["expect"])
    if "payload" in expect:
        expect["payload"] = bytes.fromhex(expect["payload"])
    renewal = case.get("renewal")
    if renewal is not None:
        hashes = tuple(_bytes.base64_to_bytes(each) for each in renewal["consistency"])
        expect["renewal"] = receipt.Renewal(renewal["checkpoint"], hashes)
    # The vectors state an anchor id of the leaf as it was; what is expected stands beside it.
    read = proof.receipt_from_json(case["receipt"])
    bare = proof.Receipt(read.leaf, read.index, read.tree_size, read.inclusion, read.checkpoint)
    return judged_by(bare, chain, **expect)


def verify_case(case: Any) -> receipt.VerifiedReceipt:
    verified: receipt.VerifiedReceipt = judge_case(case, receipt.verify_receipt)
    report: receipt.ReceiptReport = judge_case(case, receipt.inspect_receipt)
    assert report.failure is None
    assert (report.steps, report.leaf, report.anchor_id) == (verified.steps, verified.leaf, verified.anchor_id)
    return verified


@pytest.mark.parametrize("case", RECEIPTS["good"], ids=name_of)
def test_good_receipt(case: Any) -> None:
    found = verify_case(case)
    assert found.superseded_trust_root == case["superseded_trust_root"]
    assert found.origin_lost is case["origin_lost"]
    assert [step.code for step in found.steps] == list(receipt.RECEIPT_STEPS)
    assert {step.result for step in found.steps} <= {"pass", "not_checked"}


@pytest.mark.parametrize("case", RECEIPTS["bad"], ids=name_of)
def test_bad_receipt(case: Any) -> None:
    with refusal(case["failure"]["code"]) as caught:
        verify_case(case)
    report = judge_case(case, receipt.inspect_receipt)
    assert report.failure == receipt.ReceiptFailure(**case["failure"])
    assert caught.value.step == case["failure"]["step"]
    assert (caught.value.steps, caught.value.result) == (report.steps, report)
    assert [step.code for step in report.steps] == list(receipt.RECEIPT_STEPS)
    assert [step.result for step in report.steps].count("fail") == 1


@pytest.mark.parametrize("case", [*RECEIPTS["witnessed"]["good"], *RECEIPTS["witnessed"]["bad"]], ids=name_of)
def test_witnesses(case: Any) -> None:
    asked = {**case, "expect": {**case["expect"], "require_witnessed": case["require_witnessed"]}}
    report: receipt.ReceiptReport = judge_case(asked, receipt.inspect_receipt)
    failure = case["failure"]
    assert report.failure == (None if failure is None else receipt.ReceiptFailure(**failure))
    shown = [{"name": each.name, "witnessed_at": each.witnessed_at} for each in report.witnesses]
    assert shown == case["witnesses"]
    assert (report.witnesses_needed, report.witnessed) == (case["witnesses_needed"], case["witnessed"])
    assert report.superseded_trust_root == case["superseded_trust_root"]
    assert [step.code for step in report.steps] == list(receipt.RECEIPT_STEPS)
    assert all(line.vkey.name.startswith("anchor.example/demo/") for line in report.verified)
    if failure is None:
        verified: receipt.VerifiedReceipt = judge_case(asked, receipt.verify_receipt)
        assert (verified.witnesses, verified.witnessed) == (report.witnesses, report.witnessed)
        return
    with refusal(failure["code"]) as caught:
        judge_case(asked, receipt.verify_receipt)
    assert caught.value.step == failure["step"]


def test_every_receipt_that_is_not_witnessed_is_refused_if_it_is_demanded() -> None:
    for case in [*RECEIPTS["good"], *RECEIPTS["witnessed"]["good"]]:
        asked = {**case, "expect": {**case["expect"], "require_witnessed": True}}
        report: receipt.ReceiptReport = judge_case(asked, receipt.inspect_receipt)
        assert (report.failure is None) is case.get("witnessed", False)


def test_a_superseded_receipt_is_refused_as_that_before_its_witnesses_are_counted() -> None:
    case = next(each for each in RECEIPTS["witnessed"]["good"] if each["superseded_trust_root"] is not None)
    expect = {**case["expect"], "require_current": True, "require_witnessed": True}
    for versions in (3, case["trust_root_versions"]):
        with refusal("trust_root_superseded"):
            judge_case({**case, "trust_root_versions": versions, "expect": expect}, receipt.verify_receipt)


def test_a_checkpoint_says_who_has_witnessed_it() -> None:
    case = RECEIPTS["witnessed"]["good"][0]
    documents = RECEIPTS["trust_roots"][: case["trust_root_versions"]]
    chain = trust_root.verify_trust_root(documents, RECEIPTS["pinned_root_thk"])
    found = receipt.verify_checkpoint(case["receipt"]["checkpoint"], chain)
    assert [witness.name for witness in found.witnesses] == ["north", "south"]
    assert (found.witnesses_needed, found.witnessed, len(found.verified)) == (2, True, 3)


def test_a_checkpoint_of_another_cluster_differs_and_one_of_no_origin_is_unknown() -> None:
    documents = RECEIPTS["trust_roots"][:1]
    chain = trust_root.verify_trust_root(documents, RECEIPTS["pinned_root_thk"])
    text, lines = RECEIPTS["good"][0]["receipt"]["checkpoint"].split("\n\n")
    origin, rest = text.split("\n", 1)
    cluster, fingerprint = origin.split("/origin/")
    other = "0" if fingerprint[0] != "0" else "1"
    # Seed 20349 of the gate of mutations: TypeScript and Rust have told these two apart before.
    for of, code in (
        (f"{cluster}/other/{fingerprint}", "origin_differs"),
        (f"another.{cluster}/origin/{fingerprint}", "origin_differs"),
        (f"{cluster}/origin/{other}{fingerprint[1:]}", "origin_unknown"),
    ):
        with refusal(code):
            receipt.verify_checkpoint(f"{of}\n{rest}\n\n{lines}", chain)


def test_superseded_receipt_is_refused_where_the_newest_is_required() -> None:
    case = next(each for each in RECEIPTS["good"] if each["superseded_trust_root"] is not None)
    with refusal("trust_root_superseded") as caught:
        verify_case({**case, "expect": {**case["expect"], "require_current": True}})
    assert caught.value.step == "trust_root"


def test_a_chain_may_be_pinned_at_any_version() -> None:
    case = next(each for each in load("trust-root")["chains"]["good"] if len(each["documents"]) > 1)
    whole = trust_root.verify_trust_root(case["documents"], case["pinned_root_thk"])
    later = trust_root.verify_trust_root(case["documents"], whole.newest.root_thk)
    assert [version.version for version in later.versions] == [whole.newest.version]
    with pytest.raises(VerificationError) as caught:
        trust_root.verify_trust_root(case["documents"], bytes(32))
    assert caught.value.code == "pin_mismatch"
