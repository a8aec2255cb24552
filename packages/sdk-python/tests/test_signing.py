from __future__ import annotations

import copy
import gc
import pickle
import warnings
from typing import Any, Callable, List

import pytest

from event_anchoring import InvalidInput, LocalKey, SigningFailed, signer_of, verify_signature
from event_anchoring.signing import checked_signature, sign_now

SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
SIGNATURE = (
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
    "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)


@pytest.mark.parametrize("seed", [SEED, SEED.upper(), bytes.fromhex(SEED), bytearray.fromhex(SEED)])
def test_rfc_8032_test_1(seed: Any) -> None:
    key = LocalKey(seed)
    assert key.public_key.hex() == PUBLIC_KEY
    assert key.sign(b"").hex() == SIGNATURE
    assert key.export_seed().hex() == SEED


def test_a_key_is_never_shown_or_copied() -> None:
    key = LocalKey(SEED)
    for text in (repr(key), str(key), f"{key}", repr([key]), repr({"key": key})):
        assert SEED not in text
        assert PUBLIC_KEY in text
    assert not hasattr(key, "__dict__")
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            attempt(key)


def test_a_destroyed_key_is_wiped_and_signs_nothing() -> None:
    key = LocalKey(SEED)
    kept = key._seed
    with key:
        assert len(key.sign(b"x")) == 64
    assert bytes(kept) == b""
    uses: List[Callable[[], bytes]] = [lambda: key.sign(b"x"), key.export_seed]
    for use in uses:
        with pytest.raises(SigningFailed, match="destroyed"):
            use()
    assert key.public_key.hex() == PUBLIC_KEY


def test_wiping_overwrites_before_it_shortens() -> None:
    class Watched(bytearray):
        zeroed = False

        def clear(self) -> None:
            Watched.zeroed = all(each == 0 for each in self) and len(self) == 32
            super().clear()

    key = LocalKey(SEED)
    key._seed = Watched(key._seed)
    key.destroy()
    assert Watched.zeroed


def test_a_key_that_is_dropped_is_wiped() -> None:
    key = LocalKey(SEED)
    kept = key._seed
    del key
    gc.collect()
    assert bytes(kept) == b""


def test_generated_keys_differ() -> None:
    assert LocalKey.generate().public_key != LocalKey.generate().public_key


@pytest.mark.parametrize("seed", ["", SEED + "0", SEED[:-1] + "\n", "secret-that-is-no-seed" * 3, bytes(31), 7, None])
def test_bad_seeds_are_not_quoted(seed: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        LocalKey(seed)
    assert caught.value.field == "seed"
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("answer", [None, "", SIGNATURE, b"", bytes(63), bytes(65), bytes(64), 7])
def test_signers_that_give_something_else(answer: Any) -> None:
    with pytest.raises(SigningFailed) as caught:
        checked_signature("actor", bytes.fromhex(PUBLIC_KEY), b"", answer)
    assert caught.value.code == "signing_failed"


def test_a_callback_gets_exactly_the_bytes() -> None:
    seen = []
    with LocalKey(SEED) as key:

        def sign(payload: bytes) -> bytes:
            seen.append(payload)
            return key.sign(payload)

        signer = signer_of(PUBLIC_KEY, sign)
        signature = sign_now(signer, b"exactly this")
    assert seen == [b"exactly this"]
    assert verify_signature(signer.public_key, b"exactly this", signature)


def test_an_awaited_signer_is_refused_by_the_synchronous_client() -> None:
    async def sign(payload: bytes) -> bytes:
        return bytes(64)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SigningFailed, match="AsyncClient"):
            sign_now(signer_of(PUBLIC_KEY, sign), b"")
        gc.collect()
