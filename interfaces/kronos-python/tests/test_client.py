"""The client against real servers."""

import threading
import time

import grpc
import pytest

import tanglewood_kronos as tk
from tanglewood_kronos import Assigned, Constraint, Kronos, Order, Strength


def test_every_call(group):
    with Kronos(group().addresses[0]) as kronos:
        a, b, c = kronos.create_events(3)
        assigned = kronos.assign_order([(b, "before", a, "prefer"), Constraint(a, Order.BEFORE, b)])
        assert assigned == [Assigned(Order.AFTER, False), Assigned(Order.BEFORE, True)]
        assert kronos.query_order([(b, a), (a, c)]) == [Order.AFTER, Order.CONCURRENT]
        searches = kronos.stats().searches
        assert kronos.query_order([(a, b)]) == [Order.BEFORE]
        assert kronos.stats().searches == searches, "an ordered pair is not asked for again"
        assert kronos.cached_pairs == 1
        kronos.acquire_refs([a])
        assert kronos.release_refs([a, a]) == 1
        with kronos.events(2) as made:
            assert kronos.stats().references == 4
            assert len(set(made)) == 2
        stats = kronos.stats()
        assert (stats.references, stats.sessions, stats.leads) == (2, 1, True)
        assert kronos.create_events(0) == [] and kronos.query_order([]) == [] and kronos.assign_order([]) == []
        assert kronos.create_event() not in (a, b, c)
    with pytest.raises(tk.SessionOver):
        kronos.create_event()
    kronos.close()


def test_errors_have_classes_and_codes(group):
    with Kronos(group().addresses[0]) as kronos:
        a, b, c = kronos.create_events(3)
        kronos.assign_order([(a, "before", b, "must")])
        with pytest.raises(tk.Contradiction) as raised:
            kronos.assign_order([(b, "before", c, "must"), (c, "before", a, "must")])
        assert (raised.value.at, raised.value.reason) == (1, "contradiction")
        assert raised.value.code == grpc.StatusCode.FAILED_PRECONDITION
        assert isinstance(raised.value, tk.KronosError)
        assert kronos.query_order([(b, c)]) == [Order.CONCURRENT], "nothing is half done"
        for refused in [
            lambda: kronos.query_order([(a, 17)]),
            lambda: kronos.acquire_refs([a, 17]),
            lambda: kronos.release_refs([a, 17]),
            lambda: kronos.assign_order([(a, "before", 17, "must")]),
        ]:
            with pytest.raises(tk.NoEvent) as raised:
                refused()
            assert raised.value.reason == "unknown-event"
        kronos.release_refs([c])
        with pytest.raises(tk.NoEvent) as raised:
            kronos.query_order([(a, c)])
        assert raised.value.reason == "released-event"
        for refused in [
            lambda: kronos.query_order([(a, a)]),
            lambda: kronos.assign_order([(a, "before", a, "must")]),
            lambda: kronos.assign_order([(a, Order.CONCURRENT, b, Strength.MUST)]),
            lambda: kronos.assign_order([(a, "sideways", b, "must")]),
            lambda: kronos.assign_order([(a, "before", b)]),
            lambda: kronos.create_events(tk.BATCH_MAX + 1),
            lambda: kronos.create_events(-1),
            lambda: kronos.acquire_refs([-1]),
            lambda: kronos.acquire_refs(["a"]),
            lambda: kronos.change_members(""),
        ]:
            with pytest.raises(tk.InvalidArgument):
                refused()
        other = Kronos(kronos._replicas._addresses)
        with pytest.raises(tk.Precondition) as raised:
            other.release_refs([a])
        assert raised.value.reason == "not-held"
        other.close()
        assert kronos.stats().references == 2


def test_what_is_no_event_is_said(group):
    with Kronos(group().addresses, lease=float("inf")) as kronos:
        a, b = kronos.create_events(2)
        for count in [-1, 1.5, float("nan"), None, "3", 1 << 32]:
            with pytest.raises(tk.InvalidArgument):
                kronos.create_events(count)
        for wrong in [-1, 1 << 64, None, "x", 1.5, [a], b"12345678"]:
            for call in (
                lambda: kronos.acquire_refs([wrong]),
                lambda: kronos.release_refs([wrong]),
                lambda: kronos.query_order([(a, wrong)]),
                lambda: kronos.assign_order([(a, "before", wrong, "must")]),
            ):
                with pytest.raises(tk.InvalidArgument):
                    call()
        for wrong in [None, 5, [None], [()], [(a,)], [(a, b, a)], "ab"]:
            for call in (kronos.query_order, kronos.assign_order):
                with pytest.raises(tk.InvalidArgument):
                    call(wrong)
        for wrong in [None, 5]:
            for call in (kronos.acquire_refs, kronos.release_refs):
                with pytest.raises(tk.InvalidArgument):
                    call(wrong)
        with pytest.raises(tk.InvalidArgument):
            kronos.change_members("nonsense")
        assert kronos.stats().references == 2


