"""C2SP tlog-policy: the rule of the quorum in a form that other tools read. docs/PROTOCOL.md, "Quorum and policy"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import List, Optional, Sequence, Set, Tuple

from ._bytes import parse_decimal
from .errors import VerificationError
from .notes import TYPE_COSIGNATURE, TYPE_ED25519, VerifiedLine, Vkey, parse_vkey

_LINES_MAX = 1024
_BLANK = re.compile("[ \t]+")


@dataclass(frozen=True)
class PolicyGroup:
    """`threshold` of `members` must be satisfied."""

    name: str
    threshold: int
    members: Tuple[str, ...]


@dataclass(frozen=True)
class TlogPolicy:
    """A policy. `quorum` is the name of the witness or group that must be satisfied; None: none must."""

    logs: Tuple[Vkey, ...]
    witnesses: Tuple[Tuple[str, Vkey], ...]
    groups: Tuple[PolicyGroup, ...]
    quorum: Optional[str]

    def __str__(self) -> str:
        lines = [f"log {vkey}" for vkey in self.logs]
        lines += [f"witness {name} {vkey}" for name, vkey in self.witnesses]
        lines += [f"group {group.name} {group.threshold} {' '.join(group.members)}" for group in self.groups]
        return "\n".join([*lines, f"quorum {'none' if self.quorum is None else self.quorum}", ""])

    def is_satisfied_by(self, verified: Sequence[VerifiedLine]) -> bool:
        """Whether good lines meet the quorum."""
        keys = {line.vkey.public_key for line in verified}
        satisfied = {name for name, vkey in self.witnesses if vkey.public_key in keys}
        # Members are defined before their group, so one pass decides all.
        for group in self.groups:
            if sum(1 for member in group.members if member in satisfied) >= group.threshold:
                satisfied.add(group.name)
        return self.quorum is None or self.quorum in satisfied


@dataclass
class _Draft:
    logs: List[Vkey] = field(default_factory=list)
    witnesses: List[Tuple[str, Vkey]] = field(default_factory=list)
    groups: List[PolicyGroup] = field(default_factory=list)
    names: Set[str] = field(default_factory=set)
    members: Set[str] = field(default_factory=set)
    keys: Set[bytes] = field(default_factory=set)
    quorum: Optional[str] = None

    def key(self, text: str, key_type: int) -> Vkey:
        try:
            vkey = parse_vkey(text)
        except VerificationError as error:
            raise VerificationError("policy_malformed", error.message) from error
        if vkey.type != key_type:
            raise VerificationError("policy_malformed", "a key of this type cannot stand here")
        if vkey.public_key in self.keys:
            raise VerificationError("policy_key_reused", f"the key of {vkey.name} was listed before")
        self.keys.add(vkey.public_key)
        return vkey

    def define(self, name: str) -> None:
        if name == "none" or name in self.names:
            raise VerificationError("policy_name_reused", f"the name {name} is taken")
        self.names.add(name)

    def group(self, name: str, rule: str, members: Sequence[str]) -> None:
        for member in members:
            if member not in self.names:
                raise VerificationError("policy_name_unknown", f"{member} is not defined above")
            if member in self.members:
                raise VerificationError("policy_name_reused", f"{member} is a member already")
            self.members.add(member)
        threshold = {"all": len(members), "any": 1}.get(rule, parse_decimal(rule))
        if threshold is None or not 1 <= threshold <= len(members):
            raise VerificationError("policy_threshold_invalid", f"{rule} of {len(members)} members")
        self.define(name)
        self.groups.append(PolicyGroup(name, threshold, tuple(members)))

    def set_quorum(self, words: Sequence[str]) -> None:
        if len(words) != 1 or self.quorum is not None:
            raise VerificationError("policy_malformed", "a policy has one quorum line with one name")
        if words[0] != "none" and words[0] not in self.names:
            raise VerificationError("policy_name_unknown", f"{words[0]} is not defined above")
        self.quorum = words[0]

    def statement(self, keyword: str, words: Sequence[str]) -> None:
        if keyword == "log" and len(words) in (1, 2):
            self.logs.append(self.key(words[0], TYPE_ED25519))
        elif keyword == "witness" and len(words) in (2, 3):
            self.define(words[0])
            self.witnesses.append((words[0], self.key(words[1], TYPE_COSIGNATURE)))
        elif keyword == "group" and len(words) >= 3:
            self.group(words[0], words[1], words[2:])
        elif keyword == "quorum":
            self.set_quorum(words)
        else:
            raise VerificationError("policy_malformed", f"not a statement: {keyword}")


def parse_policy(text: str) -> TlogPolicy:
    """Reads a policy. URLs are accepted and dropped.

    Raises:
        VerificationError: `policy_malformed`, `policy_name_reused`, `policy_name_unknown`, `policy_key_reused`,
            `policy_threshold_invalid` or `policy_too_large`.
    """
    lines = text.split("\n")
    if len(lines) > _LINES_MAX:
        raise VerificationError("policy_too_large", "too many lines")
    draft = _Draft()
    for line in lines:
        words = [word for word in _BLANK.split(line) if word != ""]
        if words and not words[0].startswith("#"):
            draft.statement(words[0], words[1:])
    if draft.quorum is None:
        raise VerificationError("policy_malformed", "there is no quorum line")
    quorum = None if draft.quorum == "none" else draft.quorum
    return TlogPolicy(tuple(draft.logs), tuple(draft.witnesses), tuple(draft.groups), quorum)
