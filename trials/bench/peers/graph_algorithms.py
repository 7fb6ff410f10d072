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
    directed = nk.GraphFromCoo((ends[:, 0], ends[:, 1]), n=vertices, directed=True)
    both = nk.graphtools.toUndirected(directed)
    simple = nk.graphtools.toUndirected(directed)
    simple.removeMultiEdges()
    simple.removeSelfLoops()
    simple.sortEdges()

    def bfs():
        search = nk.distance.BFS(directed, source, storePaths=False)
        search.run()
        return sum(distance < vertices for distance in search.getDistances(asArray=True)) - 1

    def wcc():
        parts = nk.components.ParallelConnectedComponents(both, False)
        parts.run()
        return parts.numberOfComponents()

    def page_rank():
        rank = nk.centrality.PageRank(directed, damp=damping, tol=1e-12, distributeSinks=nk.centrality.SinkHandling.DistributeSinks)
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
        return sum(distance < vertices for distance in row) - 1

    def wcc():
        return len(directed.connected_components(mode="weak"))

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
        found[name] = int(answer)
print(json.dumps({"version": version, "figures": figures, "found": found}))
