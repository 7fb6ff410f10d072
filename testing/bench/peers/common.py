"""What the scripts share: the questions, timing with warm-up, choosing the best wording, and the answer line.

Every wording an engine offers is tried, and must answer rightly; the fastest ones are measured, and the best of them counts.
"""
import json
import os
import statistics
import sys
import time

REPETITIONS = 15
TRIAL_CALLS = 3
TRIAL_MS_MAX = 2_000.0
WORDINGS_MEASURED = 2
WARM_UP_SECONDS = 0.5
WARM_UP_CALLS = 20
FIGURE_SECONDS_MAX = 5.0

PACKAGE, FOLDER, WORK = sys.argv[1], sys.argv[2], sys.argv[3]


def questions():
    """Sources with the right answers: {"vertices", "ordinary": [...], "hub": [...]}."""
    with open(os.path.join(FOLDER, "questions.json")) as file:
        return json.load(file)


def edges_file():
    """One edge a line: source, blank, target."""
    return os.path.join(FOLDER, "edges.txt")


def median_ms(ask, sources, right):
    """Median over all sources and repetitions; None if an answer is wrong. `right(question, answer)` judges."""
    begin = time.perf_counter()
    for call in range(WARM_UP_CALLS):
        ask(sources[call % len(sources)])
        if time.perf_counter() - begin > WARM_UP_SECONDS:
            break
    times = []
    begin = time.perf_counter()
    for repetition in range(REPETITIONS):
        for question in sources:
            before = time.perf_counter()
            answer = ask(question)
            times.append((time.perf_counter() - before) * 1e3)
            if not right(question, answer):
                print(f"wrong: {answer} for {question}", file=sys.stderr)
                return None
        if time.perf_counter() - begin > FIGURE_SECONDS_MAX:
            break
    return statistics.median(times)


def trial_ms(ask, sources, right):
    """The best of a few calls, to choose between wordings; infinite if an answer is wrong or the wording fails."""
    times = []
    for call in range(TRIAL_CALLS):
        question = sources[call % len(sources)]
        try:
            before = time.perf_counter()
            answer = ask(question)
            times.append((time.perf_counter() - before) * 1e3)
        except Exception as error:
            print(f"failed: {error}", file=sys.stderr)
            return float("inf")
        if not right(question, answer):
            print(f"wrong: {answer} for {question}", file=sys.stderr)
            return float("inf")
        if times[-1] > TRIAL_MS_MAX:
            break
    return min(times)


def within(steps):
    """Judges a count of distinct ends. Wordings by shortest paths never count the source: that is accepted too."""

    def right(question, answer):
        expected = question["within"][steps - 1]
        return answer in (expected, expected - int(question["on_cycle"][steps - 1]))

    return right


def hops(point, wordings, version, load_seconds, graph):
    """Measures all figures. `wordings` maps steps to {name: ask}; prints the answer line."""
    figures, best = {}, {}

    def measure(name, asks, sources, right):
        trials = {wording: trial_ms(ask, sources, right) for wording, ask in asks.items()}
        for wording in sorted(trials, key=trials.get)[:WORDINGS_MEASURED]:
            if trials[wording] == float("inf"):
                continue
            time_ms = median_ms(asks[wording], sources, right)
            if time_ms is not None and time_ms < figures.get(name, float("inf")):
                figures[name], best[name] = time_ms, wording

    measure("point", point, graph["ordinary"], lambda question, answer: answer == question["source"])
    for steps in (1, 2, 3):
        measure(f"hop{steps}", wordings[steps], graph["ordinary"], within(steps))
        measure(f"hub{steps}", wordings[steps], graph["hub"], within(steps))
    print(json.dumps({"version": version, "load_seconds": load_seconds, "figures": figures, "wordings": best}))
