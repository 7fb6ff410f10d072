"""Asking and timing, for all peers of the Cypher bench alike.

Every wording is tried with all parameters and must answer; the fastest are measured in rounds, and the best median counts. Answers are
handed back with the times: whether they are right is judged by the bench, not here.
"""
import json
import statistics
import sys
import time

WARM_UP_CALLS_MIN = 2
WARM_UP_SECONDS = 2.0
ROUNDS_MAX = 7
ROUNDS_MIN = 1
QUERY_SECONDS_MAX = 4.0
TRIAL_SECONDS_MAX = 20.0
TRIED_TWICE_AS_SLOW = 2.0


def timed(ask, parameters):
    before = time.perf_counter()
    rows = ask(parameters)
    return rows, (time.perf_counter() - before) * 1e3


def trial(ask, sets):
    """Median of one call with each set, after a warm-up; and the rows."""
    begin = time.perf_counter()
    calls = 0
    while calls < WARM_UP_CALLS_MIN or time.perf_counter() - begin < WARM_UP_SECONDS / 4:
        ask(sets[calls % len(sets)])
        calls += 1
        if time.perf_counter() - begin > TRIAL_SECONDS_MAX:
            break
    times, rows = [], []
    for parameters in sets:
        answer, time_ms = timed(ask, parameters)
        rows.append(answer)
        times.append(time_ms)
    return statistics.median(times), rows


def measure(asks, sets):
    """The figure of a query: {"median_ms", "rows", "wording"}, or {"why"} if no wording works. `asks`: {name: ask}."""
    tried, why = {}, "no wording"
    for name, ask in asks.items():
        try:
            tried[name] = trial(ask, sets)
        except Exception as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            print(f"{name}: {why}", file=sys.stderr)
    if not tried:
        return {"why": why}
    best = min(median for median, _ in tried.values())
    figure = None
    for name, (median, rows) in tried.items():
        if median > best * TRIED_TWICE_AS_SLOW:
            continue
        times, begin, rounds = [], time.perf_counter(), 0
        while rounds < ROUNDS_MIN or (rounds < ROUNDS_MAX and time.perf_counter() - begin < QUERY_SECONDS_MAX):
            times += [timed(ask, parameters)[1] for ask in [asks[name]] for parameters in sets]
            rounds += 1
        median = statistics.median(times)
        if figure is None or median < figure["median_ms"]:
            figure = {"median_ms": median, "rows": rows, "wording": name}
    return figure


def answer(version, load_seconds, figures):
    print(json.dumps({"version": version, "load_seconds": load_seconds, "figures": figures}, default=str))
