"""Events created one after the other over loopback (Weaver, figure 5.4), and what an empty call costs, by grpcio.

The bytes of requests and answers are written and read here, so that the figures are grpcio's and the server's. Arguments: address, calls.
Where the package of the service can be imported, the same is measured through it.
"""
import json
import sys
import time

import grpc

ADDRESS, CALLS = sys.argv[4], int(sys.argv[5])
WARM_UP = 1_000


def timed(call):
    for _ in range(WARM_UP):
        call()
    times, answers = [], []
    for _ in range(CALLS):
        before = time.perf_counter_ns()
        answer = call()
        times.append((time.perf_counter_ns() - before) / 1e3)
        answers.append(answer)
    times.sort()
    quantiles = {str(part): times[min(int(len(times) * part), len(times) - 1)] for part in (0.1, 0.5, 0.9, 0.99)}
    return quantiles, answers


def main():
    channel = grpc.insecure_channel(ADDRESS)
    grpc.channel_ready_future(channel).result(timeout=20)
    create = channel.unary_unary("/kronos.v1.Kronos/CreateEvents")
    ask = channel.unary_unary("/kronos.v1.Kronos/QueryOrder")
    for _ in range(400):
        try:
            create(b"\x08\x01")
            break
        except grpc.RpcError:
            time.sleep(0.05)
    empty, _ = timed(lambda: ask(b""))
    created, answers = timed(lambda: create(b"\x08\x01"))
    # A field of 8 bytes: its tag, its length, the event.
    right = all(len(answer) == 10 and answer[:2] == b"\x0a\x08" for answer in answers)
    figures = {"empty": empty, "create": created, "distinct": len(set(answers)), "right": right, "grpcio": grpc.__version__}
    try:
        import tanglewood_kronos
    except ImportError:
        tanglewood_kronos = None
    if tanglewood_kronos:
        with tanglewood_kronos.Kronos(ADDRESS) as kronos:
            figures["package"], events = timed(lambda: kronos.create_event())
            figures["package_distinct"] = len(set(events))
    print(json.dumps(figures))


main()
