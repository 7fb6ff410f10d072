// TinkerGraph and JanusGraph (in memory) inside the JVM: a graph from two files of tabs, then traversals, timed without their parsing.
//
// Arguments: `tinkergraph` or `janusgraph`, vertices (number, label, id, name), edges (type, from, to), questions (name, tab, text with
// `personId`), persons (one a line), seconds a call may take. Prints one JSON object a line: the query, its median, its answers.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.script.Bindings;
import javax.script.SimpleBindings;
import org.apache.tinkerpop.gremlin.groovy.jsr223.GremlinGroovyScriptEngine;
import org.apache.tinkerpop.gremlin.process.traversal.Traversal;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.structure.Graph;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph;

public class GremlinTwins {
    /** Time for each question before its times count: the machine compiles what runs often while it runs. */
    static final double WARM_UP_SECONDS = 20.0;
    static final int ROUNDS = 5;

    public static void main(String[] given) throws Exception {
        boolean janus = given[0].equals("janusgraph");
        Graph graph = janus ? Janus.open() : tinker();
        load(graph, Path.of(given[1]), Path.of(given[2]), janus);
        List<Long> persons = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(given[4]))) persons.add(Long.parseLong(line.trim()));
        long seconds = Long.parseLong(given[5]);
        GremlinGroovyScriptEngine engine = new GremlinGroovyScriptEngine();
        ExecutorService worker = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        for (String question : Files.readAllLines(Path.of(given[3]))) {
            String[] parts = question.split("\t", 2);
            try {
                System.out.println(ask(graph.traversal(), engine, worker, parts[0], parts[1], persons, seconds));
            } catch (Exception unable) {
                System.err.println(parts[0] + ": " + unable);
            }
            if (janus) graph.tx().rollback();
        }
        System.exit(0);
    }

    static Graph tinker() {
        TinkerGraph graph = TinkerGraph.open();
        graph.createIndex("id_", Vertex.class);
        return graph;
    }

    static void load(Graph graph, Path vertices, Path edges, boolean janus) throws Exception {
        List<Vertex> all = new ArrayList<>();
        int written = 0;
        try (var lines = Files.lines(vertices)) {
            for (String line : (Iterable<String>) lines::iterator) {
                String[] cells = line.split("\t", -1);
                Vertex vertex = graph.addVertex(cells[1]);
                vertex.property("id_", Long.parseLong(cells[2]));
                if (!cells[3].isEmpty()) vertex.property("name", cells[3]);
                all.add(vertex);
                if (janus && ++written % 50_000 == 0) graph.tx().commit();
            }
        }
        if (janus) graph.tx().commit();
        try (var lines = Files.lines(edges)) {
            for (String line : (Iterable<String>) lines::iterator) {
                String[] cells = line.split("\t", -1);
                all.get(Integer.parseInt(cells[1])).addEdge(cells[0], all.get(Integer.parseInt(cells[2])));
                if (janus && ++written % 50_000 == 0) graph.tx().commit();
            }
        }
        if (janus) graph.tx().commit();
    }
    static String ask(GraphTraversalSource g, GremlinGroovyScriptEngine engine, ExecutorService worker, String name, String text,
            List<Long> persons, long seconds) throws Exception {
        List<Double> times = new ArrayList<>();
        StringBuilder answers = new StringBuilder();
        boolean over = false;
        long from = System.nanoTime();
        boolean warm = false;
        for (int round = 0; round < ROUNDS && !over; ) {
            if (warm) round++;
            answers.setLength(0);
            for (Long person : persons) {
                Bindings bindings = new SimpleBindings();
                bindings.put("g", g);
                bindings.put("personId", person);
                Traversal<?, ?> traversal = (Traversal<?, ?>) engine.eval(text, bindings);
                long begin = System.nanoTime();
                Future<List<?>> future = worker.submit(() -> traversal.toList());
                try {
                    List<?> found = future.get(seconds, TimeUnit.SECONDS);
                    if (warm) times.add((System.nanoTime() - begin) / 1e6);
                    if (answers.length() > 0) answers.append(',');
                    answers.append(found);
                } catch (TimeoutException late) {
                    future.cancel(true);
                    over = true;
                    break;
                }
            }
            warm |= (System.nanoTime() - from) / 1e9 >= WARM_UP_SECONDS;
        }
        if (over) return "{\"query\":\"" + name + "\",\"over\":true}";
        double[] sorted = times.stream().mapToDouble(time -> time).toArray();
        Arrays.sort(sorted);
        return "{\"query\":\"" + name + "\",\"median_ms\":" + sorted[sorted.length / 2] + ",\"rows\":[" + answers + "]}";
    }

    // apart, so that TinkerGraph runs without JanusGraph's classes
    static class Janus {
        static Graph open() throws Exception {
            Class<?> factory = Class.forName("org.janusgraph.core.JanusGraphFactory");
            Object builder = factory.getMethod("build").invoke(null);
            var set = builder.getClass().getMethod("set", String.class, Object.class);
            for (Object[] option : new Object[][] {
                {"storage.backend", "inmemory"}, {"query.batch.enabled", true}, {"cache.db-cache", false},
                {"cache.tx-cache-size", 1_000_000}, {"ids.block-size", 1_000_000} })
                builder = set.invoke(builder, option);
            Graph graph = (Graph) builder.getClass().getMethod("open").invoke(builder);
            Object schema = call(graph, "openManagement");
            Object key = call(call(call(schema, "makePropertyKey", "id_"), "dataType", Long.class), "make");
            Object name = call(call(call(schema, "makePropertyKey", "name"), "dataType", String.class), "make");
            Object index = call(schema, "buildIndex", "by_id", Vertex.class);
            call(call(index, "addKey", key), "buildCompositeIndex");
            call(schema, "commit");
            return graph;
        }
        static Object call(Object on, String name, Object... with) throws Exception {
            for (var method : on.getClass().getMethods()) {
                if (!method.getName().equals(name) || method.getParameterCount() != with.length) continue;
                boolean fits = true;
                for (int at = 0; at < with.length; at++) fits &= method.getParameterTypes()[at].isInstance(with[at]);
                if (fits) { method.setAccessible(true); return method.invoke(on, with); }
            }
            throw new NoSuchMethodException(name);
        }
    }
}
