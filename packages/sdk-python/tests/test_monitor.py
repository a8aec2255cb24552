from __future__ import annotations

import asyncio
import json
import stat
from base64 import b64encode
from pathlib import Path
from typing import Any, List, Sequence, Tuple

import pytest

from event_anchoring import (
    ApiProblem,
    AsyncClient,
    Client,
    Evidence,
    FileMonitorStore,
    LocalKey,
    MemoryMonitorStore,
    Monitor,
    Rollback,
    SplitView,
    VerificationError,
    verify_trust_root,
)
from event_anchoring._tags import origin_fingerprint_of
from event_anchoring.merkle import Frontier, interior_hash, leaf_hash
from event_anchoring.notes import (
    TYPE_COSIGNATURE,
    TYPE_ED25519,
    Checkpoint,
    SignatureLine,
    checkpoint_origin,
    cosignature_line,
    cosignature_message,
    format_note,
    key_id_of,
    make_vkey,
)

from .fakes import AsyncFakeTransport, FakeTransport, answer, example, problem
from .ledger import event, leaf_bytes
from .vectors import load

NAME = "anchor.example/monitored"
CLUSTER_ID = bytes([0xC1]) * 32
LOG, ROOT = LocalKey("01" * 32), LocalKey("02" * 32)
NODES = {node: LocalKey(f"{number:02x}" * 32) for number, node in enumerate("abc", 3)}
AUTH = {node: LocalKey(f"{number:02x}" * 32) for number, node in enumerate("abc", 6)}
LOGS = {"a": LOG, "b": LocalKey("09" * 32), "c": LocalKey("0a" * 32)}
ORIGINS = {node: origin_fingerprint_of(CLUSTER_ID, key.public_key) for node, key in NODES.items()}
ORIGIN = ORIGINS["a"]


def trust_root_note() -> Tuple[str, bytes]:
    from hashlib import sha256

    root_name = f"{NAME}/root/r"
    lines = [
        "event-anchoring/v4.2/trust-root",
        f"cluster {NAME} {CLUSTER_ID.hex()}",
        f"version 1 0 {bytes(32).hex()}",
        "validity 1 2",
        f"root 1 {make_vkey(root_name, TYPE_ED25519, ROOT.public_key)}",
        f"ca {bytes(32).hex()}",
    ]
    for node in sorted(NODES, key=lambda each: ORIGINS[each]):
        vkey = make_vkey(checkpoint_origin(NAME, ORIGINS[node]), TYPE_ED25519, LOGS[node].public_key)
        lines.append(f"origin {ORIGINS[node].hex()} active {vkey}")
    for node, key in NODES.items():
        vkey = make_vkey(f"{NAME}/node/{node}", TYPE_COSIGNATURE, key.public_key)
        lines.append(f"node {node} active {ORIGINS[node].hex()} {vkey} {AUTH[node].public_key.hex()}")
    text = "\n".join([*lines, "quorum 2", ""])
    signature = SignatureLine(root_name, key_id_of(root_name, TYPE_ED25519, ROOT.public_key), ROOT.sign(text.encode()))
    return format_note(text, [signature]), sha256(text.encode()).digest()


DOCUMENT, PIN = trust_root_note()
CHAIN = verify_trust_root([DOCUMENT], PIN)


def leaves_of(size: int, salt: bytes = b"") -> List[bytes]:
    return [leaf_hash(salt + bytes([number])) for number in range(size)]


def signed(leaves: Sequence[bytes], cosigners: str = "ab") -> str:
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    text = Checkpoint(checkpoint_origin(NAME, ORIGIN), len(leaves), frontier.root()).text()
    log_name = checkpoint_origin(NAME, ORIGIN)
    lines = [SignatureLine(log_name, key_id_of(log_name, TYPE_ED25519, LOG.public_key), LOG.sign(text.encode()))]
    for node in cosigners:
        key = NODES[node]
        signature = key.sign(cosignature_message(7, text))
        lines.append(cosignature_line(f"{NAME}/node/{node}", key.public_key, 7, signature))
    return format_note(text, lines)


def root_of(leaves: Sequence[bytes]) -> bytes:
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()


#: From 2 leaves to 4, and from 3: RFC 6962 section 2.1.2.
FOUR = leaves_of(4)
FROM_2 = [interior_hash(FOUR[2], FOUR[3])]
FROM_3 = [FOUR[2], FOUR[3], interior_hash(FOUR[0], FOUR[1])]


@pytest.fixture(params=["memory", "file"])
def store(request: Any, tmp_path: Path) -> Any:
    return MemoryMonitorStore() if request.param == "memory" else FileMonitorStore(tmp_path / "monitor.json")


