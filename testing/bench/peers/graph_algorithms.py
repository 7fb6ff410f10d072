"""Graph algorithms in NetworKit and in igraph: run.py MODULE FOLDER WORK. Prints the median time of each on each number of threads, and what it
found. Igraph has one thread."""
import os
import statistics
import time

from common import FOLDER, PACKAGE, json

ROUNDS = 3
# A question is not asked again when it took as long as this.
SECONDS_MAX = 8.0

with open(os.path.join(FOLDER, "algorithms.json")) as file:
    asked = json.load(file)
vertices, source, threads = asked["vertices"], asked["source"], asked["threads"]
damping, rounds = asked["damping"], asked["rounds"]

import numpy

rows = numpy.fromfile(os.path.join(FOLDER, "edges.txt"), dtype=numpy.int64, sep=" ").reshape(-1, 3)
ends, weights = rows[:, :2], rows[:, 2]
# Each pair of neighbours once, whichever way edges lead: as one number, since numbers are sorted sooner than rows.
low, high = ends.min(axis=1), ends.max(axis=1)
codes = numpy.unique((low * vertices + high)[low != high])
joined = numpy.stack([codes // vertices, codes % vertices], axis=1)


def networkit():
    import networkit as nk

    def graph(ends, is_directed, weights=None):
        columns = [numpy.ascontiguousarray(ends[:, at], dtype=numpy.uint64) for at in (0, 1)]
        if weights is None:
            return nk.GraphFromCoo(tuple(columns), n=vertices, directed=is_directed)
        data = (numpy.ascontiguousarray(weights, dtype=numpy.float64), tuple(columns))
        return nk.GraphFromCoo(data, n=vertices, directed=is_directed, weighted=True)

    directed, both, simple = graph(ends, True), graph(ends, False), graph(joined, False)
    weighted = graph(ends, True, weights)
    simple.sortEdges()

    def distances(search):
        search.run()

        def found():
            far = numpy.asarray(search.getDistances())
            far = far[far < 1e300]
            return [len(far), float(far.sum())]

        return found

    def wcc():
        parts = nk.components.ParallelConnectedComponents(both, False)
        parts.run()
        return lambda: [parts.numberOfComponents()]

    def page_rank():
        sinks = nk.centrality.SinkHandling.DistributeSinks
        rank = nk.centrality.PageRank(directed, damp=damping, tol=1e-12, distributeSinks=sinks)
        rank.maxIterations = rounds
        rank.run()
        return None

    def lcc():
        value = nk.centrality.LocalClusteringCoefficient(simple, turbo=True)
        value.run()
        return lambda: [float(numpy.asarray(value.scores()).sum())]

    def cdlp():
        nk.community.PLP(both, maxIterations=rounds).run()
        return None

    return nk.__version__, threads, nk.setNumberOfThreads, {
        "bfs": lambda: distances(nk.distance.BFS(directed, source, storePaths=False)),
        "sssp": lambda: distances(nk.distance.Dijkstra(weighted, source, storePaths=False)),
        "wcc": wcc,
        "pagerank": page_rank,
        "lcc": lcc,
        "cdlp": cdlp,
    }


def igraph():
    import igraph

    directed = igraph.Graph(n=vertices, edges=ends, directed=True)
    simple = igraph.Graph(n=vertices, edges=joined)

    def distances(weights):
        row = directed.distances(source=[source], weights=weights)[0]

        def found():
            far = numpy.asarray(row, dtype=float)
            far = far[far < 1e300]
            return [len(far), float(far.sum())]

        return found

    def wcc():
        found = directed.connected_components(mode="weak")
        return lambda: [len(found)]

    def page_rank():
        directed.pagerank(damping=damping)
        return None

    def lcc():
        values = simple.transitivity_local_undirected(mode="zero")
        return lambda: [float(sum(values))]

    listed = weights.tolist()
    return igraph.__version__, [1], lambda count: None, {
        "bfs": lambda: distances(None),
        "sssp": lambda: distances(listed),
        "wcc": wcc,
        "pagerank": page_rank,
        "lcc": lcc,
    }


version, counts, use_threads, questions = networkit() if PACKAGE == "networkit" else igraph()
figures, found = {}, {}
for count in counts:
    use_threads(count)
    times_by_name = figures[str(count)] = {}
    for name, ask in questions.items():
        times = []
        while len(times) < ROUNDS and sum(times) < SECONDS_MAX * 1e3:
            begin = time.perf_counter()
            answer = ask()
            times.append((time.perf_counter() - begin) * 1e3)
        times_by_name[name] = statistics.median(times)
        if answer is not None:
            # Asked for when the clock has stopped.
            found[name] = answer()
print(json.dumps({"version": version, "figures": figures, "found": found}))
