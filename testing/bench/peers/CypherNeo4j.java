import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.*;

/**
 * Neo4j in this process: CypherNeo4j HOME WORK BOLT_PORT CALL_SECONDS. WORK holds questions.json, wordings.json and over.json. Prints a line of
 * JSON before calls and for each figure, as the scripts in Python do, then serves Bolt until its input ends.
 */
public class CypherNeo4j {
    static final int ROUNDS_MAX = 9, ROUNDS_MIN = 1, FLOOR_CALLS = 200;
    /** Time for each wording before its times count: the machine compiles what runs often while it runs. */
    static final double WARM_UP_SECONDS = 20.0, QUERY_SECONDS_MAX = 2.0, TRIAL_SECONDS_MAX = 8.0, SLOWER_THAN_BEST = 2.0;
    static final double SLOW_MS = 2_000.0, BEAT_SECONDS = 0.5;
    static double callSecondsMax;
    static long told;

    /** A call took longer than the limit. */
    static class Over extends RuntimeException {}
    static final ObjectMapper JSON = new ObjectMapper();

    record Trial(String name, String text, double median, List<Object> rows) {}

    public static void main(String[] args) throws Exception {
        DatabaseManagementService service = new DatabaseManagementServiceBuilder(Path.of(args[0]))
            .setConfig(GraphDatabaseSettings.pagecache_memory, 1L << 30)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(args[2])))
            .build();
        callSecondsMax = Double.parseDouble(args[3]);
        GraphDatabaseService graph = service.database("neo4j");
        index(graph);
        JsonNode questions = read(args[1], "questions"), wordings = read(args[1], "wordings"), over = read(args[1], "over");
        for (double begin = System.nanoTime(); (System.nanoTime() - begin) / 1e9 < 1.0; ) ask(graph, "RETURN 1", Map.of());
        List<Double> floor = new ArrayList<>();
        for (int call = 0; call < FLOOR_CALLS; call++) floor.add(timed(graph, "floor", "1", "RETURN 1", Map.of(), new ArrayList<>()));
        tell("floor", "Neo4j in Java", median(floor));
        questions.fields().forEachRemaining(query -> {
            String name = query.getKey();
            tell("figure", name, measure(graph, name, wordings.get(name), query.getValue(), over.path(name)));
        });
        System.out.println("{\"done\": true}");
        System.out.flush();
        while (System.in.read() >= 0) {}
        service.shutdown();
    }

    static JsonNode read(String folder, String name) throws Exception {
        return JSON.readTree(Files.readString(Path.of(folder, name + ".json")));
    }

    static void tell(String what, String query, Object value) {
        System.out.println(JSON.valueToTree(Map.of(what, List.of(query, value))));
        System.out.flush();
        told = System.nanoTime();
    }

    static void index(GraphDatabaseService graph) {
        String[] labels = {"Person", "Message", "Post", "Comment", "Forum", "Tag", "TagClass", "City", "Country", "Company", "University"};
        for (String label : labels)
            graph.executeTransactionally("CREATE CONSTRAINT IF NOT EXISTS FOR (n:" + label + ") REQUIRE n.id IS UNIQUE");
        for (String label : new String[] {"Tag", "TagClass", "Country"})
            graph.executeTransactionally("CREATE INDEX IF NOT EXISTS FOR (n:" + label + ") ON (n.name)");
        graph.executeTransactionally("CREATE INDEX IF NOT EXISTS FOR (n:Person) ON (n.firstName)");
        try (Transaction tx = graph.beginTx()) {
            tx.schema().awaitIndexesOnline(5, TimeUnit.MINUTES);
        }
        graph.executeTransactionally("CALL db.prepareForReplanning(60)");
    }

    /** All rows of a query, read as a client would. */
    static List<Object> ask(GraphDatabaseService graph, String text, Map<String, Object> parameters) {
        List<Object> rows = new ArrayList<>();
        try (Transaction tx = graph.beginTx((long) (callSecondsMax * 1e3), TimeUnit.MILLISECONDS); Result result = tx.execute(text, parameters)) {
            List<String> columns = result.columns();
            while (result.hasNext()) {
                Map<String, Object> row = result.next();
                List<Object> cells = new ArrayList<>(columns.size());
                for (String column : columns) cells.add(row.get(column));
                rows.add(cells);
            }
        }
        return rows;
    }

    static double seconds(long begin) {
        return (System.nanoTime() - begin) / 1e9;
    }

    static double median(List<Double> times) {
        Collections.sort(times);
        return times.get(times.size() / 2);
    }

    /** Milliseconds of one call; its rows are added to `rows`. */
    static double timed(GraphDatabaseService graph, String query, String name, String text, Map<String, Object> set, List<Object> rows) {
        if (seconds(told) > BEAT_SECONDS) tell("trying", query, name);
        long before = System.nanoTime();
        try {
            rows.add(ask(graph, text, set));
        } catch (RuntimeException error) {
            if (seconds(before) > 0.9 * callSecondsMax) throw new Over();
            throw error;
        }
        if (seconds(before) > callSecondsMax) throw new Over();
        return seconds(before) * 1e3;
    }

    static Trial trial(GraphDatabaseService graph, String query, String name, String text, List<Map<String, Object>> sets) {
        long begin = System.nanoTime();
        while (seconds(begin) < WARM_UP_SECONDS)
            for (Map<String, Object> set : sets)
                if (seconds(begin) < WARM_UP_SECONDS) timed(graph, query, name, text, set, new ArrayList<>());
        begin = System.nanoTime();
        List<Double> times = new ArrayList<>();
        List<Object> rows = new ArrayList<>();
        for (Map<String, Object> set : sets) {
            times.add(timed(graph, query, name, text, set, rows));
            if (seconds(begin) > TRIAL_SECONDS_MAX) break;
        }
        return new Trial(name, text, median(times), rows);
    }

    @SuppressWarnings("unchecked")
    static ObjectNode measure(GraphDatabaseService graph, String query, JsonNode texts, JsonNode asked, JsonNode over) {
        ObjectNode figure = JSON.createObjectNode();
        List<Map<String, Object>> sets = new ArrayList<>();
        asked.forEach(set -> sets.add(JSON.convertValue(set, Map.class)));
        Set<String> given = new HashSet<>();
        over.forEach(name -> given.add(name.asText()));
        List<Trial> trials = new ArrayList<>();
        for (int at = 0; at < texts.size(); at++) {
            String name = String.valueOf(at + 1);
            tell("trying", query, name);
            try {
                if (given.contains(name)) throw new Over();
                trials.add(trial(graph, query, name, texts.get(at).asText(), sets));
            } catch (Over error) {
                figure.put("over", true);
            } catch (Exception error) {
                figure.put("why", String.valueOf(error.getMessage()).lines().findFirst().orElse("failed"));
            }
        }
        double best = trials.stream().mapToDouble(Trial::median).min().orElse(0), least = Double.MAX_VALUE;
        for (Trial trial : trials) {
            if (trial.median > best * SLOWER_THAN_BEST) continue;
            double median = trial.median < SLOW_MS ? rounds(graph, query, trial, sets) : trial.median;
            if (median < least) {
                least = median;
                figure.put("median_ms", median).put("wording", trial.name).set("rows", JSON.valueToTree(trial.rows));
                figure.remove(List.of("why", "over"));
            }
        }
        return figure;
    }

    static double rounds(GraphDatabaseService graph, String query, Trial trial, List<Map<String, Object>> sets) {
        List<Double> times = new ArrayList<>();
        long begin = System.nanoTime();
        for (int round = 0; round < ROUNDS_MIN || round < ROUNDS_MAX && seconds(begin) < QUERY_SECONDS_MAX; round++)
            for (Map<String, Object> set : sets.subList(0, trial.rows.size()))
                times.add(timed(graph, query, trial.name, trial.text, set, new ArrayList<>()));
        return median(times);
    }
}
