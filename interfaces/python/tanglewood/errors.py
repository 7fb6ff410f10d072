"""Errors by class, as DB-API 2.0 sorts them, with the database's code, hint and place in the text.

``of`` is called by the native part with what the database says.
"""

import re

__all__ = [
    "Error",
    "InterfaceError",
    "DatabaseError",
    "DataError",
    "ParameterError",
    "OperationalError",
    "TransientError",
    "QueryTimeout",
    "Interrupted",
    "IntegrityError",
    "InternalError",
    "ProgrammingError",
    "QuerySyntaxError",
    "NotSupportedError",
]


class Error(Exception):
    """Any error of this package.

    ``code`` is stable, ``message`` one sentence, ``hint`` what may help; ``span`` is ``(line, column, length)`` of the place in the
    statement, counted from 1, and ``excerpt`` shows it. ``retryable``: the same statement may succeed if it is sent again.
    """

    code = ""
    message = ""
    hint = None
    excerpt = None
    retryable = False

    def __init__(self, message="", *, code="", hint=None, excerpt=None, retryable=False):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.excerpt, self.retryable = excerpt, retryable

    @property
    def span(self):
        """``(line, column, length)`` of the place in the statement, or None."""
        place = re.search(r"line (\d+), column (\d+)", self.excerpt or "")
        if place is None:
            return None
        carets = re.search(r"\^+", self.excerpt)
        return int(place[1]), int(place[2]), len(carets[0]) if carets else 1

    def is_retryable(self):
        """As neo4j's driver says it."""
        return self.retryable

    def __str__(self):
        parts = [self.message, self.excerpt, "hint: " + self.hint if self.hint else None]
        return "\n".join(part for part in parts if part)

    def __reduce__(self):
        return _again, (type(self), self.message, self.code, self.hint, self.excerpt, self.retryable)


def _again(cls, message, code, hint, excerpt, retryable):
    return cls(message, code=code, hint=hint, excerpt=excerpt, retryable=retryable)


class InterfaceError(Error):
    """The package was used in a way that has no meaning: something is closed, or belongs to another process."""


class DatabaseError(Error):
    """The database refused or failed."""


class DataError(DatabaseError):
    """A value cannot be computed, or has no form on the other side."""


class ParameterError(DataError, TypeError):
    """An object cannot be a parameter; the message names it with its path."""


class OperationalError(DatabaseError):
    """What the database needs is not there: memory, time, a file, a folder that nobody else has open."""


class TransientError(OperationalError):
    """The same may succeed if it is tried again, as after a conflict of two transactions."""


class QueryTimeout(OperationalError, TimeoutError):
    """A statement or a transaction took longer than it was allowed to."""


class Interrupted(OperationalError):
    """Somebody ended the statement."""


class IntegrityError(DatabaseError):
    """A constraint forbids it, or it is there already."""


class InternalError(DatabaseError):
    """A fault of the database; please report it with the statement."""


class ProgrammingError(DatabaseError):
    """The statement is at fault: a name, a type, a parameter that is missing."""


class QuerySyntaxError(ProgrammingError):
    """The text cannot be read; ``span`` says where."""


class NotSupportedError(DatabaseError):
    """It is right, and not supported."""


# The first part of a code that is found says the class.
_CLASSES = (
    ("Interface.Parameter", ParameterError),
    ("Interface.Result", DataError),
    ("Interface.", InterfaceError),
    ("TransactionTimedOut", QueryTimeout),
    ("Transaction.Terminated", Interrupted),
    ("Statement.SyntaxError", QuerySyntaxError),
    ("ConstraintValidationFailed", IntegrityError),
    ("Import.Exists", IntegrityError),
    ("Import.", OperationalError),
    ("MemoryPoolOutOfMemory", OperationalError),
    ("LimitExceeded", OperationalError),
    ("ClientError.Database.", OperationalError),
    ("Standing.Unsupported", NotSupportedError),
    ("Standing.Internal", InternalError),
    ("ArithmeticError", DataError),
    ("TypeError", DataError),
)


def of(code, message, hint, excerpt, retryable):
    """The exception for an error of the database."""
    found = next((cls for part, cls in _CLASSES if part in code), None)
    if found is None:
        kind = code.split(".")[1] if "." in code else ""
        if kind == "TransientError" or retryable:
            found = TransientError
        elif kind == "DatabaseError":
            is_inside = "UnknownError" in code or "Internal" in code
            found = InternalError if is_inside else OperationalError
        else:
            found = ProgrammingError
    return found(message, code=code, hint=hint, excerpt=excerpt, retryable=retryable)
