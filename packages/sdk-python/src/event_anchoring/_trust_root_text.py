"""The text of a trust root: what its lines are, how they are read and printed. Rules are in trust_root.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterable, List, Sequence, Tuple, Union

from ._bytes import hex_to_bytes, parse_decimal, sha256, utf8
from ._hex_repr import HexRepr
from .errors import VerificationError
from .notes import Vkey, parse_vkey
from .policy import PolicyGroup, TlogPolicy

_HEADER = "event-anchoring/v4.2/trust-root"
_ROOT_KEYS_MAX = 32
_CAS_MAX = 32
_ORIGINS_MAX = 1024
_NODES_MAX = 1024
_OPERATORS_MAX = 64
_WITNESSES_MAX = 32

#: Groups in the policy of witnessed heads, which a node may be called as well.
_WITNESSED_GROUPS = ("outside", "both")

#: Where a status may go.
ORIGIN_MOVES: Dict[str, Tuple[str, ...]] = {"active": ("closed", "lost"), "closed": ("lost",), "lost": ()}
NODE_MOVES: Dict[str, Tuple[str, ...]] = {
    "learner": ("active", "retired", "distrusted"),
    "active": ("retired", "distrusted"),
    "retired": ("distrusted",),
    "distrusted": (),
}


@dataclass(frozen=True, repr=False)
class TrustRootOrigin(HexRepr):
    """One origin line. `status` is `active`, `closed` or `lost`."""

    origin_fingerprint: bytes
    status: str
    log_vkey: Vkey


@dataclass(frozen=True, repr=False)
class TrustRootNode(HexRepr):
    """One node line. `status` is `learner`, `active`, `retired` or `distrusted`."""

    node_id: str
    status: str
    origin_fingerprint: bytes
    cosigner_vkey: Vkey
    auth_public_key: bytes


@dataclass(frozen=True)
class TrustRootOperator:
    """One operator line: whose signature counts for what operators do."""

    name: str
    vkey: Vkey


@dataclass(frozen=True)
class TrustRootWitness:
    """One witness line: a party outside the cluster that cosigns checkpoints. `url` is where it accepts them."""

    name: str
    vkey: Vkey
    url: str


@dataclass(frozen=True, repr=False)
class TrustRoot(HexRepr):
    """One version of a cluster's trust root, every rule of one document kept.

    Attributes:
        version: from 1.
        epoch: how many restores of the whole cluster there were.
        previous: RootTHK of the version before; zeros in version 1.
        issued_s, expires_s: Unix seconds. Expiry bounds how fresh the *newest* version is for clients that are online,
            and nothing else: it invalidates no receipt and no chain.
        root_threshold: how many of `root_keys` must sign.
        quorum: how many active nodes must cosign a checkpoint.
        witness_quorum: how many of `witnesses` must cosign; 0 if there are none.
        root_thk: SHA-256 of `text`: what is pinned.
        text: the document without its signatures.
    """

    cluster_name: str
    cluster_id: bytes
    version: int
    epoch: int
    previous: bytes
    issued_s: int
    expires_s: int
    root_threshold: int
    root_keys: Tuple[Vkey, ...]
    ca: Tuple[bytes, ...]
    origins: Tuple[TrustRootOrigin, ...]
    nodes: Tuple[TrustRootNode, ...]
    operators: Tuple[TrustRootOperator, ...]
    quorum: int
    witnesses: Tuple[TrustRootWitness, ...]
    witness_quorum: int
    root_thk: bytes
    text: str

    @classmethod
    def parse(cls, text: str) -> TrustRoot:
        """Reads the text of one version and holds it against every rule of one document; signatures are not looked at.

        Raises:
            VerificationError: with the codes of docs/PROTOCOL.md, "Trust root", in their order.
        """
        from .trust_root import parse_trust_root

        return parse_trust_root(text)

    def origin(self, origin_fingerprint: bytes) -> Union[TrustRootOrigin, None]:
        """The line of an origin, if this version lists it."""
        return next((each for each in self.origins if each.origin_fingerprint == origin_fingerprint), None)

    def cosigners(self) -> List[Vkey]:
        """Cosigner keys of the active nodes."""
        return [node.cosigner_vkey for node in self.nodes if node.status == "active"]

    def policy(self) -> TlogPolicy:
        """The rule of this version as a C2SP tlog-policy."""
        active = [node for node in self.nodes if node.status == "active"]
        return TlogPolicy(
            tuple(origin.log_vkey for origin in self.origins),
            tuple((node.node_id, node.cosigner_vkey) for node in active),
            (PolicyGroup("nodes", self.quorum, tuple(node.node_id for node in active)),),
            "nodes",
        )

    def witnessed_policy(self) -> TlogPolicy:
        """The rule of witnessed heads as a C2SP tlog-policy: the quorum of nodes, and as many witnesses as are needed.

        Raises:
            ValueError: this version lists no witness.
        """
        if not self.witnesses:
            raise ValueError(f"trust root {self.version} lists no witness")
        certified = self.policy()
        # No node id has a slash.
        taken = {name: f"node/{name}" for name in _WITNESSED_GROUPS}
        nodes = tuple((taken.get(name, name), vkey) for name, vkey in certified.witnesses)
        outside = tuple((f"witness/{each.name}", each.vkey) for each in self.witnesses)
        return TlogPolicy(
            certified.logs,
            nodes + outside,
            (
                PolicyGroup("nodes", self.quorum, tuple(name for name, _ in nodes)),
                PolicyGroup("outside", self.witness_quorum, tuple(name for name, _ in outside)),
                PolicyGroup("both", 2, ("nodes", "outside")),
            ),
            "both",
        )


def refuse_unless(condition: bool, code: str, message: str) -> None:
    if not condition:
        raise VerificationError(code, message)


class Lines:
    """The lines of a document, taken in order."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._next = 0

    def current(self) -> str:
        return self._lines[self._next] if self._next < len(self._lines) else ""

    def is_done(self) -> bool:
        return self._next == len(self._lines)

    def take(self, keyword: str, words_min: int, words_max: int) -> List[str]:
        first, *words = self.current().split(" ")
        refuse_unless(first == keyword and len(words) >= words_min, "malformed", f"no line of {keyword}")
        code = "too_large" if words_max > words_min else "malformed"
        refuse_unless(len(words) <= words_max, code, f"over {words_max} words after {keyword}")
        self._next += 1
        return words

    def take_all(self, keyword: str, words: int, lines_max: int) -> List[List[str]]:
        taken: List[List[str]] = []
        while self.current().startswith(f"{keyword} "):
            refuse_unless(len(taken) < lines_max, "too_large", f"more than {lines_max} lines of {keyword}")
            taken.append(self.take(keyword, words, words))
        return taken


