"""Graph algorithms in NetworKit and in igraph: run.py MODULE FOLDER WORK. Prints the median time of each and what it found."""
import os
import statistics
import time

from common import FOLDER, PACKAGE, json

ROUNDS = 3

with open(os.path.join(FOLDER, "algorithms.json")) as file:
    asked = json.load(file)
vertices, source, threads = asked["vertices"], asked["source"], asked["threads"]
damping, rounds = asked["damping"], asked["rounds"]


def pairs():
    with open(os.path.join(FOLDER, "edges.txt")) as file:
        return [tuple(map(int, line.split())) for line in file]


def networkit():
    import networkit as nk
    import numpy

    nk.setNumberOfThreads(threads)
    ends = numpy.array(pairs(), dtype=numpy.uint64)

    def graph(ends, is_directed):
        columns = tuple(numpy.ascontiguousarray(ends[:, at]) for at in (0, 1))
        return nk.GraphFromCoo(columns, n=vertices, directed=is_directed)

    joined = numpy.unique(numpy.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    directed, both, simple = graph(ends, True), graph(ends, False), graph(joined, False)
    simple.sortEdges()

    def bfs():
        search = nk.distance.BFS(directed, source, storePaths=False)
        search.run()
        return lambda: sum(distance < vertices for distance in search.getDistances()) - 1

    def wcc():
        parts = nk.components.ParallelConnectedComponents(both, False)
        parts.run()
        return parts.numberOfComponents

    def page_rank():
        sinks = nk.centrality.SinkHandling.DistributeSinks
        rank = nk.centrality.PageRank(directed, damp=damping, tol=1e-12, distributeSinks=sinks)
        rank.maxIterations = rounds
        rank.run()
        return None

    def lcc():
        nk.centrality.LocalClusteringCoefficient(simple, turbo=True).run()
        return None

    def cdlp():
        nk.community.PLP(both, maxIterations=rounds).run()
        return None

    return nk.__version__, {"bfs": bfs, "wcc": wcc, "pagerank": page_rank, "lcc": lcc, "cdlp": cdlp}


def igraph():
    import igraph

    directed = igraph.Graph(n=vertices, edges=pairs(), directed=True)
    simple = directed.as_undirected(mode="collapse").simplify()

    def bfs():
        row = directed.distances(source=[source])[0]
        return lambda: sum(distance < vertices for distance in row) - 1

    def wcc():
        found = directed.connected_components(mode="weak")
        return lambda: len(found)

    def page_rank():
        directed.pagerank(damping=damping)
        return None

    def lcc():
        simple.transitivity_local_undirected(mode="zero")
        return None

    return igraph.__version__, {"bfs": bfs, "wcc": wcc, "pagerank": page_rank, "lcc": lcc}


version, questions = networkit() if PACKAGE == "networkit" else igraph()
figures, found = {}, {}
for name, ask in questions.items():
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - begin) * 1e3)
    figures[name] = statistics.median(times)
    if answer is not None:
        # Asked for when the clock has stopped.
        found[name] = int(answer())
print(json.dumps({"version": version, "figures": figures, "found": found}))
