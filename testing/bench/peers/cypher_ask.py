"""Asking and timing, for all peers of the Cypher bench alike.

Every wording is tried with all parameters; the fastest are measured in rounds, and the best median counts. Answers are handed back with
the times: whether they are right is judged by the bench, not here. Lines of JSON go to the bench as things happen, so that it can end this
process where an engine does not end a call itself: {"trying": [query, wording]} before each call, {"floor": [how, milliseconds]} and {"figure": [query, figure]}.
A wording whose call took longer than the limit is out; what has no other counts with the limit.

The fourth argument names a file: {"questions": {query: [parameters, ...]}, "over": {query: [wording, ...]}, "call_seconds": limit, ...}, where
`over` lists wordings that were over the limit in a process before this one.
"""
import decimal
import json
import statistics
import sys
import time

WARM_UP_SECONDS = 0.5
ROUNDS_MAX = 7
QUERY_SECONDS_MAX = 1.0
TRIAL_SECONDS_MAX = 5.0
SLOW_MS = 2_000.0
TRIED_TWICE_AS_SLOW = 2.0
BEAT_SECONDS = 0.5
FLOOR_CALLS = 200

with open(sys.argv[4]) as file:
    ASKED = json.load(file)
CALL_SECONDS_MAX = ASKED["call_seconds"]
told_at = 0.0


class Over(Exception):
    """A call took longer than the limit."""


def plain(value):
    """What JSON does not know: wide integers come as decimals."""
    return int(value) if isinstance(value, decimal.Decimal) and value == int(value) else str(value)


def tell(**line):
    global told_at
    print(json.dumps(line, default=plain), flush=True)
    told_at = time.perf_counter()


def timed(ask, parameters, name):
    if time.perf_counter() - told_at > BEAT_SECONDS:
        tell(trying=name)
    before = time.perf_counter()
    try:
        rows = ask(parameters)
    except Exception:
        if time.perf_counter() - before > 0.9 * CALL_SECONDS_MAX:
            raise Over()
        raise
    time_ms = (time.perf_counter() - before) * 1e3
    if time_ms > CALL_SECONDS_MAX * 1e3:
        raise Over()
    return rows, time_ms


def floor(how, ask):
    """Tells what a call takes that asks nothing (`RETURN 1`): the engine's front and the way to it, which all of its times contain."""
    times = [timed(ask, {}, ["floor", how])[1] for _ in range(FLOOR_CALLS)]
    tell(floor=[how, statistics.median(times[FLOOR_CALLS // 4:])])


def trial(ask, sets, name):
    """Times and rows of one call with each set, as many sets as there is time for, after a warm-up."""
    begin = time.perf_counter()
    for call in range(len(sets)):
        timed(ask, sets[call], name)
        if time.perf_counter() - begin > WARM_UP_SECONDS:
            break
    times, rows = [], []
    for parameters in sets:
        answer, time_ms = timed(ask, parameters, name)
        rows.append(answer)
        times.append(time_ms)
        if time.perf_counter() - begin > TRIAL_SECONDS_MAX:
            break
    return times, rows


def measure(query, asks, sets):
    """The figure of a query: {"median_ms", "rows", "wording"}, {"over": true}, or {"why"} if no wording works. `asks`: {name: ask}."""
    tried, why = {}, "no wording"
    over = ASKED["over"].get(query, [])
    for name, ask in asks.items():
        tell(trying=[query, name])
        try:
            if name in over:
                raise Over()
            tried[name] = trial(ask, sets, [query, name])
        except Over:
            over = over + [name]
            print(f"{query} {name}: over the limit", file=sys.stderr)
        except Exception as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            print(f"{query} {name}: {why}", file=sys.stderr)
    if not tried:
        return {"over": True} if over else {"why": why}
    best = min(statistics.median(times) for times, _ in tried.values())
    figure = None
    for name, (times, rows) in tried.items():
        median = statistics.median(times)
        if median > best * TRIED_TWICE_AS_SLOW:
            continue
        if median < SLOW_MS:
            times, begin, rounds = [], time.perf_counter(), 0
            while rounds < 1 or (rounds < ROUNDS_MAX and time.perf_counter() - begin < QUERY_SECONDS_MAX):
                times += [timed(asks[name], parameters, [query, name])[1] for parameters in sets[:len(rows)]]
                rounds += 1
        median = statistics.median(times)
        if figure is None or median < figure["median_ms"]:
            figure = {"median_ms": median, "rows": rows, "wording": name}
    return figure