def test_a_log_that_grows(store: Any) -> None:
    monitor = Monitor(CHAIN, store)
    assert monitor.head(ORIGIN) is None
    monitor.accept(signed(FOUR[:2]))
    monitor.accept(signed(FOUR[:2], "bc"))
    monitor.accept(signed(FOUR), FROM_2)
    again = Monitor(CHAIN, store)
    head = again.head(ORIGIN.hex())
    assert head is not None
    assert (head.tree_size, head.root_hash) == (4, root_of(FOUR))


def test_a_log_that_shrinks(store: Any) -> None:
    Monitor(CHAIN, store).accept(signed(FOUR))
    monitor = Monitor(CHAIN, store)
    with pytest.raises(Rollback) as caught:
        monitor.accept(signed(FOUR[:3]), FROM_3)
    assert caught.value.code == "rollback"
    head = monitor.head(ORIGIN)
    assert head is not None
    assert head.tree_size == 4


OTHER = leaves_of(4, b"other")


@pytest.mark.parametrize(
    ("later", "proof"),
    [
        (OTHER[:3], []),
        (OTHER, [OTHER[2], OTHER[3], interior_hash(OTHER[0], OTHER[1])]),
        (FOUR, []),
        (FOUR, FROM_2),
        (FOUR, list(reversed(FROM_3))),
        (FOUR, [*FROM_3, FOUR[0]]),
        (FOUR, [b"short"]),
        ([*FOUR[:2], OTHER[2], FOUR[3]], FROM_3),
    ],
)
def test_another_history(store: Any, later: Sequence[bytes], proof: Sequence[bytes]) -> None:
    Monitor(CHAIN, store).accept(signed(FOUR[:3]))
    monitor = Monitor(CHAIN, store)
    with pytest.raises(SplitView) as caught:
        monitor.accept(signed(later), proof)
    assert caught.value.code == "split_view"
    head = monitor.head(ORIGIN)
    assert head is not None
    assert (head.tree_size, head.root_hash) == (3, root_of(FOUR[:3]))
    monitor.accept(signed(FOUR), FROM_3)


@pytest.mark.parametrize("cosigners", ["", "a", "aa"])
def test_a_checkpoint_without_a_quorum_is_not_remembered(store: Any, cosigners: str) -> None:
    monitor = Monitor(CHAIN, store)
    with pytest.raises(VerificationError):
        monitor.accept(signed(FOUR, cosigners))
    assert monitor.head(ORIGIN) is None


def event_log(size: int, event_hash: str = "ab" * 32) -> Tuple[Any, List[bytes]]:
    """The last anchor of a log of events, and the ids of all."""
    anchor, ids = None, [leaf_hash(b"genesis")]
    for depth in range(1, size):
        body = {"origin_fingerprint": ORIGIN.hex(), "event_hash": event_hash}
        anchor = event(body, depth=depth, parent_anchor_id=ids[-1].hex())
        ids.append(bytes.fromhex(anchor["anchor_id"]))
    return anchor, ids


def latest(size: int, proof: Sequence[bytes] = (), event_hash: str = "ab" * 32) -> Any:
    """What a service answers whose log is so long; the receipt holds together, and proves nothing."""
    anchor, ids = event_log(size, event_hash)
    note = signed(ids)
    receipt = {
        "anchor_id": anchor["anchor_id"],
        "leaf": b64encode(leaf_bytes(anchor)).decode(),
        "index": size - 1,
        "tree_size": size,
        "inclusion": [],
        "checkpoint": note,
        "trust_root_version": 1,
    }
    head = {"origin_fingerprint": ORIGIN.hex(), "depth": size - 1, "tree_size": size, "root_hash": root_of(ids).hex()}
    hashes = [b64encode(each).decode() for each in proof]
    consistency = {"from_size": 1, "tree_size": size, "proof": hashes}
    parts = {"anchor": anchor, "checkpoint": note, "receipt": receipt, "consistency": consistency}
    return answer({**example("/v1/event-anchors/latest"), **head, **parts})


def proof_from_3() -> List[bytes]:
    _, ids = event_log(4)
    return [ids[2], ids[3], interior_hash(ids[0], ids[1])]


def test_asking_a_service() -> None:
    transport = FakeTransport([latest(3), latest(4, proof_from_3()), latest(3)])
    monitor = Monitor(CHAIN)
    with Client("https://a", "key", transport=transport) as client:
        monitor.update(client, ORIGIN)
        assert monitor.update(client, ORIGIN).checkpoint.tree_size == 4
        with pytest.raises(Rollback) as caught:
            monitor.update(client, ORIGIN)
    assert [request.target.split("&")[1:] for _, request in transport.sent] == [[], ["from_size=3"], ["from_size=4"]]
    head = monitor.head(ORIGIN)
    assert head is not None
    assert caught.value.result == Evidence(ORIGIN, head.checkpoint, signed(event_log(3)[1]))


