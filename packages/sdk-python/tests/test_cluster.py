"""End to end, on the cluster that EVENT_ANCHORING_CLUSTER names: the path of its cluster.json."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any, Dict, Iterator, List

import pytest

from event_anchoring import (
    AsyncClient,
    Client,
    Conflict,
    ConnectionFailed,
    Envelope,
    EventInput,
    FileMonitorStore,
    LocalKey,
    Monitor,
    NotFound,
    OutcomeUnknown,
    Recorder,
    RetryPolicy,
    TrustRootChain,
    Unauthorized,
    Unprocessable,
    Wait,
    models,
    verify_bundle,
    verify_checkpoint,
    verify_receipt,
    verify_trust_root,
)
from event_anchoring.adapters import RecordingHandler, RecordingMiddleware, RecordingProcessor
from event_anchoring.leaf import anchor_id_of
from event_anchoring.tiles import TILE_WIDTH

from .graphs import refunding_graph

PATH = os.environ.get("EVENT_ANCHORING_CLUSTER")
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
pytestmark = pytest.mark.skipif(PATH is None, reason="EVENT_ANCHORING_CLUSTER does not name a cluster.json")

CLUSTER: Any = json.loads(Path(PATH).read_text(encoding="utf-8")) if PATH is not None else None


@pytest.fixture(scope="module")
def chain() -> TrustRootChain:
    with Client(CLUSTER["nodes"][0]["api_url"]) as client:
        return verify_trust_root(client.trust_root().documents, CLUSTER["trust_root"]["root_thk"])


@pytest.fixture
def client(chain: TrustRootChain) -> Iterator[Client]:
    endpoints = [node["api_url"] for node in CLUSTER["nodes"]]
    with Client(endpoints, CLUSTER["api_key"], trust_root=chain) as used:
        yield used


def closed_port() -> str:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_health_of_every_node() -> None:
    for node in CLUSTER["nodes"]:
        with Client(node["api_url"]) as asking:
            assert asking.healthz().origin_fingerprint == node["origin_fingerprint"]
            assert asking.readyz().ready
            assert asking.limits().batch_items_max >= 1


def test_an_event_and_its_receipt(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    event_hash, own_id = token_bytes(32), token_hex(8)
    first = client.create_event_anchor(event_hash, client_event_id=own_id)
    again = client.create_event_anchor(event_hash, client_event_id=own_id)
    assert (first.replayed, again.replayed) == (False, True)
    assert first.anchor.anchor_id == again.anchor.anchor_id
    with pytest.raises(Conflict) as caught:
        client.create_event_anchor(token_bytes(32), client_event_id=own_id)
    assert caught.value.code == "client_event_id_conflict"
    assert caught.value.request_id
    text = client.get_receipt(first.anchor.anchor_id).to_proof_text()
    found = verify_receipt(text, chain, event_hash=event_hash, anchor_id=first.anchor.anchor_id)
    assert found.superseded_trust_root is None
    listed = list(client.iterate_event_anchors(event_hash=event_hash))
    assert [anchor.anchor_id for anchor in listed] == [first.anchor.anchor_id]
    assert client.list_event_anchors(client_event_id=own_id).items == tuple(listed)
    assert client.verify_event_anchor(first.anchor.anchor_id, event_hash=event_hash).valid
    assert not client.verify_event_anchor(first.anchor.anchor_id, event_hash=token_bytes(32)).valid


def test_a_node_that_is_gone_is_failed_over(chain: TrustRootChain) -> None:
    gone, node = closed_port(), CLUSTER["nodes"][1]
    with Client([gone, node["api_url"]], CLUSTER["api_key"], trust_root=chain) as used:
        created = used.create_event_anchor(token_bytes(32))
        assert created.anchor.origin_fingerprint == node["origin_fingerprint"]
    used = Client(gone, CLUSTER["api_key"], retry=RetryPolicy(attempts_max=2))
    with used, pytest.raises(ConnectionFailed):
        used.create_event_anchor(token_bytes(32))


def test_an_answer_that_comes_too_late() -> None:
    node = CLUSTER["nodes"][0]
    origin = node["origin_fingerprint"]
    event_hash, own_id = token_bytes(32), token_hex(8)
    impatient = Client(
        node["api_url"],
        CLUSTER["api_key"],
        origin_fingerprint=origin,
        retry=RetryPolicy(attempts_max=1),
        timeout_s=0.0005,
    )
    with impatient, pytest.raises((OutcomeUnknown, ConnectionFailed)) as caught:
        impatient.create_event_anchor(event_hash, client_event_id=own_id)
    if isinstance(caught.value, OutcomeUnknown):
        assert caught.value.client_event_id == own_id
    with Client(node["api_url"], CLUSTER["api_key"], origin_fingerprint=origin) as patient:
        created = patient.create_event_anchor(event_hash, client_event_id=own_id)
        assert len(list(patient.iterate_event_anchors(event_hash=event_hash))) == 1
        assert created.anchor.event_hash == event_hash.hex()


def test_a_batch(client: Client) -> None:
    with LocalKey.generate() as key:
        events = [EventInput(token_bytes(32)), EventInput(token_bytes(32), actor=key)]
        batch = client.create_event_anchors(events)
        shared = client.create_event_anchors(events, shared_receipts=True)
    assert batch.summary.created == 2
    # Each was verified by the client's trust root, as those that came whole.
    assert [item.receipt is None for item in shared.results] == [item.receipt is None for item in batch.results]
    kinds = [item.anchor.kind for item in batch.results if item.anchor is not None]
    assert kinds == ["event", "signed_event"]
    ids = [item.anchor.anchor_id for item in batch.results if item.anchor is not None]
    verified = client.verify_event_anchors([ids[0], (ids[1], events[1].event_hash), token_hex(32)])
    assert (verified.summary.valid, verified.summary.not_found) == (2, 1)
    missing = client.create_event_anchors([EventInput(token_bytes(32), {"grant_ref": token_bytes(32)})])
    problem = missing.results[0].problem
    assert problem is not None
    assert problem.code == "reference_not_found"


def test_claims_queries_and_revocation(client: Client) -> None:
    entity = token_bytes(32)
    with LocalKey.generate() as subject, LocalKey.generate() as issuer, LocalKey.generate() as other:
        claim: Dict[str, Any] = {
            "entity_fingerprint": entity,
            "attribute_type": 0x1001,
            "attribute_hash": token_bytes(32),
        }
        created = client.create_claim_anchor(**claim, subject=subject, issuer=issuer)
        assert client.create_claim_anchor(**claim, subject=subject, issuer=issuer).replayed
        assert client.get_claim_anchor(entity, "0x1001").anchor == created.anchor
        with pytest.raises(Conflict) as conflict:
            client.create_claim_anchor(**claim, subject=subject, issuer=other)
        assert conflict.value.code == "claim_conflict"
        with pytest.raises(Unprocessable) as stranger:
            client.revoke_claim_anchor(created.anchor.anchor_id, revoker=other)
        assert stranger.value.code == "signature_invalid"
        revoked = client.revoke_claim_anchor(created.anchor.anchor_id, revoker=subject, reason="key_compromise")
    assert (revoked.anchor.authority, revoked.anchor.reason) == ("subject", "key_compromise")
    state = client.verify_claim_anchor(created.anchor.anchor_id)
    assert (state.valid, state.state) == (False, "revoked")
    assert client.verify_claim_anchor(created.anchor.anchor_id, as_of=created.anchor.sequence).valid
    with pytest.raises(NotFound) as gone:
        client.get_claim_anchor(entity, 0x1001)
    assert gone.value.members["state"] == "revoked"
    (item,) = client.iterate_claim_anchors(entity_fingerprint=entity)
    assert item.ended is not None
    assert (item.anchor.state, item.ended.code) == ("revoked", "claim_revoked")
    assert item.ended.ended_by == revoked.anchor.anchor_id


def test_heads_and_a_monitor(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    created = client.create_event_anchor(token_bytes(32))
    origin = created.anchor.origin_fingerprint
    monitor = Monitor(chain, FileMonitorStore(tmp_path / "monitor.json"))
    first = monitor.update(client, origin)
    client.create_event_anchor(token_bytes(32))
    later = Monitor(chain, FileMonitorStore(tmp_path / "monitor.json")).update(client, origin)
    assert later.checkpoint.tree_size > first.checkpoint.tree_size
    proved = client.consistency(first.checkpoint.tree_size, origin_fingerprint=origin)
    assert proved.old.root_hash == first.checkpoint.root_hash.hex()


def test_committed_first_and_certified_later(client: Client) -> None:
    created = client.create_event_anchor(token_bytes(32), wait=Wait(5, respond_async=True))
    found = client.get_anchor(created.anchor.anchor_id)
    assert found.anchor.finality == "certified"
    assert found.receipt is not None


def test_keys_that_are_none() -> None:
    with Client(CLUSTER["nodes"][0]["api_url"], "no-such-key") as used, pytest.raises(Unauthorized) as caught:
        used.create_event_anchor(token_bytes(32))
    assert caught.value.code == "api_key_invalid"


def test_many_tasks_on_one_client(chain: TrustRootChain) -> None:
    async def run() -> int:
        endpoints = [node["api_url"] for node in CLUSTER["nodes"]]
        async with AsyncClient(endpoints, CLUSTER["api_key"], trust_root=chain) as used:
            created = await asyncio.gather(*(used.create_event_anchor(token_bytes(32)) for _ in range(20)))
        return len({each.anchor.anchor_id for each in created})

    assert asyncio.run(run()) == 20


@pytest.mark.parametrize("name", ["recommended_flow", "split_signing", "first_anchor"])
def test_example(name: str, tmp_path: Path) -> None:
    document = tmp_path / "contract.txt"
    document.write_text("agreed\n", encoding="utf-8")
    arguments = [str(document)] if name == "first_anchor" else []
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    if name == "first_anchor":
        assert sha256(document.read_bytes()).hexdigest()
        assert (tmp_path / "contract.txt.tlog-proof").read_text(encoding="utf-8").startswith("c2sp.org/tlog-proof@v1")
    if name == "recommended_flow":
        assert "at the time of the act: True - signed: pass" in done.stdout
        assert done.stdout.splitlines()[-2].endswith("at action: True now: False")
        assert done.stdout.splitlines()[-1].endswith("at action: False now: False")


def test_the_readme(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    endpoints = [node["api_url"] for node in CLUSTER["nodes"]]
    for placeholder, value in (
        ('["https://n1.example", "https://n2.example"]', repr(endpoints)),
        ('"https://n1.example"', repr(endpoints[0])),
        ("<API_KEY>", CLUSTER["api_key"]),
        ("<RootTHK that you were given>", CLUSTER["trust_root"]["root_thk"]),
        ("order-4711", token_hex(8)),
    ):
        assert placeholder in readme
        readme = readme.replace(placeholder, value)
    # What is shown there reads files, or needs frameworks: tests/test_readme.py and tests/test_adapters.py run it.
    elsewhere = ("Offline\n", "Recording what frameworks see\n")
    shown = "".join(each for each in readme.split("\n## ") if not each.startswith(elsewhere))
    snippets = re.findall(r"```python\n(.*?)```", shown, re.DOTALL)
    first: Dict[str, Any] = {}
    for snippet in snippets:
        names: Dict[str, Any] = {}
        exec(snippet, names)
        first = first or names
    assert first["created"].receipt.to_proof_text().startswith("c2sp.org/tlog-proof@v1")
    assert capsys.readouterr().err == ""
    (payload,) = tmp_path.glob("events/kept/*/*.json")
    proof = payload.with_name(f"{payload.name}.tlog-proof").read_bytes()
    verify_receipt(proof, first["chain"], event_hash=sha256(payload.read_bytes()).digest())


def test_the_log_itself(client: Client, chain: TrustRootChain) -> None:
    created = client.create_event_anchor(token_bytes(32)).anchor
    note = client.get_checkpoint(created.origin_fingerprint)
    size = verify_checkpoint(note, chain).checkpoint.tree_size
    bundle, place = divmod(created.depth, TILE_WIDTH)
    width = min(TILE_WIDTH, size - bundle * TILE_WIDTH)
    leaves = client.get_entries(created.origin_fingerprint, bundle, width=width)
    hashes = client.get_tile(created.origin_fingerprint, 0, bundle, width=width)
    assert [anchor_id_of(each) for each in leaves] == list(hashes)
    assert hashes[place].hex() == created.anchor_id


def test_the_trace_of_what_is_logged(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    log = logging.Logger("billing")
    with Recorder.open(client, tmp_path) as recorder:
        log.addHandler(RecordingHandler(recorder))
        log.warning("refund without receipt", extra={"order": "4711"})
        recorder.flush()
    check_traces(client, chain, tmp_path, 1)


def test_the_trace_of_what_structlog_writes(
    client: Client, chain: TrustRootChain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    structlog = pytest.importorskip("structlog")
    with Recorder.open(client, tmp_path) as recorder:
        structlog.configure(processors=[RecordingProcessor(recorder), structlog.processors.JSONRenderer()])
        try:
            structlog.get_logger().warning("refund without receipt", order="4711")
        finally:
            structlog.reset_defaults()
        recorder.flush()
    said = {"event": "refund without receipt", "order": "4711"}
    assert json.loads(capsys.readouterr().out) == said
    assert check_traces(client, chain, tmp_path, 1) == [{"level": "warning", **said}]


def test_the_trace_of_what_fastapi_answers(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    fastapi = pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    app = fastapi.FastAPI()

    @app.get("/orders/{order}")
    async def show(order: str) -> Dict[str, str]:
        return {"order": order}

    with Recorder.open(client, tmp_path) as recorder:
        app.add_middleware(RecordingMiddleware, recorder=recorder)
        assert TestClient(app).get("/orders/4711").json() == {"order": "4711"}
        recorder.flush()
    (content,) = check_traces(client, chain, tmp_path, 1)
    assert (content["method"], content["route"], content["status"]) == ("GET", "/orders/{order}", 200)


def check_traces(client: Client, chain: TrustRootChain, folder: Path, count: int) -> List[Any]:
    """Each kept event has a receipt that verifies, and is found again by the trace. Returns their contents."""
    payloads = list(folder.glob("kept/*/*.json"))
    assert len(payloads) == count
    contents = []
    for payload in payloads:
        event_hash = sha256(payload.read_bytes()).digest()
        receipt = payload.with_name(f"{payload.name}.tlog-proof").read_text(encoding="utf-8")
        verified = verify_receipt(receipt, trust_root=chain, event_hash=event_hash)
        traced = client.trace(verified.anchor_id).anchor
        assert isinstance(traced, models.EventAnchor)
        assert (traced.anchor_id, traced.event_hash) == (verified.anchor_id.hex(), event_hash.hex())
        contents.append(Envelope.parse(payload.read_bytes()).content)
    return contents


def test_the_trace_of_what_langchain_calls(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    tools = pytest.importorskip("langchain_core.tools")
    from event_anchoring.adapters.langchain import RecordingCallbackHandler

    refund = tools.tool("refund", description="Refunds an order.")(lambda order: f"refunded {order}")
    with Recorder.open(client, tmp_path) as recorder:
        refund.invoke({"order": "4711"}, {"callbacks": [RecordingCallbackHandler(recorder)]})
        recorder.flush()
    check_traces(client, chain, tmp_path, 1)


def test_the_trace_of_what_a_graph_calls(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    pytest.importorskip("langgraph")
    from event_anchoring.adapters.langchain import RecordingCallbackHandler

    with Recorder.open(client, tmp_path) as recorder:
        refunding_graph(["4711", "0"]).invoke({"messages": []}, {"callbacks": [RecordingCallbackHandler(recorder)]})
        recorder.flush()
    check_traces(client, chain, tmp_path, 2)


def test_the_trace_of_what_openai_agents_do(client: Client, chain: TrustRootChain, tmp_path: Path) -> None:
    agents = pytest.importorskip("agents")
    from event_anchoring.adapters.openai_agents import RecordingTracingProcessor

    with Recorder.open(client, tmp_path) as recorder:
        agents.set_trace_processors([RecordingTracingProcessor(recorder)])
        try:
            with agents.trace("billing"), agents.function_span("refund", input='{"order": "4711"}'):
                pass
            agents.tracing.flush_traces()
        finally:
            agents.set_trace_processors([])
    check_traces(client, chain, tmp_path, 1)


def test_a_delegation_read_back(client: Client, chain: TrustRootChain) -> None:
    with LocalKey.generate() as issuer, LocalKey.generate() as root, LocalKey.generate() as agent:
        ids = []
        entities = [token_bytes(32), token_bytes(32)]
        for entity, subject in zip(entities, (root, agent)):
            claim = client.create_claim_anchor(
                entity_fingerprint=entity, attribute_type=1, attribute_hash=bytes(32), subject=subject, issuer=issuer
            )
            ids.append(claim.anchor.anchor_id)
        grant = client.create_grant_anchor(
            grantor_claim_ref=ids[0],
            grantee_claim_ref=ids[1],
            scope_hash=token_bytes(32),
            delegation_depth=2,
            grantor=root,
            witness=issuer,
        )
    found = client.get_grant_anchor(*entities)
    assert isinstance(found.anchor, models.GrantAnchor)
    assert (found.anchor, found.others) == (grant.anchor, 0)
    verified = client.verify_grant_anchor(grant.anchor.anchor_id, trusted_roots=[ids[0]])
    assert verified.valid
    assert [hop.grant.anchor_id for hop in verified.delegation] == [grant.anchor.anchor_id]
    assert client.trace(grant.anchor.anchor_id).boundary is not None
    in_force = client.verify_grant_anchor(grant.anchor.anchor_id, proof=True)
    client.revoke_claim_anchor(ids[0])
    traced = client.trace(grant.anchor.anchor_id, proof=True)
    standings = [verify_bundle(each.proof or b"", chain).standing for each in (in_force, traced)]
    assert [(each.state, each.in_force) for each in standings if each] == [("active", True), ("revoked", False)]
