"""Errors by class, with code, hint and place."""

import pickle

import pytest

import tanglewood


def test_a_mistake_in_a_text_is_shown_where_it_stands(db):
    with pytest.raises(tanglewood.QuerySyntaxError) as caught:
        db.query("MATCH (n)\nRETUR n")
    error = caught.value
    assert error.span == (2, 1, 5) and "RETURN" in error.hint
    assert error.code == "Neo.ClientError.Statement.SyntaxError"
    assert "^^^^^" in str(error) and "hint:" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.span) == (type(error), str(error), error.span)


@pytest.mark.parametrize(
    "text, cls",
    [
        ("RETURN x", tanglewood.ProgrammingError),
        ("RETURN 1 / 0", tanglewood.DataError),
        ("UNWIND range(1, 3) AS x RETURN x / 0", tanglewood.DataError),
        ("DROP INDEX nope", tanglewood.DatabaseError),
        ("CALL nope()", tanglewood.ProgrammingError),
    ],
)
def test_classes(db, text, cls):
    with pytest.raises(cls) as caught:
        db.query(text).rows()
    assert caught.value.code and caught.value.message and not caught.value.retryable


def test_constraints(db):
    db.query("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
    db.query("CREATE (:P {id: 1})")
    with pytest.raises(tanglewood.IntegrityError):
        db.query("CREATE (:P {id: 1})")


def test_limits(db):
    with pytest.raises(tanglewood.QueryTimeout) as caught:
        db.query("UNWIND range(1, 10000000000) AS x RETURN count(x)", timeout=0.05).rows()
    assert isinstance(caught.value, TimeoutError)
    with pytest.raises(tanglewood.OperationalError):
        db.query("UNWIND range(1, 10000000) AS x RETURN collect(x)", memory=1 << 20).rows()
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(tanglewood.InterfaceError):
            db.query("RETURN 1", timeout=wrong)
    with pytest.raises(tanglewood.DatabaseError):
        db.query("CREATE (:A)", read_only=True)


def test_an_error_in_the_middle_of_rows(db):
    result = db.query("UNWIND range(-200000, 0) AS x RETURN 10 / x AS y")
    with pytest.raises(tanglewood.DataError):
        for _ in result:
            pass
    with pytest.raises(tanglewood.DataError):
        list(result)


def test_dbapi_hierarchy():
    assert issubclass(tanglewood.DatabaseError, tanglewood.Error)
    assert issubclass(tanglewood.TransientError, tanglewood.OperationalError)
    assert tanglewood.apilevel == "2.0" and tanglewood.paramstyle == "named"