def test_a_service_that_shows_another_history() -> None:
    transport = FakeTransport([latest(3), latest(4, proof_from_3(), event_hash="cd" * 32)])
    monitor = Monitor(CHAIN)
    client = Client("https://a", "key", transport=transport)
    monitor.update(client, ORIGIN)
    with pytest.raises(SplitView) as caught:
        monitor.update(client, ORIGIN)
    assert isinstance(caught.value.result, Evidence)
    assert caught.value.result.shown == signed(event_log(4, "cd" * 32)[1])


@pytest.mark.parametrize("code", ["from_size_ahead", "no_anchor_yet"])
@pytest.mark.parametrize("is_async", [False, True], ids=["update", "update_async"])
def test_a_service_that_knows_less_than_was_seen(code: str, is_async: bool) -> None:
    monitor = Monitor(CHAIN)
    monitor.accept(signed(FOUR))
    refusal = problem(code, 404 if code == "no_anchor_yet" else 400)

    async def run() -> None:
        async with AsyncClient("https://a", "key", transport=AsyncFakeTransport(refusal)) as client:
            await monitor.update_async(client, ORIGIN)

    def use() -> None:
        monitor.update(Client("https://a", "key", transport=FakeTransport([refusal])), ORIGIN)

    with pytest.raises(Rollback) as caught:
        asyncio.run(run()) if is_async else use()
    assert caught.value.result == Evidence(ORIGIN, signed(FOUR), None)
    # It says nothing about an origin that was never seen.
    with pytest.raises(ApiProblem):
        Monitor(CHAIN).update(Client("https://a", "key", transport=FakeTransport([refusal])), ORIGIN)


def test_asking_a_service_without_blocking() -> None:
    transport = AsyncFakeTransport(answer({**example("/healthz"), "origin_fingerprint": ORIGIN.hex()}), latest(3))
    monitor = Monitor(CHAIN)

    async def run() -> int:
        async with AsyncClient("https://a", "key", transport=transport) as client:
            return (await monitor.update_async(client)).checkpoint.tree_size

    assert asyncio.run(run()) == 3


def test_the_head_of_another_origin_is_no_answer() -> None:
    monitor = Monitor(CHAIN)
    client = Client("https://a", "key", transport=FakeTransport([latest(4)]))
    with pytest.raises(VerificationError) as caught:
        monitor.update(client, ORIGINS["b"])
    assert caught.value.code == "origin_differs"
    assert monitor.head(ORIGIN) is None


def test_an_older_or_another_trust_root(tmp_path: Path) -> None:
    case = next(each for each in load("trust-root")["chains"]["good"] if len(each["documents"]) > 1)
    store = FileMonitorStore(tmp_path / "state")
    Monitor(verify_trust_root(case["documents"], case["pinned_root_thk"]), store)
    with pytest.raises(Rollback):
        Monitor(verify_trust_root(case["documents"][:1], case["pinned_root_thk"]), store)
    other = MemoryMonitorStore()
    Monitor(verify_trust_root(case["documents"][:1], case["pinned_root_thk"]), other)
    with pytest.raises(SplitView):
        Monitor(CHAIN, other)


def test_the_file_is_the_owners_and_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "monitor.json"
    Monitor(CHAIN, FileMonitorStore(path)).accept(signed(FOUR))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["monitor.json"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"format":"event-anchoring/monitor/2","checkpoints":{}}',
        b'{"format":"event-anchoring/monitor/1","checkpoints":{"ab":{}}}',
        b'{"format":"event-anchoring/monitor/1","checkpoints":{"' + b"ab" * 32 + b'":"no note"}}',
        b'{"format":"event-anchoring/monitor/1","checkpoints":{},"trust_root":{"version":true,"root_thk":""}}',
        b'{"format":"event-anchoring/monitor/1","checkpoints":{},"trust_root":[]}',
    ],
)
def test_a_damaged_memory_is_not_taken_for_none(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "monitor.json"
    path.write_bytes(damage)
    with pytest.raises(VerificationError) as caught:
        Monitor(CHAIN, FileMonitorStore(path))
    assert caught.value.code == "monitor_state_malformed"
    assert path.read_bytes() == damage


def test_a_cut_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "monitor.json"
    Monitor(CHAIN, FileMonitorStore(path)).accept(signed(FOUR))
    whole = path.read_bytes()
    assert json.loads(whole)["checkpoints"]
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VerificationError):
        Monitor(CHAIN, FileMonitorStore(path))
