from __future__ import annotations

import copy
import json
from typing import Any, Dict

import pytest

from event_anchoring import Bundle, InvalidInput, Scope, VerificationError, add_scopes, verify_trust_root
from event_anchoring.bundle import BUNDLE_CHECKS, BundleVerification, Completeness, inspect_bundle, verify_bundle

from .vectors import load, name_of

FILES = (load("bundle"), load("bundle-state"), load("bundle-scope"))
VECTORS = {part: [case for file in FILES for case in file[part]] for part in ("good", "bad", "equal", "malformed")}
BUNDLES = {name: bundle for file in FILES for name, bundle in file["bundles"].items()}


def bundle_of(case: Any) -> Any:
    if "bundle" in case:
        return case["bundle"]
    bundle = copy.deepcopy(BUNDLES[case["of"]])
    for change in case["changes"]:
        *path, last = change["at"].split("/")[1:]
        node = bundle
        for part in path:
            node = node[int(part)] if isinstance(node, list) else node[part]
        node[int(last) if isinstance(node, list) else last] = change["to"]
    return bundle


def judge(case: Any, judged_by: Any = verify_bundle) -> BundleVerification:
    expect: Dict[str, Any] = dict(case.get("expect", {}))
    seen = case.get("highest_seen")
    if seen is not None:
        expect["highest_seen"] = (seen["version"], seen["root_thk"])
    if case.get("require_witnessed"):
        expect["require_witnessed"] = True
    found: BundleVerification = judged_by(json.dumps(bundle_of(case)), case["pinned_root_thk"], **expect)
    return found


def shown_scopes(found: BundleVerification) -> Any:
    return [
        {
            "scope_hash": scope.scope_hash.hex(),
            "grants": [grant.hex() for grant in scope.grants],
            "statements": scope.statements,
            "withheld": scope.withheld,
        }
        for scope in found.scopes
    ]


@pytest.mark.parametrize("case", VECTORS["good"], ids=name_of)
def test_good(case: Any) -> None:
    found = judge(case, inspect_bundle)
    assert found.outcome == case["outcome"]
    if found.outcome == "valid":
        assert judge(case) == found
    else:
        with pytest.raises(VerificationError) as caught:
            judge(case)
        assert (caught.value.code, caught.value.step) == ("bundle_not_proved", case["not_checked"][0])
        assert (caught.value.steps, caught.value.result) == (found.checks, found)
    assert (found.authorised_at_action, found.authorised_now) == (case["authorised_at_action"], case["authorised_now"])
    assert found.actor_proven is case["actor_proven"]
    if "reasons_at_action" in case:
        assert [reason.code for reason in found.reasons_at_action] == case["reasons_at_action"]
    assert [check.code for check in found.checks] == list(BUNDLE_CHECKS)
    assert [check.code for check in found.checks if check.result == "not_checked"] == case["not_checked"]
    assert not any(check.result == "fail" for check in found.checks)
    assert found.complete == (None if case["complete"] is None else Completeness(**case["complete"]))
    assert found.superseded_trust_root == case["superseded_trust_root"]
    assert found.witnessed is case.get("witnessed", False)
    if "state" in case:
        assert found.standing is not None
        assert (found.standing.state, found.standing.in_force) == (case["state"], case["in_force"])
    assert (found.authorised_at_action is True) == (not found.reasons_at_action)
    assert shown_scopes(found) == case.get("scopes", [])