def test_options_that_are_wrong_are_said_at_once():
    for address in ["", "no address", "http://127.0.0.1:1", "127.0.0.1:99999", []]:
        with pytest.raises(tk.InvalidArgument):
            Kronos(address)
    # Each of these was another exception, or a client that tried for ever.
    for address in [None, 5, b"127.0.0.1:1", [b"127.0.0.1:1"], [None]]:
        with pytest.raises(tk.InvalidArgument):
            Kronos(address)
    nan = float("nan")
    for option, values in {
        "lease": [nan, None, "x"],
        "patience": [nan, None, "x"],
        "cached_pairs": [-1, 1.5, nan, None, "x"],
        "token": ["with spaces", 5],
        "tls_ca": ["text"],
    }.items():
        for value in values:
            with pytest.raises(tk.InvalidArgument):
                Kronos("127.0.0.1:1", **{option: value})
    with pytest.raises(tk.Unavailable):
        Kronos("127.0.0.1:1", patience=0.3)


def test_clients_outlive_the_leader_and_retries_happen_once(group):
    three = group(3)
    watch = Kronos(three.addresses)
    created = watch.stats().created
    done, made, failed = threading.Event(), [], []

    def work():
        try:
            with Kronos(three.addresses) as kronos:
                while not done.is_set():
                    a, b, c = kronos.create_events(3)
                    kronos.assign_order([(a, "before", b, "must")])
                    made.append((a, b))
                last = made[-1]
                assert kronos.query_order([last]) == [Order.BEFORE]
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    leader = three.addresses.index(watch.stats().leader)
    three.kill(leader)
    time.sleep(3)
    three.start(leader)
    time.sleep(0.5)
    done.set()
    for thread in threads:
        thread.join()
    assert failed == []
    at_leader = Kronos(three.addresses)
    at_leader.create_event()
    while not at_leader.stats().leads:
        at_leader.create_event()
        created += 1
    assert at_leader.stats().created - created == 3 * len(made) + 1
    at_leader.close()
    watch.close()


def test_leases_end_with_their_clients(group):
    address = group().addresses[0]
    watch = Kronos(address)
    kronos = Kronos(address, lease=1)
    kronos.create_events(5)
    time.sleep(2.5)
    assert watch.stats().references == 5, "the lease is renewed in the background"
    del kronos
    until = time.monotonic() + 10
    while watch.stats().references:
        assert time.monotonic() < until
        time.sleep(0.05)
    watch.close()


def test_many_threads_share_a_session(group):
    with Kronos(group().addresses[0]) as kronos:
        made, lock = [], threading.Lock()

        def work(count):
            events = kronos.create_events(count)
            with lock:
                made.extend(events)

        threads = [threading.Thread(target=work, args=(40_000 if at % 40 == 0 else 3,)) for at in range(120)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == len(set(made)) == kronos.stats().created


def test_all_replicas_restarted(group):
    three = group(3)
    with Kronos(three.addresses) as kronos:
        a, b = kronos.create_events(2)
        kronos.assign_order([(a, "before", b, "must")])
        for at in range(3):
            three.kill(at)
        for at in range(3):
            three.start(at)
        fresh = Kronos(three.addresses)
        assert fresh.query_order([(b, a)]) == [Order.AFTER]
        assert kronos.release_refs([a]) == 1, "the session outlives its servers"
        fresh.close()


def test_tokens(group, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("# clients\n0123456789abcdef\n")
    address = group(1, ["--token-file", str(tokens)]).addresses[0]
    for token in [None, "another-0123456789"]:
        with pytest.raises(tk.Unauthenticated):
            Kronos(address, token=token)
    with Kronos(address, token="0123456789abcdef") as kronos:
        kronos.create_event()
        with pytest.raises(tk.Forbidden):
            kronos.change_members("127.0.0.1:1")