def _decimal(word: str) -> int:
    value = parse_decimal(word)
    if value is None:
        raise VerificationError("malformed", "not a number")
    return value


def _status(words: Iterable[str], word: str) -> str:
    refuse_unless(word in words, "malformed", "not a status")
    return word


def _read_origin(words: Sequence[str]) -> TrustRootOrigin:
    return TrustRootOrigin(hex_to_bytes(words[0], 32), _status(ORIGIN_MOVES, words[1]), parse_vkey(words[2]))


def _read_node(words: Sequence[str]) -> TrustRootNode:
    fingerprint = hex_to_bytes(words[2], 32)
    auth_key = hex_to_bytes(words[4], 32)
    return TrustRootNode(words[0], _status(NODE_MOVES, words[1]), fingerprint, parse_vkey(words[3]), auth_key)


def read_lines(lines: Lines, text: str) -> TrustRoot:
    lines.take(_HEADER, 0, 0)
    cluster_name, cluster_id = lines.take("cluster", 2, 2)
    version, epoch, previous = lines.take("version", 3, 3)
    issued, expires = lines.take("validity", 2, 2)
    threshold, *keys = lines.take("root", 2, 1 + _ROOT_KEYS_MAX)
    ca = lines.take("ca", 1, _CAS_MAX)
    origins = lines.take_all("origin", 3, _ORIGINS_MAX)
    nodes = lines.take_all("node", 5, _NODES_MAX)
    operators = lines.take_all("operator", 2, _OPERATORS_MAX)
    (quorum,) = lines.take("quorum", 1, 1)
    witnesses = lines.take_all("witness", 3, _WITNESSES_MAX)
    (witness_quorum,) = lines.take("witnesses", 1, 1) if witnesses else ("0",)
    refuse_unless(lines.is_done(), "malformed", "lines are left over")
    return TrustRoot(
        cluster_name=cluster_name,
        cluster_id=hex_to_bytes(cluster_id, 32),
        version=_decimal(version),
        epoch=_decimal(epoch),
        previous=hex_to_bytes(previous, 32),
        issued_s=_decimal(issued),
        expires_s=_decimal(expires),
        root_threshold=_decimal(threshold),
        root_keys=tuple(parse_vkey(key) for key in keys),
        ca=tuple(hex_to_bytes(each, 32) for each in ca),
        origins=tuple(_read_origin(words) for words in origins),
        nodes=tuple(_read_node(words) for words in nodes),
        operators=tuple(TrustRootOperator(name, parse_vkey(vkey)) for name, vkey in operators),
        quorum=_decimal(quorum),
        witnesses=tuple(TrustRootWitness(name, parse_vkey(vkey), url) for name, vkey, url in witnesses),
        witness_quorum=_decimal(witness_quorum),
        root_thk=sha256(utf8(text)),
        text=text,
    )


def format_text(root: TrustRoot) -> str:
    """The canonical text of a trust root, for any order of its lines."""
    lines = [
        _HEADER,
        f"cluster {root.cluster_name} {root.cluster_id.hex()}",
        f"version {root.version} {root.epoch} {root.previous.hex()}",
        f"validity {root.issued_s} {root.expires_s}",
        f"root {root.root_threshold} {' '.join(sorted((str(key) for key in root.root_keys), key=utf8))}",
        f"ca {' '.join(sorted(each.hex() for each in root.ca))}",
    ]
    for origin in sorted(root.origins, key=lambda each: each.origin_fingerprint):
        lines.append(f"origin {origin.origin_fingerprint.hex()} {origin.status} {origin.log_vkey}")
    for node in sorted(root.nodes, key=lambda each: utf8(each.node_id)):
        keys = f"{node.cosigner_vkey} {node.auth_public_key.hex()}"
        lines.append(f"node {node.node_id} {node.status} {node.origin_fingerprint.hex()} {keys}")
    for operator in sorted(root.operators, key=lambda each: utf8(each.name)):
        lines.append(f"operator {operator.name} {operator.vkey}")
    lines.append(f"quorum {root.quorum}")
    for witness in sorted(root.witnesses, key=lambda each: utf8(each.name)):
        lines.append(f"witness {witness.name} {witness.vkey} {witness.url}")
    if root.witnesses:
        lines.append(f"witnesses {root.witness_quorum}")
    return "\n".join([*lines, ""])