@pytest.mark.parametrize("case", VECTORS["bad"], ids=name_of)
def test_bad(case: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        judge(case)
    assert caught.value.code == "bundle_invalid"
    assert caught.value.result == judge(case, inspect_bundle)
    assert caught.value.step == case["fails"]
    result = caught.value.result
    assert isinstance(result, BundleVerification)
    assert caught.value.steps == result.checks
    assert (result.outcome, result.authorised_at_action, result.authorised_now) == ("invalid", "unknown", "unknown")
    place = BUNDLE_CHECKS.index(case["fails"])
    results = [check.result for check in result.checks]
    assert results[place] == "fail"
    assert case.get("code", "") in result.checks[place].detail
    assert result.witnessed is False
    assert "fail" not in results[:place]
    assert set(results[place + 1 :]) <= {"not_checked"}
    assert result.scopes == ()


@pytest.mark.parametrize("case", VECTORS["equal"], ids=name_of)
def test_other_layouts(case: Any) -> None:
    assert Bundle.parse(case["text"]) == Bundle.parse(case["text"].encode("utf-8"))


@pytest.mark.parametrize("case", VECTORS["malformed"], ids=name_of)
def test_malformed(case: Any) -> None:
    with pytest.raises(VerificationError) as caught:
        Bundle.parse(case["text"])
    assert caught.value.code == case["error"]


GOOD = next(case for case in VECTORS["good"] if case["name"] == "complete")


def test_a_chain_that_is_held_instead_of_a_pin() -> None:
    bundle = bundle_of(GOOD)
    chain = verify_trust_root(bundle["trust_roots"], GOOD["pinned_root_thk"])
    assert verify_bundle(json.dumps(bundle), chain).outcome == "valid"
    two = next(case for case in VECTORS["good"] if case["name"].startswith("two versions"))
    documents = bundle_of(two)["trust_roots"]
    first = verify_trust_root(documents[:1], two["pinned_root_thk"])
    found = verify_bundle(json.dumps(bundle_of(two)), first)
    assert (found.outcome, found.trust_root_version) == ("valid", 2)


def test_a_chain_of_another_cluster() -> None:
    other = load("trust-root")["chains"]["good"][0]
    chain = verify_trust_root(other["documents"], other["pinned_root_thk"])
    with pytest.raises(VerificationError) as caught:
        verify_bundle(json.dumps(bundle_of(GOOD)), chain)
    assert caught.value.step == "trust_roots"


@pytest.mark.parametrize("pin", ["", "ab", GOOD["pinned_root_thk"] + "\n", b"", None, 7])
def test_bad_pins_are_the_callers(pin: Any) -> None:
    with pytest.raises(InvalidInput):
        verify_bundle(json.dumps(bundle_of(GOOD)), pin)


def test_numbers_and_booleans_are_not_the_same() -> None:
    bundle = copy.deepcopy(bundle_of(GOOD))
    if bundle["stated"] is None:
        bundle = copy.deepcopy(BUNDLES["whole"])
    bundle["stated"]["authorised_now"] = 1
    with pytest.raises(VerificationError) as caught:
        verify_bundle(json.dumps(bundle), GOOD["pinned_root_thk"])
    assert caught.value.step == "stated"


def test_disclosures_are_added_to_a_bundle() -> None:
    case = next(case for case in VECTORS["good"] if case["name"] == "scopes: nothing withheld")
    bundle, pin = bundle_of(case), case["pinned_root_thk"]
    whole = Scope.parse(json.dumps(bundle["scopes"][0]))
    plain = json.dumps({**bundle, "scopes": None})
    shown = verify_bundle(add_scopes(plain, [whole.disclose(["currency"])]), pin)
    assert [(scope.statements, scope.withheld) for scope in shown.scopes] == [({"currency": "EUR"}, 4)]
    # It takes the place of the one that is there.
    again = verify_bundle(add_scopes(json.dumps(bundle).encode(), [whole.disclose(["purpose"])]), pin)
    assert [list(scope.statements) for scope in again.scopes] == [["purpose"]]
    with pytest.raises(VerificationError) as caught:
        verify_bundle(add_scopes(plain, [Scope.make({"currency": "EUR"})]), pin)
    assert caught.value.step == "scopes"
    with pytest.raises(VerificationError) as caught:
        add_scopes("{}", [whole])
    assert caught.value.code == "bundle_format_unknown"
