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

/** Neo4j in this process: CypherNeo4j HOME QUESTIONS WORDINGS BOLT_PORT. Prints one line of figures, then serves Bolt until its input ends. */
public class CypherNeo4j {
    static final int WARM_UP_ROUNDS = 6, ROUNDS_MAX = 9, ROUNDS_MIN = 1, CALL_SECONDS_MAX = 30;
    static final double WARM_UP_SECONDS = 3.0, QUERY_SECONDS_MAX = 4.0, SLOWER_THAN_BEST = 2.0;
    static final ObjectMapper JSON = new ObjectMapper();

    record Trial(String name, String text, double median, List<Object> rows) {}

    public static void main(String[] args) throws Exception {
        DatabaseManagementService service = new DatabaseManagementServiceBuilder(Path.of(args[0]))
            .setConfig(GraphDatabaseSettings.pagecache_memory, 1L << 30)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(args[3])))
            .build();
        GraphDatabaseService graph = service.database("neo4j");
        index(graph);
        JsonNode questions = JSON.readTree(Files.readString(Path.of(args[1])));
        JsonNode wordings = JSON.readTree(Files.readString(Path.of(args[2])));
        ObjectNode figures = JSON.createObjectNode();
        questions.fields().forEachRemaining(query -> {
            ObjectNode figure = measure(graph, wordings.get(query.getKey()), query.getValue());
            figures.set(query.getKey(), figure);
            System.err.println(query.getKey() + " " + figure.get("median_ms") + " " + figure.get("why"));
        });
        System.out.println(JSON.writeValueAsString(figures));
        System.out.flush();
        while (System.in.read() >= 0) {}
        service.shutdown();
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
        try (Transaction tx = graph.beginTx(CALL_SECONDS_MAX, TimeUnit.SECONDS); Result result = tx.execute(text, parameters)) {
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

    static Trial trial(GraphDatabaseService graph, String name, String text, List<Map<String, Object>> sets) {
        long begin = System.nanoTime();
        for (int round = 0; round < WARM_UP_ROUNDS && seconds(begin) < WARM_UP_SECONDS; round++)
            for (Map<String, Object> set : sets) ask(graph, text, set);
        List<Double> times = new ArrayList<>();
        List<Object> rows = new ArrayList<>();
        for (Map<String, Object> set : sets) {
            long before = System.nanoTime();
            rows.add(ask(graph, text, set));
            times.add(seconds(before) * 1e3);
        }
        return new Trial(name, text, median(times), rows);
    }

    @SuppressWarnings("unchecked")
    static ObjectNode measure(GraphDatabaseService graph, JsonNode texts, JsonNode asked) {
        ObjectNode figure = JSON.createObjectNode();
        List<Map<String, Object>> sets = new ArrayList<>();
        asked.forEach(set -> sets.add(JSON.convertValue(set, Map.class)));
        List<Trial> trials = new ArrayList<>();
        for (int at = 0; at < texts.size(); at++) {
            try {
                trials.add(trial(graph, String.valueOf(at + 1), texts.get(at).asText(), sets));
            } catch (Exception error) {
                figure.put("why", String.valueOf(error.getMessage()).lines().findFirst().orElse("failed"));
            }
        }
        double best = trials.stream().mapToDouble(Trial::median).min().orElse(0), least = Double.MAX_VALUE;
        for (Trial trial : trials) {
            if (trial.median > best * SLOWER_THAN_BEST) continue;
            List<Double> times = new ArrayList<>();
            long begin = System.nanoTime();
            for (int round = 0; round < ROUNDS_MIN || round < ROUNDS_MAX && seconds(begin) < QUERY_SECONDS_MAX; round++)
                for (Map<String, Object> set : sets) {
                    long before = System.nanoTime();
                    ask(graph, trial.text, set);
                    times.add(seconds(before) * 1e3);
                }
            double median = median(times);
            if (median < least) {
                least = median;
                figure.put("median_ms", median).put("wording", trial.name).set("rows", JSON.valueToTree(trial.rows));
                figure.remove("why");
            }
        }
        return figure;
    }
}
