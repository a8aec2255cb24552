"""Bundles: everything that a trace needs in one file, judged offline. docs/PROTOCOL.md, "Bundle"."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Optional, Sequence, Tuple, Union

from ._bundle_checks import Progress, make_checks
from ._bundle_result import BUNDLE_CHECKS, BundleVerification, Completeness, Standing
from ._bundle_text import Bundle, read_bundle, read_bundle_json
from ._inputs import Bytes32, bytes32
from .errors import InvalidInput, VerificationError
from .scope import Scope
from .trust_root import TrustRootChain

#: What verify_bundle raises of an outcome, and the result of the check that it names.
_REFUSALS = {"invalid": ("bundle_invalid", "fail"), "valid_as_stated": ("bundle_not_proved", "not_checked")}


def inspect_bundle(
    bundle: Union[str, bytes, Bundle],
    trust_root: Union[TrustRootChain, Bytes32],
    *,
    anchor_id: Optional[Bytes32] = None,
    event_hash: Optional[Bytes32] = None,
    highest_seen: Optional[Tuple[int, Bytes32]] = None,
    require_witnessed: bool = False,
) -> BundleVerification:
    """Verifies a bundle as verify_bundle does, and returns a report for every outcome.

    Its `outcome` is one of three: `valid` alone is proved, `valid_as_stated` rests in part on the word of the bundle's
    maker, `invalid` proves nothing.

    Raises:
        VerificationError: `bundle_too_large`, `bundle_json_invalid`, `bundle_format_unknown` or `bundle_malformed`, if
            it is not a bundle at all.
        InvalidInput: an argument is not 32 bytes or 64 hex digits.
    """
    seen: Optional[Tuple[int, bytes]] = None
    if highest_seen is not None:
        if not isinstance(highest_seen, tuple) or len(highest_seen) != 2:
            raise InvalidInput("highest_seen", "expected a version and its RootTHK")
        seen = (highest_seen[0], bytes32("highest_seen", highest_seen[1]))
    progress = Progress(
        bundle=bundle if isinstance(bundle, Bundle) else read_bundle(bundle),
        trust_root=trust_root if isinstance(trust_root, TrustRootChain) else bytes32("trust_root", trust_root),
        highest_seen=seen,
        anchor_id=None if anchor_id is None else bytes32("anchor_id", anchor_id),
        event_hash=None if event_hash is None else bytes32("event_hash", event_hash),
        require_witnessed=require_witnessed,
    )
    checks, failed = make_checks(progress)
    superseded = progress.superseded()
    result = BundleVerification(
        outcome="invalid",
        actor_proven=False,
        authorised_at_action="unknown",
        authorised_now="unknown",
        checks=tuple(checks),
        subject=progress.bundle.subject,
        as_of=progress.bundle.as_of,
        trust_root_version=None if progress.chain is None else progress.chain.newest.version,
        superseded_trust_root=min(superseded, default=None),
    )
    if failed is not None:
        return result
    trace = progress.trace
    if trace is None:
        raise RuntimeError("no check failed, and none of authority was made")
    return replace(
        result,
        outcome="valid" if all(check.result == "pass" for check in checks) else "valid_as_stated",
        actor_proven=trace.is_actor_proven,
        authorised_at_action=trace.at_action.verdict,
        authorised_now=trace.now.verdict,
        leaf=progress.subject().leaf,
        reasons_at_action=trace.at_action.reasons,
        reasons_now=trace.now.reasons,
        suspect=trace.is_suspect,
        standing=trace.standing,
        delegation=trace.delegation,
        revocations=trace.revocations,
        complete=progress.complete,
        witnessed=progress.is_witnessed,
        scopes=progress.scopes,
    )


def verify_bundle(
    bundle: Union[str, bytes, Bundle],
    trust_root: Union[TrustRootChain, Bytes32],
    *,
    anchor_id: Optional[Bytes32] = None,
    event_hash: Optional[Bytes32] = None,
    highest_seen: Optional[Tuple[int, Bytes32]] = None,
    require_witnessed: bool = False,
) -> BundleVerification:
    """Verifies a bundle, without network.

    Success means that its verdicts are correct, not that they are True: a bundle can prove that an act was not
    authorised as well as that one was. Check `authorised_at_action`.

    Args:
        bundle: its text; may be an attacker's.
        trust_root: a RootTHK that was pinned (32 bytes or 64 hex digits), or a verified chain, which the bundle may
            continue and may not contradict. Never from the bundle's own source.
        anchor_id: what you ask about.
        event_hash: the hash of your own event.
        highest_seen: version and RootTHK of the newest trust root that you have ever seen.
        require_witnessed: refuse a bundle that rests on a head which fewer witnesses have signed than the newest trust
            root asks for. Then the check `witnesses` fails; of a bundle with a state head always: no witness signs one.

    Raises:
        VerificationError: for every bundle that is not proved throughout: `bundle_invalid` if something is wrong,
            `bundle_not_proved` if something rests on the word of its maker. `step` is the check, `steps` are all
            checks, `result` is the BundleVerification. To look at such a bundle without an error: inspect_bundle.
            `bundle_too_large`, `bundle_json_invalid`, `bundle_format_unknown`, `bundle_malformed`: it is not a bundle.
        InvalidInput: an argument is not 32 bytes or 64 hex digits.
    """
    found = inspect_bundle(
        bundle,
        trust_root,
        anchor_id=anchor_id,
        event_hash=event_hash,
        highest_seen=highest_seen,
        require_witnessed=require_witnessed,
    )
    if found.outcome == "valid":
        return found
    code, culprit = _REFUSALS[found.outcome]
    check = next(each for each in found.checks if each.result == culprit)
    message = f"{check.code}: {check.detail}"
    raise VerificationError(code, message, step=check.code, steps=found.checks, result=found)


__all__ = [
    "BUNDLE_CHECKS",
    "Bundle",
    "BundleVerification",
    "Completeness",
    "Standing",
    "inspect_bundle",
    "verify_bundle",
]


def add_scopes(bundle: Union[str, bytes], scopes: Sequence[Scope]) -> str:
    """The text of a bundle with disclosures of what its grants allow; verify_bundle judges both together.

    A disclosure takes the place of one of the same `scope_hash`. Whoever reads the text can read what it discloses.

    Raises:
        VerificationError: `bundle_too_large`, `bundle_json_invalid`, `bundle_format_unknown` or `bundle_malformed`, if
            it is not a bundle.
    """
    read_bundle(bundle)
    members = read_bundle_json(bundle)
    added = {scope.scope_hash.hex(): scope.to_json() for scope in scopes}
    held = members.get("scopes") or []
    kept = [each for each in held if each["scope_hash"].lower() not in added]
    whole = {**members, "scopes": [*kept, *added.values()]}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n"
