from __future__ import annotations

import warnings
from typing import Any, List

import pytest

from event_anchoring.ed25519 import Ed25519Verifier, openssl_verify, passes_prefilter, verify_signature
from event_anchoring.errors import CanaryFailed

from .vectors import load, load_public

VECTORS = load("ed25519")


def verdict(case: Any) -> bool:
    key, signature = bytes.fromhex(case["public_key"]), bytes.fromhex(case["signature"])
    return verify_signature(key, bytes.fromhex(case["message"]), signature)


@pytest.mark.parametrize("case", VECTORS["good"], ids=lambda case: case["name"])
def test_good(case: Any) -> None:
    assert verdict(case)


@pytest.mark.parametrize("case", VECTORS["bad"], ids=lambda case: case["name"])
def test_bad(case: Any) -> None:
    assert not verdict(case)


def public_cases(name: str) -> Any:
    cases = load_public(name)
    if cases is None:
        pytest.skip(f"the public vectors {name} are not beside this checkout")
    return cases


def test_speccheck_accepts_case_3_alone() -> None:
    cases = public_cases("ed25519-speccheck")
    accepted: List[int] = []
    for number, case in enumerate(cases):
        parts = (bytes.fromhex(case[each]) for each in ("pub_key", "message", "signature"))
        if verify_signature(*parts):
            accepted.append(number)
    assert len(cases) == 12
    assert accepted == [3]


def test_cctv_accepts_43() -> None:
    cases = public_cases("cctv-ed25519")
    accepted = [
        case
        for case in cases
        if verify_signature(bytes.fromhex(case["key"]), case["msg"].encode(), bytes.fromhex(case["sig"]))
    ]
    assert (len(cases), len(accepted)) == (914, 43)
    assert not any("low_order_A" in (case["flags"] or []) for case in accepted)


def test_wycheproof_agrees_on_all() -> None:
    differing, count = [], 0
    for group in public_cases("wycheproof-ed25519")["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            count += 1
            is_good = verify_signature(key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            if is_good is not (case["result"] == "valid"):
                differing.append(case["tcId"])
    assert (count, differing) == (151, [])


def test_openssl_alone_is_not_the_rule() -> None:
    beyond = [
        case["name"]
        for case in VECTORS["bad"]
        if openssl_verify(*(bytes.fromhex(case[each]) for each in ("public_key", "message", "signature")))
    ]
    for name in beyond:
        case = next(each for each in VECTORS["bad"] if each["name"] == name)
        assert not passes_prefilter(bytes.fromhex(case["public_key"]), bytes.fromhex(case["signature"]))


@pytest.mark.parametrize("answer", [True, False])
def test_a_verifier_that_always_says_the_same_is_refused(answer: bool) -> None:
    verifier = Ed25519Verifier(lambda key, message, signature: answer)
    for _ in range(2):
        with pytest.raises(CanaryFailed, match="canary") as caught:
            verifier(bytes(32), b"", bytes(64))
        assert caught.value.code == "ed25519_canary"


def test_canaries_run_once_and_before_the_first_verdict() -> None:
    seen: List[bytes] = []

    def raw(key: bytes, message: bytes, signature: bytes) -> bool:
        seen.append(signature)
        return openssl_verify(key, message, signature)

    verifier = Ed25519Verifier(raw)
    assert not verifier(bytes(32), b"", bytes(64))
    after_first = len(seen)
    assert after_first >= 4
    assert not verifier(bytes(32), b"", bytes(64))
    assert len(seen) == after_first


@pytest.mark.parametrize("key_length", [0, 31, 33, 64])
@pytest.mark.parametrize("signature_length", [0, 63, 65, 128])
def test_other_lengths_are_bad_and_raise_nothing(key_length: int, signature_length: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not verify_signature(b"\x01" * key_length, b"", b"\x01" * signature_length)
