"""Everything that this package raises.

Match on the class or on `code`, which is stable; messages are for people and may change.

    AnchoringError
    ├── InvalidInput            a value of yours, refused before anything was signed or sent; `field` names it
    ├── SigningFailed           a signer answered with no signature, or with one that its public key refuses
    ├── ConnectionFailed        no endpoint could be reached: nothing was recorded
    ├── TimedOut                a read was not answered in time
    ├── OutcomeUnknown          a write was sent and may have been recorded: ask again, the same `client_event_id`
    ├── UnexpectedAnswer        an answer that is not of the API
    ├── RecorderError           a recorder could not take, or not yet anchor, what it was given
    │   ├── FolderInUse         another process records in this folder: `pid`
    │   ├── SpoolCorrupt        a file of the folder is not what was written: `file`, `offset`
    │   ├── SpoolFull           events have to be anchored before it takes more
    │   ├── SpoolWriteFailed    the disk is full, say: nothing was recorded
    │   ├── NotFlushed          the time was up: `left` events are in the spool, and are sent later
    │   └── EventRefused        the service refuses an event for good: it is in the folder `refused`
    ├── ApiProblem              the service refused (RFC 9457): `status`, `code`, `errors`
    │   ├── Unauthorized        401
    │   ├── Forbidden           403
    │   ├── NotFound            404, 410
    │   ├── Conflict            409
    │   ├── Unprocessable       422
    │   ├── RateLimited         429, with `retry_after`
    │   └── Unavailable         5xx, with `retry_after`
    └── VerificationError       what was checked offline is not what it should be
        ├── Rollback            an older state than one seen before
        ├── SplitView           two states that cannot both be of one log
        └── CanaryFailed        the Ed25519 verifier at hand does not follow the rule
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Optional, Tuple

from ._steps import Step


class AnchoringError(Exception):
    """Base of all errors of this package.

    Attributes:
        code: what happened, as a stable word.
        request_id: the `X-Request-Id` of the answer, to be quoted to the service's operators.
        retry_after: seconds after which to ask again; None: asking again is useless, or no time was given.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        request = "" if self.request_id is None else f" (request {self.request_id})"
        return f"{self.code}: {self.message}{request}"


class InvalidInput(AnchoringError):
    """An argument is not acceptable. Nothing was signed or sent.

    Attributes:
        field: the wire name of the field at fault, `semantic_anchor.iris_ref` for a member.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__("invalid_input", f"{field}: {message}")
        self.field = field


class SigningFailed(AnchoringError):
    """A signer gave something else than a signature by its public key over the bytes that it was given."""

    def __init__(self, message: str) -> None:
        super().__init__("signing_failed", message)


class ConnectionFailed(AnchoringError):
    """No endpoint could be reached, or a connection was lost during a read. Nothing was recorded."""

    def __init__(self, message: str, *, retry_after: Optional[float] = None) -> None:
        super().__init__("connection_failed", message, retry_after=retry_after)


class TimedOut(AnchoringError):
    """A read was not answered, on no endpoint, within its time. Asking again is safe."""

    def __init__(self, message: str, *, request_id: Optional[str] = None) -> None:
        super().__init__("timeout", message, request_id=request_id)


class OutcomeUnknown(AnchoringError):
    """A write was sent, and whether it was recorded is not known.

    Ask again with the same `client_event_id`: what was recorded is then replayed, not recorded twice. Claims, grants
    and revocations are known by their content; send the same once more. An event that was sent without an id would
    be a second event.

    Attributes:
        client_event_id: of the event; None for a batch, for records that are known by their content, and without one.
        client_event_ids: of the events of a batch, in their order; of one event its own; of other records none.
    """

    def __init__(
        self,
        message: str,
        *,
        client_event_ids: Tuple[Optional[str], ...] = (),
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__("outcome_unknown", message, request_id=request_id, retry_after=retry_after)
        self.client_event_ids = client_event_ids
        self.client_event_id = client_event_ids[0] if len(client_event_ids) == 1 else None


class UnexpectedAnswer(AnchoringError):
    """An answer that is not of the API: a proxy in between, another service, or a newer one that broke its contract."""

    def __init__(self, message: str, *, request_id: Optional[str] = None) -> None:
        super().__init__("answer_malformed", message, request_id=request_id)


class RecorderError(AnchoringError):
    """What a recorder raises of its own."""


class FolderInUse(RecorderError):
    """Another recorder has the folder. One process records in a folder at a time.

    Attributes:
        pid: the number of its process.
    """

    def __init__(self, folder: Path, pid: int) -> None:
        super().__init__(
            "folder_in_use", f"{folder}: process {pid} records in it; give each process a folder of its own"
        )
        self.pid = pid


class SpoolCorrupt(RecorderError):
    """A file of the spool was altered, or its disk has lost something. Nothing of it is sent, and nothing is deleted.

    Attributes:
        file: its path.
        offset: where the frame begins that is spoiled.
    """

    def __init__(self, file: Path, offset: int, message: str) -> None:
        super().__init__("spool_corrupt", f"{file}, offset {offset}: {message}")
        self.file = file
        self.offset = offset


class SpoolFull(RecorderError):
    """As much as `spool_bytes_max` allows waits to be anchored. Nothing was recorded."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__("spool_full", f"{bytes_max} bytes wait to be anchored: wait for room(), or record less")


