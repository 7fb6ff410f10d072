"""Traversals through TinkerPop's Python driver: what a client waits for, and what the server itself says that it took.

Arguments: address, `groovy` or `none`, questions (name, tab, text with `personId`), persons (one a line), seconds a call may take.
With `groovy` the server's own clock is read around the traversal. Prints one JSON object a line; the one named `floor` is a traversal of
nothing, asked before the others and after them: what the driver and the wire take.
"""
import json
import logging
import statistics
import sys
import time

from gremlin_python.driver.client import Client
from gremlin_python.statics import long

logging.getLogger("gremlinpython").setLevel(logging.CRITICAL)
logging.getLogger("asyncio").setLevel(logging.CRITICAL)
# A JVM compiles what runs often while it runs, so it is warmed up by time.
WARM_UP_SECONDS, ROUNDS, FLOOR_CALLS = 20.0, 5, 200
ADDRESS, CLOCK, QUESTIONS, PERSONS, SECONDS = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
OPTIONS = {"evaluationTimeout": SECONDS * 1000}


def connect():
    return Client(ADDRESS, "g", pool_size=1)


def ask(client, text, person):
    return client.submit(text, {"personId": person}, OPTIONS).all().result(timeout=SECONDS + 5)


def server_ms(client, text, person):
    """The server's own time for the traversal, without the wire and without what it takes to understand the text."""
    if CLOCK == "none":
        return 0.0
    return ask(client, f"t = System.nanoTime(); {text}.toList(); System.nanoTime() - t", person)[0] / 1e6


def measured(client, name, text, persons):
    waited, own, rows, rounds = [], [], [], 0
    warm_at = time.perf_counter() + (WARM_UP_SECONDS if CLOCK == "groovy" else 0.5)
    while rounds < ROUNDS:
        is_warm, rows = time.perf_counter() >= warm_at, []
        rounds += int(is_warm)
        for person in persons:
            begin = time.perf_counter()
            rows.append(ask(client, text, person))
            if is_warm:
                waited.append((time.perf_counter() - begin) * 1e3)
        for person in persons:
            took = server_ms(client, text, person)
            if is_warm:
                own.append(took)
    return {"query": name, "median_ms": statistics.median(waited), "server_ms": statistics.median(own), "rows": rows}


def floor(client):
    times = []
    for _ in range(FLOOR_CALLS):
        begin = time.perf_counter()
        ask(client, "g.inject(1)", 0)
        times.append((time.perf_counter() - begin) * 1e3)
    return {"query": "floor", "median_ms": statistics.median(times[FLOOR_CALLS // 4:]), "server_ms": 0.0, "rows": []}


def main():
    with open(PERSONS) as file:
        persons = [long(line) for line in file if line.strip()]
    with open(QUESTIONS) as file:
        questions = [line.rstrip("\n").split("\t", 1) for line in file if line.strip()]
    client = connect()
    first = floor(client)
    for name, text in questions:
        try:
            line = measured(client, name, text, persons)
        except Exception as error:  # noqa: BLE001 - whatever it is, the peer gave no answer
            line = {"query": name, "why": f"{type(error).__name__}: {str(error)[:200]}"}
            client.close()
            client = connect()
        print(json.dumps(line), flush=True)
    # A server that has run for a while takes less for the same.
    print(json.dumps(min(first, floor(client), key=lambda line: line["median_ms"])), flush=True)
    client.close()


main()
