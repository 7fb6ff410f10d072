"""Transactions by context and by function."""

import threading

import pytest

import tanglewood


def count(db):
    return db.query("MATCH (n) RETURN count(n)").value()


def test_a_context_commits(db):
    with db.session() as session:
        with session.transaction() as tx:
            tx.query("CREATE (:A)")
            tx.run("CREATE (:A {x: $x})", x=1)
            assert tx.query("MATCH (n:A) RETURN count(n)").value() == 2
            assert count(db) == 0 and session.in_transaction
        assert count(db) == 2 and not session.in_transaction
        with pytest.raises(tanglewood.InterfaceError):
            tx.query("RETURN 1")


def test_an_error_rolls_back(db):
    with db.session() as session:
        with pytest.raises(ZeroDivisionError):
            with session.transaction() as tx:
                tx.query("CREATE (:A)")
                1 / 0
        assert count(db) == 0 and not session.in_transaction
        with pytest.raises(tanglewood.DataError):
            with session.begin_transaction() as tx:
                tx.query("CREATE (:A)")
                tx.query("RETURN 1 / 0").rows()
        assert count(db) == 0
        with session.transaction() as tx:
            tx.query("CREATE (:A)")
            tx.rollback()
        with session.transaction() as tx:
            tx.query("CREATE (:A)")
            assert tx.commit() > 0
        assert count(db) == 1 and tx.closed


def test_one_transaction_at_a_time(db):
    session = db.session()
    with session.transaction():
        with pytest.raises(tanglewood.DatabaseError):
            session.transaction()
    for call in (session.commit, session.rollback):
        with pytest.raises(tanglewood.DatabaseError):
            call()


def test_reading_transactions_refuse_to_write(db):
    with pytest.raises(tanglewood.DatabaseError):
        db.execute_read(lambda tx: tx.query("CREATE (:A)"))
    assert count(db) == 0


def test_functions_are_retried(db):
    db.query("CREATE (:Counter {n: 0})")
    calls, lock = [0], threading.Lock()

    def add(tx):
        with lock:
            calls[0] += 1
        n = tx.query("MATCH (c:Counter) RETURN c.n").value()
        tx.query("MATCH (c:Counter) SET c.n = $n", {"n": n + 1})
        return n

    def work():
        for _ in range(25):
            db.execute_write(add)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.query("MATCH (c:Counter) RETURN c.n").value() == 100 and calls[0] >= 100


def test_what_a_function_raises_comes_out(db):
    def wrong(tx, what, key=None):
        tx.query("CREATE (:A)")
        raise what(key)

    with pytest.raises(LookupError, match="k"):
        db.execute_write(wrong, LookupError, key="k")
    assert count(db) == 0


def test_a_result_can_be_returned(db):
    result = db.execute_write(lambda tx: tx.query("UNWIND range(1, 5000) AS x CREATE (n:A {x: x}) RETURN n.x"))
    assert len(result.rows()) == 5000


def test_conflicts_are_transient(db):
    db.query("CREATE (:C {n: 0})")
    one, other = db.session(), db.session()
    one.begin(), other.begin()
    for session in (one, other):
        session.query("MATCH (c:C) RETURN c.n").rows()
    one.query("MATCH (c:C) SET c.n = 1")
    one.commit()
    with pytest.raises(tanglewood.TransientError) as caught:
        other.query("MATCH (c:C) SET c.n = 2")
        other.commit()
    assert caught.value.retryable and caught.value.is_retryable()