class SpoolWriteFailed(RecorderError):
    """The spool could not be written: the disk is full, say.

    Raised by `record`, nothing was recorded. From `durable` it means that the event is recorded and may be lost with
    the power until it is kept.
    """

    def __init__(self, message: str) -> None:
        super().__init__("spool_write_failed", message)


class NotFlushed(RecorderError):
    """The time was up. What is left stays in the spool; it is sent later, or after the next start.

    Attributes:
        left: how many events are not anchored yet.
    """

    def __init__(self, left: int) -> None:
        super().__init__("not_flushed", f"{left} events are not anchored yet; they stay in the spool")
        self.left = left


class EventRefused(RecorderError):
    """The service refuses an event for good. It is in the folder `refused`.

    Attributes:
        client_event_id: of the event.
        status: the HTTP status that it would have got alone.
    """

    def __init__(self, code: str, detail: str, client_event_id: str, status: int) -> None:
        super().__init__(code, f"event {client_event_id} is refused: {detail}")
        self.client_event_id = client_event_id
        self.status = status


class ApiProblem(AnchoringError):
    """The service refused the request: an RFC 9457 problem.

    Attributes:
        status: HTTP status.
        title: what `code` means, for people.
        errors: the fields at fault, each with `pointer` or `parameter`, `code` and `detail`.
        members: all members of the problem, such as `anchor_id` and `state` of `no_active_claim`.
        pointers: the JSON pointers among `errors`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int,
        title: str = "",
        errors: Tuple[Mapping[str, object], ...] = (),
        members: Optional[Mapping[str, object]] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(code, message, request_id=request_id, retry_after=retry_after)
        self.status = status
        self.title = title
        self.errors = errors
        self.members: Mapping[str, object] = {} if members is None else members

    @property
    def pointers(self) -> Tuple[str, ...]:
        """JSON pointers (RFC 6901) into the body that was sent."""
        return tuple(str(error["pointer"]) for error in self.errors if "pointer" in error)


class Unauthorized(ApiProblem):
    """401: the API key is missing, malformed, unknown, expired or revoked."""


class Forbidden(ApiProblem):
    """403: the API key lacks the scope of the route, or another API client recorded the anchor (`not_own_record`)."""


class NotFound(ApiProblem):
    """404, or 410 for an erased `client_event_id`."""


class Conflict(ApiProblem):
    """409: the ledger holds something that excludes this."""


class Unprocessable(ApiProblem):
    """422: well formed, and against the rules of the ledger."""


class RateLimited(ApiProblem):
    """429, after as many tries as the retry policy allows."""


class Unavailable(ApiProblem):
    """5xx, after as many tries as the retry policy allows. Asking again later is safe where it was then."""


class VerificationError(AnchoringError):
    """Bytes, texts or proofs that do not verify. Raised by everything that verifies or reads offline.

    Attributes:
        step: of a receipt or a bundle, the step or check that failed or, of a bundle that is not proved, the first
            that was not made. None where there are no steps.
        steps: all of them, in their order.
        result: the whole report, or the evidence; None if there is none.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        step: Optional[str] = None,
        steps: Tuple[Step, ...] = (),
        result: object = None,
    ) -> None:
        super().__init__(code, message)
        self.step = step
        self.steps = steps
        self.result = result


class Rollback(VerificationError):
    """A log, or a trust root, that is older than what was seen before."""


class SplitView(VerificationError):
    """Two states that cannot both be of one append-only log: clients are shown different histories."""


class CanaryFailed(VerificationError):
    """The Ed25519 verifier at hand does not follow the rule, so none of its verdicts may be used."""


_PROBLEMS = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: NotFound,
    422: Unprocessable,
    429: RateLimited,
}


def problem_class(status: int) -> type[ApiProblem]:
    """The class of problems with this status."""
    if status >= 500:
        return Unavailable
    return _PROBLEMS.get(status, ApiProblem)
