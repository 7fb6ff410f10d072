"""Ctrl-C, threads, processes: who waits, and for what."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tanglewood

ENDLESS = "UNWIND range(1, 100000) AS x UNWIND range(1, 1000000) AS y RETURN count(*)"

#: Each would run for hours.
LONG = {
    "read": "db.query(%r).rows()" % ENDLESS,
    "stream": "for row in db.query('UNWIND range(1, 1000000000000) AS x RETURN x'): pass",
    "write": "db.query('UNWIND range(1, 100000) AS x UNWIND range(1, 1000000) AS y SET (CASE x WHEN 0 THEN null ELSE null END).a = 1')",
    "gremlin": "db.gremlin('g.inject(1).repeat(__.repeat(__.identity()).times(10000)).until(__.is(2))').rows()",
    "import": "n = list(range(300000))\n            while True: db.import_tables({'N': ({'id': n}, 'id')}, existing='skip')",
    "subscribe": "db.create_standing('q', 'MATCH (n) RETURN n'); list(db.subscribe('q'))",
}


@pytest.mark.parametrize("what", sorted(LONG))
def test_ctrl_c_ends_at_once(what):
    if what == "import":
        pytest.importorskip("pyarrow")
    script = """
        import tanglewood, time
        db = tanglewood.connect(":memory:", threads=2)
        print("ready", flush=True)
        try:
            %s
            print("ended", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(db.query("RETURN 1").rows(), flush=True)
    """ % LONG[what]
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        said, errors = child.communicate(timeout=120)
    finally:
        child.kill()
    assert said == "interrupted\n[(1,)]\n", (said, errors)


def test_other_threads_run_while_a_query_does(db):
    turns = 0
    ended = threading.Event()

    def query():
        with pytest.raises(tanglewood.QueryTimeout):
            db.query(ENDLESS, timeout=2).rows()
        ended.set()

    thread = threading.Thread(target=query)
    thread.start()
    while not ended.wait(0.01):
        turns += 1
    thread.join()
    assert turns >= 10


def test_threads_share_a_session_and_a_database(db):
    session, faults = db.session(), []

    def work(own):
        try:
            for at in range(50):
                session.query("CREATE (:N {a: $a, b: $b})", {"a": own, "b": at})
                with db.session() as mine:
                    assert mine.query("MATCH (n:N {a: $a}) RETURN count(n)", {"a": own}).value() == at + 1
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert db.query("MATCH (n:N) RETURN count(n)").value() == 400


def test_threads_share_a_result(db):
    result, found, lock = db.query("UNWIND range(1, 20000) AS x RETURN x"), [], threading.Lock()

    def work():
        for (x,) in result:
            with lock:
                found.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 20001))


def test_interrupt_from_another_thread(db):
    session = db.session()
    timer = threading.Timer(0.3, session.interrupt)
    timer.start()
    with pytest.raises(tanglewood.Interrupted):
        session.query(ENDLESS.replace("RETURN", "WITH") + " AS c CREATE (:A {c: c})")
    timer.join()
    session.interrupt()
    assert session.query("RETURN 1").value() == 1


def test_closing_a_database_ends_what_runs(db):
    session, caught = db.session(), []

    def query():
        try:
            session.query(ENDLESS).rows()
        except tanglewood.Error as error:
            caught.append(error)

    thread = threading.Thread(target=query)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(60)
    assert not thread.is_alive() and caught


def in_a_child(db, session, result, queue):
    said = []
    for call in (lambda: session.query("RETURN 1"), lambda: next(result), db.session):
        try:
            call()
            said.append("ran")
        except tanglewood.InterfaceError as error:
            said.append("forked" if "forked" in str(error) else str(error))
    db.close()
    queue.put(said)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_is_told(db):
    context = multiprocessing.get_context("fork")
    queue, session, result = context.Queue(), db.session(), db.query("UNWIND range(1, 5000) AS x RETURN x")
    child = context.Process(target=in_a_child, args=(db, session, result, queue))
    child.start()
    assert queue.get(timeout=60) == ["forked"] * 3
    child.join(60)
    assert child.exitcode == 0
    assert len(result.rows()) == 5000


@pytest.mark.parametrize("what", ["db.close()", "session.close()", "session.query('RETURN 1')"])
def test_a_handler_of_signals_touches_what_runs(what):
    script = """
        import signal, tanglewood
        db = tanglewood.connect(":memory:", threads=2)
        session = db.session()
        signal.signal(signal.SIGTERM, lambda *_: %s)
        print("ready", flush=True)
        try:
            session.query(%r)
        except tanglewood.Error as error:
            print(type(error).__name__, flush=True)
    """ % (what, ENDLESS.replace("RETURN", "WITH") + " AS c CREATE (:A {c: c})")
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1)
        child.send_signal(signal.SIGTERM)
        said, errors = child.communicate(timeout=120)
    finally:
        child.kill()
    assert said == ("InterfaceError\n" if "query" in what else "Interrupted\n"), (said, errors)


def test_interrupt_ends_a_read_and_it_stays_ended(db):
    session = db.session()
    result = session.query("UNWIND range(1, 1000000000000) AS x RETURN count(x)")
    timer = threading.Timer(0.3, session.interrupt)
    timer.start()
    for read in (result.rows, result.rows, result.dicts, lambda: next(result)):
        with pytest.raises(tanglewood.Interrupted):
            read()
    timer.join()
    assert session.query("RETURN 1").value() == 1


def test_a_result_that_failed_does_not_look_whole(db):
    result = db.query("UNWIND range(1, 100000) AS x RETURN 1 / (x - 50000) AS y")
    with pytest.raises(tanglewood.Error, match="zero"):
        result.rows()
    with pytest.raises(tanglewood.Error, match="zero"):
        result.rows()
    with pytest.raises(tanglewood.Error, match="zero"):
        list(result)
