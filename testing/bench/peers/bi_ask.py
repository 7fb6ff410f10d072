"""Asking and timing for the peers of the bench `bi`.

The fourth argument names a file: {"questions": [{"name", "sql", "kuzu", "parameters"}], "rounds", "call_seconds"}. One line of JSON is printed
at the end: {"version", "load_seconds", "figures": {name: {"best_ms", "rows"}}, "reasons": {name: text}}. A query that fails or whose call takes
longer than the limit has a reason in place of a figure.
"""
import decimal
import json
import os
import re
import sys
import threading
import time

PACKAGE, FOLDER, WORK, ASKED = sys.argv[1:5]
# An engine that does not stop within this part of the limit after it was interrupted ends the whole process.
GRACE = 0.5

with open(ASKED) as file:
    asked = json.load(file)
answer = {"version": "", "load_seconds": 0.0, "figures": {}, "reasons": {}}


def plain(value):
    """Sums of integers may come as decimals."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == int(value) else float(value)
    return str(value)


def finish():
    """Prints the answer and ends the process, whatever still runs in it."""
    print(json.dumps(answer, default=plain))
    sys.stdout.flush()
    os._exit(0)


def give_up(name):
    answer["reasons"][name] = "did not stop at the limit of a call; later queries were not asked"
    finish()


def used(text, parameters):
    """The parameters that the text names."""
    names = set(re.findall(r"\$(\w+)", text))
    return {name: value for name, value in parameters.items() if name in names}


def measure(question, ask, interrupt):
    """Best time and rows of some calls after a first one, which is not counted. `ask(question)` gives all rows; `interrupt()` ends a call."""
    name, seconds = question["name"], asked["call_seconds"]
    best_ms, rows = float("inf"), None
    for call in range(asked["rounds"] + 1):
        guards = [threading.Timer(seconds, interrupt), threading.Timer(seconds * (1 + GRACE), give_up, [name])]
        for guard in guards:
            guard.daemon = True
            guard.start()
        before = time.perf_counter()
        try:
            rows = ask(question)
            took_ms = (time.perf_counter() - before) * 1e3
            # The first call is not counted.
            best_ms = min(best_ms, took_ms) if call else best_ms
        except Exception as error:
            took = time.perf_counter() - before
            reason = f"took over {seconds} s" if took >= seconds else (str(error).strip().splitlines() or [type(error).__name__])[0]
            answer["reasons"][name] = reason
            return
        finally:
            for guard in guards:
                guard.cancel()
    answer["figures"][name] = {"best_ms": best_ms, "rows": rows}
