"""Why a call was refused, or has no answer: a class for each kind. Nothing of a refused call has happened."""

from typing import Optional

import grpc

REASON_KEY = "kronos-reason"
AT_KEY = "kronos-at"


class KronosError(Exception):
    """Any error of this package."""

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(self, message: str, reason: Optional[str] = None, at: Optional[int] = None):
        super().__init__(message)
        self.message = message
        self.reason = reason
        """What is wrong in one word, finer than the class; see ``docs/formats/kronos.proto``."""
        self.at = at
        """The position in the batch that the error is about, if it is about one."""


class NoEvent(KronosError):
    """An event is unknown, of another service, or released."""

    code = grpc.StatusCode.NOT_FOUND


class SessionOver(KronosError):
    """The session's lease is over: what it held is released. Make a new client."""

    code = grpc.StatusCode.NOT_FOUND


class Precondition(KronosError):
    """The session does not hold a reference that it releases, or another condition is not met."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class Contradiction(Precondition):
    """A ``must`` contradicts an order that holds, or another ``must`` of the batch."""


class InvalidArgument(KronosError, ValueError):
    """An event ordered with itself, a batch that is too large, an address that is none."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class Exhausted(KronosError):
    """A limit of events, orders, sessions or waiting calls is reached."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class Unauthenticated(KronosError):
    """The server asks for a token, and this one is none of its own."""

    code = grpc.StatusCode.UNAUTHENTICATED


class Forbidden(KronosError):
    """The token does not allow this call."""

    code = grpc.StatusCode.PERMISSION_DENIED


class Unavailable(KronosError):
    """No replica could answer in time. The call may have been carried out."""

    code = grpc.StatusCode.UNAVAILABLE


class OtherError(KronosError):
    """Anything else that a server says; ``code`` is of the instance."""


_BY_CODE = {
    grpc.StatusCode.NOT_FOUND: NoEvent,
    grpc.StatusCode.FAILED_PRECONDITION: Precondition,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.OUT_OF_RANGE: InvalidArgument,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Exhausted,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: Forbidden,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
}


def from_call(error: grpc.RpcError) -> KronosError:
    """The error that a refused call means."""
    said = {key: value for key, value in (error.trailing_metadata() or ())}
    reason, at = said.get(REASON_KEY), said.get(AT_KEY)
    kind = _BY_CODE.get(error.code(), OtherError)
    if reason == "session":
        kind = SessionOver
    elif reason == "contradiction":
        kind = Contradiction
    made = kind(error.details() or "", reason, int(at) if at is not None else None)
    if kind is OtherError:
        made.code = error.code()
    return made
