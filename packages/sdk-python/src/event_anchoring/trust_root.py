"""Trust roots: who may sign for a cluster, version by version. docs/PROTOCOL.md, "Trust root"."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple, Union

from ._bytes import U32_MAX, ZERO_32
from ._inputs import bytes32
from ._tags import origin_fingerprint_of
from ._trust_root_text import (
    NODE_MOVES,
    ORIGIN_MOVES,
    Lines,
    TrustRoot,
    TrustRootNode,
    format_text,
    read_lines,
    refuse_unless,
)
from ._witness_url import is_witness_url
from .errors import Rollback, SplitView, VerificationError
from .notes import (
    TYPE_COSIGNATURE,
    TYPE_ED25519,
    NoteRefusal,
    SignedNote,
    Vkey,
    checkpoint_origin,
    is_cluster_name,
    is_node_id,
    is_root_label,
    is_too_long,
    parse_note,
    verify_known_lines,
)

#: Words of the policy rendering that a node must not be called.
_RESERVED_NODE_IDS = ("nodes", "none")

_REFUSAL_CODES = {
    "signatures_too_many": "malformed",
    "key_ambiguous": "key_reused",
    "signature_repeated": "signature_repeated",
    "signature_invalid": "signature_invalid",
}


class TrustRootChain:
    """Versions without gaps, each verified from the one before it and the first one pinned.

    Only verify_trust_root makes one.
    """

    __slots__ = ("_cosigners", "_versions")

    def __init__(self, versions: Sequence[TrustRoot], *, _verified: object = None) -> None:
        if _verified is not _BY_VERIFICATION:
            raise TypeError("a TrustRootChain is made by verify_trust_root")
        self._versions = tuple(versions)
        keys = (node.cosigner_vkey for version in versions for node in version.nodes)
        self._cosigners = tuple(dict.fromkeys(keys))

    @property
    def versions(self) -> Tuple[TrustRoot, ...]:
        """Ascending; never empty."""
        return self._versions

    @property
    def newest(self) -> TrustRoot:
        """The newest version held."""
        return self._versions[-1]

    @property
    def cosigners(self) -> Tuple[Vkey, ...]:
        """Cosigner keys of the nodes of all versions, each key once."""
        return self._cosigners

    def __repr__(self) -> str:
        newest = self.newest
        return f"<TrustRootChain {newest.cluster_name} up to version {newest.version} {newest.root_thk.hex()}>"


_BY_VERIFICATION = object()


def _check_names(root: TrustRoot) -> None:
    name = root.cluster_name
    refuse_unless(is_cluster_name(name), "name_invalid", "the cluster name is not legal")
    for node in root.nodes:
        is_legal = is_node_id(node.node_id) and node.node_id not in _RESERVED_NODE_IDS
        refuse_unless(is_legal, "name_invalid", "a node id is not legal")
    others = [*(operator.name for operator in root.operators), *(witness.name for witness in root.witnesses)]
    for other in others:
        refuse_unless(is_node_id(other), "name_invalid", "a name of an operator or witness is not legal")


def _check_key_names(root: TrustRoot) -> None:
    name = root.cluster_name
    for key in root.root_keys:
        prefix = f"{name}/root/"
        is_root = key.name.startswith(prefix) and is_root_label(key.name[len(prefix) :]) and key.type == TYPE_ED25519
        refuse_unless(is_root, "key_misnamed", f"{key.name} is not a root key of this cluster")
    for origin in root.origins:
        vkey = origin.log_vkey
        is_log = vkey.name == checkpoint_origin(name, origin.origin_fingerprint) and vkey.type == TYPE_ED25519
        refuse_unless(is_log, "key_misnamed", f"{vkey.name} is not this origin's log key")
    for node in root.nodes:
        vkey = node.cosigner_vkey
        is_cosigner = vkey.name == f"{name}/node/{node.node_id}" and vkey.type == TYPE_COSIGNATURE
        refuse_unless(is_cosigner, "key_misnamed", f"{vkey.name} is not the cosigner key of {node.node_id}")
    for operator in root.operators:
        vkey = operator.vkey
        is_operator = vkey.name == f"{name}/operator/{operator.name}" and vkey.type == TYPE_ED25519
        refuse_unless(is_operator, "key_misnamed", f"{vkey.name} is not the key of operator {operator.name}")
    # Key ids are short: under the name of a node's key somebody could make a key of the same id.
    own = {origin.log_vkey.name for origin in root.origins} | {node.cosigner_vkey.name for node in root.nodes}
    for witness in root.witnesses:
        is_cosigner = witness.vkey.type == TYPE_COSIGNATURE
        refuse_unless(is_cosigner, "key_misnamed", f"the key of witness {witness.name} makes no cosignatures")
        detail = f"the key of witness {witness.name} has the name of one of the cluster"
        refuse_unless(witness.vkey.name not in own, "key_misnamed", detail)
    for witness in root.witnesses:
        detail = f"witness {witness.name} has no URL of the form that is asked for"
        refuse_unless(is_witness_url(witness.url), "witness_url_invalid", detail)


def _check_numbers(root: TrustRoot) -> None:
    is_u32 = root.version <= U32_MAX and root.epoch <= U32_MAX
    refuse_unless(root.version >= 1 and is_u32, "version_invalid", "version and epoch are u32, versions start at 1")
    is_first = root.version == 1
    refuse_unless(is_first == (root.previous == ZERO_32), "previous_invalid", "zeros stand before version 1 alone")
    refuse_unless(root.issued_s < root.expires_s, "validity_invalid", "it expires before it is issued")
    is_reachable = 1 <= root.root_threshold <= len(root.root_keys)
    refuse_unless(is_reachable, "root_threshold_invalid", f"{root.root_threshold} of {len(root.root_keys)} root keys")
    active = len(root.cosigners())
    is_majority = active < 2 * root.quorum and root.quorum <= active
    refuse_unless(is_majority, "quorum_unsafe", f"{root.quorum} is not a majority of {active} active nodes")
    listed = len(root.witnesses)
    is_shared = listed == 0 or (2 * root.witness_quorum > listed and root.witness_quorum <= listed)
    refuse_unless(is_shared, "witnesses_unsafe", f"{root.witness_quorum} is not a majority of {listed} witnesses")


def _check_lines(root: TrustRoot) -> None:
    fingerprints = [origin.origin_fingerprint for origin in root.origins]
    used = [node.origin_fingerprint for node in root.nodes]
    ids = [node.node_id for node in root.nodes]
    listed: Tuple[Tuple[str, Sequence[Union[bytes, str]]], ...] = (
        ("CA", root.ca),
        ("origin", fingerprints),
        ("node", ids),
        ("origin of a node", used),
        ("operator", [operator.name for operator in root.operators]),
        ("witness", [witness.name for witness in root.witnesses]),
        # Key ids are short: under the name of another witness's key one could make a key of the same id.
        ("name of a witness's key", [witness.vkey.name for witness in root.witnesses]),
    )
    for what, items in listed:
        refuse_unless(len(set(items)) == len(items), "item_repeated", f"a {what} is listed twice")
    refuse_unless(set(used) <= set(fingerprints), "origin_unlisted", "the origin of a node has no line")


def _keys(root: TrustRoot) -> List[Tuple[bytes, str]]:
    """Every key of a version with the name of its one use."""
    return [
        *((key.public_key, key.name) for key in root.root_keys),
        *((origin.log_vkey.public_key, origin.log_vkey.name) for origin in root.origins),
        *((node.cosigner_vkey.public_key, node.cosigner_vkey.name) for node in root.nodes),
        *((node.auth_public_key, f"auth of {node.node_id}") for node in root.nodes),
        *((operator.vkey.public_key, operator.vkey.name) for operator in root.operators),
        # Under a prefix: a witness chooses its key's name, which must not pass for one of the cluster's.
        *((witness.vkey.public_key, f"witness {witness.vkey.name}") for witness in root.witnesses),
    ]


def _check_first_cosigner(root: TrustRoot, node: TrustRootNode) -> None:
    expected = origin_fingerprint_of(root.cluster_id, node.cosigner_vkey.public_key)
    is_own = expected == node.origin_fingerprint
    refuse_unless(is_own, "origin_fingerprint_wrong", f"the origin of {node.node_id} is not that of its cosigner key")


def parse_trust_root(text: str) -> TrustRoot:
    """What TrustRoot.parse does."""
    refuse_unless(not is_too_long(text), "too_large", "the text is too long")
    refuse_unless(text.endswith("\n"), "malformed", "the text ends with a newline")
    try:
        root = read_lines(Lines(text[:-1].split("\n")), text)
    except VerificationError as error:
        code = "too_large" if error.code == "too_large" else "malformed"
        raise VerificationError(code, error.message) from error
    refuse_unless(format_text(root) == text, "not_canonical", "it is not the one text of this trust root")
    _check_names(root)
    _check_key_names(root)
    _check_numbers(root)
    _check_lines(root)
    seen: Dict[bytes, str] = {}
    for public_key, owner in _keys(root):
        refuse_unless(public_key not in seen, "key_reused", f"the key of {owner} has another use as well")
        seen[public_key] = owner
    if root.version == 1:
        for node in root.nodes:
            _check_first_cosigner(root, node)
    return root


def _parse_signed(note: str) -> Tuple[TrustRoot, SignedNote]:
    try:
        signed = parse_note(note)
    except VerificationError as error:
        raise VerificationError("malformed", error.message) from error
    return parse_trust_root(signed.text), signed


def _check_signatures(signed: SignedNote, signers: Sequence[TrustRoot]) -> None:
    known = [key for signer in signers for key in signer.root_keys]
    verified = verify_known_lines(signed, known)
    if isinstance(verified, NoteRefusal):
        raise VerificationError(_REFUSAL_CODES[verified.code], f"a line of {verified.name}")
    good = {line.vkey for line in verified}
    for signer in signers:
        count = sum(1 for key in signer.root_keys if key in good)
        detail = f"{count} of the {signer.root_threshold} root keys that version {signer.version} asks for have signed"
        refuse_unless(count >= signer.root_threshold, "root_quorum_missing", detail)


def _check_origins(before: TrustRoot, after: TrustRoot) -> None:
    for old in before.origins:
        name = old.origin_fingerprint.hex()
        new = after.origin(old.origin_fingerprint)
        if new is None:
            raise VerificationError("origin_removed", f"the line of origin {name} is gone")
        is_legal = new.status == old.status or new.status in ORIGIN_MOVES[old.status]
        refuse_unless(is_legal, "origin_status_reversed", f"origin {name} goes from {old.status} to {new.status}")
        refuse_unless(old.log_vkey == new.log_vkey, "log_key_changed", f"the log key of origin {name} changes")
    for origin in after.origins:
        is_first = before.origin(origin.origin_fingerprint) is None
        is_legal = not is_first or origin.status == "active"
        refuse_unless(is_legal, "origin_not_active_first", f"an origin is first listed as {origin.status}")


def _check_nodes(before: TrustRoot, after: TrustRoot) -> None:
    nodes = {node.node_id: node for node in after.nodes}
    for old in before.nodes:
        new = nodes.get(old.node_id)
        if new is None:
            raise VerificationError("node_removed", f"the line of node {old.node_id} is gone")
        is_legal = new.status == old.status or new.status in NODE_MOVES[old.status]
        detail = f"node {old.node_id} goes from {old.status} to {new.status}"
        refuse_unless(is_legal, "node_status_reversed", detail)
    for node in after.nodes:
        if before.origin(node.origin_fingerprint) is None:
            _check_first_cosigner(after, node)


def _check_successor(versions: Sequence[TrustRoot], after: TrustRoot, signed: SignedNote) -> None:
    before = versions[-1]
    detail = f"version {after.version} does not follow version {before.version}"
    refuse_unless(after.version == before.version + 1, "version_gap", detail)
    refuse_unless(after.previous == before.root_thk, "previous_mismatch", "it follows another document")
    is_same = after.cluster_name == before.cluster_name and after.cluster_id == before.cluster_id
    refuse_unless(is_same, "cluster_changed", "cluster name and id never change")
    refuse_unless(after.epoch >= before.epoch, "epoch_decreased", f"from {before.epoch} to {after.epoch}")
    _check_origins(before, after)
    _check_nodes(before, after)
    owners = {public_key: owner for version in versions for public_key, owner in _keys(version)}
    for public_key, owner in _keys(after):
        is_same = owners.get(public_key, owner) == owner
        refuse_unless(is_same, "key_reused", f"the key of {owner} had another use")
    _check_signatures(signed, [before, after])


def _is_pinned(note: str, pinned: bytes) -> bool:
    try:
        return _parse_signed(note)[0].root_thk == pinned
    except VerificationError:
        # Not one of ours, or malformed: if it is the only one, its fault is reported below.
        return False


def verify_trust_root(documents: Sequence[str], pin: Union[bytes, str]) -> TrustRootChain:
    """Verifies signed documents, which may be an attacker's, from the one whose RootTHK is pinned.

    Expiry is not judged: it needs a clock, and never invalidates a version of a chain.

    Args:
        documents: whole signed notes in ascending order. `TrustRootAnswer.documents` has them as the service serves
            them. Those before the pinned one are not looked at.
        pin: RootTHK learnt out of band, or that of a version verified earlier: 32 bytes or 64 hex digits.

    Raises:
        VerificationError: with the codes of docs/PROTOCOL.md, "Trust root".
    """
    pinned = bytes32("pin", pin)
    if not documents:
        raise VerificationError("chain_empty", "there is no document")
    start = next((place for place, note in enumerate(documents) if _is_pinned(note, pinned)), 0)
    first, signed = _parse_signed(documents[start])
    refuse_unless(first.root_thk == pinned, "pin_mismatch", f"the first document has RootTHK {first.root_thk.hex()}")
    _check_signatures(signed, [first])
    versions = [first]
    for note in documents[start + 1 :]:
        root, signed = _parse_signed(note)
        _check_successor(versions, root, signed)
        versions.append(root)
    return TrustRootChain(versions, _verified=_BY_VERIFICATION)


def extend_trust_root(chain: TrustRootChain, documents: Sequence[str]) -> TrustRootChain:
    """Adds the versions that follow a chain. The chain given is left as it was."""
    versions = list(chain.versions)
    for note in documents:
        root, signed = _parse_signed(note)
        _check_successor(versions, root, signed)
        versions.append(root)
    return TrustRootChain(versions, _verified=_BY_VERIFICATION)


def check_not_older(chain: TrustRootChain, version: int, root_thk: Union[bytes, str]) -> None:
    """Holds a chain against the highest version that was ever seen and kept.

    Raises:
        Rollback: its newest version is lower.
        SplitView: it has another document for that version, or begins after it and so cannot show that it has the
            same. Code `fork`.
    """
    seen = bytes32("root_thk", root_thk)
    if chain.newest.version < version:
        raise Rollback("rollback", f"version {version} was seen before, the newest now is {chain.newest.version}")
    same = next((each for each in chain.versions if each.version == version), None)
    if same is None or same.root_thk != seen:
        raise SplitView("fork", f"another document is shown for version {version}")
