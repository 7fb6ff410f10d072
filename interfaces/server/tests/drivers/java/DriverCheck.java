// The official Java driver against the server: what its users do, unchanged. Usage: java -cp JARS DriverCheck.java PORT
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.neo4j.driver.AccessMode;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Bookmark;
import org.neo4j.driver.Config;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.NotificationConfig;
import org.neo4j.driver.Session;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.TransactionConfig;
import org.neo4j.driver.Values;
import org.neo4j.driver.exceptions.Neo4jException;

public class DriverCheck {
    static final String ENDLESS = "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j)";
    static String url;

    interface Check {
        void run(Driver driver) throws Exception;
    }

    static void same(String what, Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) {
            throw new AssertionError(what + ": got " + got + ", wanted " + wanted);
        }
    }

    static void connect(Driver driver) {
        for (String scheme : List.of("bolt", "neo4j")) {
            try (Driver other = GraphDatabase.driver(url.replace("bolt", scheme), AuthTokens.basic("neo4j", "secret"))) {
                other.verifyConnectivity();
                same("one", other.executableQuery("RETURN 1 AS x").execute().records().get(0).get("x").asInt(), 1);
            }
        }
    }

    static void values(Driver driver) {
        Map<String, Object> sent = new LinkedHashMap<>();
        sent.put("null", null);
        sent.put("bool", true);
        sent.put("ints", List.of(0L, -1L, 127L, 128L, Long.MIN_VALUE, Long.MAX_VALUE));
        sent.put("float", 1.5);
        sent.put("text", "grüße \uD83D\uDE00 " + "x".repeat(70_000));
        sent.put("map", Map.of("a", List.of(1L, Map.of("b", List.of()))));
        sent.put("date", LocalDate.of(2024, 2, 29));
        sent.put("time", OffsetTime.of(1, 2, 3, 4, ZoneOffset.ofHours(1)));
        sent.put("localTime", LocalTime.of(1, 2, 3, 4));
        sent.put("local", LocalDateTime.of(2020, 1, 2, 3, 4, 5, 6));
        sent.put("instant", ZonedDateTime.of(2026, 11, 20, 12, 30, 15, 500, ZoneOffset.ofHours(2)));
        sent.put("zoned", ZonedDateTime.of(2026, 7, 20, 12, 30, 15, 500, ZoneId.of("Europe/Berlin")));
        sent.put("duration", Values.isoDuration(14, 3, 5, 7).asIsoDuration());
        sent.put("point", Values.point(7203, 1.0, 2.0).asPoint());
        sent.put("globe", Values.point(4979, 1.0, 2.0, 3.0).asPoint());
        var got = driver.executableQuery("RETURN $sent AS got").withParameters(Map.of("sent", sent)).execute();
        Map<String, Object> back = got.records().get(0).get("got").asMap();
        sent.forEach((name, value) -> same(name, back.get(name), value));
        byte[] bytes = {0, -1};
        var blob = driver.executableQuery("RETURN $b").withParameters(Map.of("b", bytes)).execute().records().get(0).get(0);
        same("bytes", blob.asByteArray()[1], (byte) -1);
        var graph = driver.executableQuery(
                "CREATE p = (a:Person {name: 'Ada'})-[r:KNOWS {since: 1833}]->(:Person) RETURN a, r, p").execute();
        var row = graph.records().get(0);
        same("label", row.get("a").asNode().hasLabel("Person"), true);
        same("start", row.get("r").asRelationship().startNodeElementId(), row.get("a").asNode().elementId());
        same("path", row.get("p").asPath().length(), 1);
        same("created", graph.summary().counters().nodesCreated(), 2);
    }

    static void managed(Driver driver) throws Exception {
        driver.executableQuery("CREATE (:JavaCounter {n: 0})").execute();
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int thread = 0; thread < 2; thread++) {
            threads.add(CompletableFuture.runAsync(() -> {
                try (Session session = driver.session()) {
                    for (int i = 0; i < 5; i++) {
                        session.executeWriteWithoutResult(tx -> {
                            long n = tx.run("MATCH (c:JavaCounter) RETURN c.n AS n").single().get("n").asLong();
                            tx.run("MATCH (c:JavaCounter) SET c.n = $n", Map.of("n", n + 1)).consume();
                        });
                    }
                }
            }));
        }
        for (var thread : threads) thread.get();
        try (Session session = driver.session()) {
            same("counted", session.run("MATCH (c:JavaCounter) RETURN c.n").single().get(0).asLong(), 10L);
            try (var tx = session.beginTransaction()) {
                tx.run("CREATE (:JavaGone)").consume();
                tx.rollback();
            }
            same("rolled back", session.run("MATCH (g:JavaGone) RETURN count(*)").single().get(0).asLong(), 0L);
        }
    }

    static void streaming(Driver driver) {
        try (Session session = driver.session()) {
            var result = session.run("UNWIND range(1, 1000) AS i UNWIND range(1, 1000) AS j "
                    + "RETURN i * 1000 + j AS n, 'text' AS t, 0.5 AS f");
            long rows = 0, sum = 0;
            while (result.hasNext()) {
                rows++;
                sum += result.next().get(0).asLong();
            }
            same("rows", rows, 1_000_000L);
            same("sum", sum, 1000L * 1000 * 500500 + 1000L * 500500);
        }
    }

    static void cancel(Driver driver) throws Exception {
        try (Session session = driver.session()) {
            var limit = TransactionConfig.builder().withTimeout(Duration.ofMillis(200)).build();
            same("timed out", code(() -> session.run(ENDLESS, limit).consume()).contains("TransactionTimedOut"), true);
        }
        // Another session ends it by its id.
        var running = CompletableFuture.supplyAsync(() -> {
            try (Session session = driver.session()) {
                return code(() -> session.run(ENDLESS).consume());
            }
        });
        String id = null;
        while (id == null) {
            for (var record : driver.executableQuery("SHOW QUERIES").execute().records()) {
                if (record.get("query").asString().equals(ENDLESS)) id = record.get("queryId").asString();
            }
        }
        driver.executableQuery("KILL QUERY '" + id + "'").execute();
        same("killed", running.get(), "Neo.ClientError.Transaction.Terminated");
    }

    static String code(Runnable work) {
        try {
            work.run();
        } catch (Neo4jException error) {
            return error.code();
        }
        return "none";
    }

    static void errors(Driver driver) {
        try (Session session = driver.session()) {
            try {
                session.run("MATCH (n) RETRUN n").consume();
                throw new AssertionError("nonsense ran");
            } catch (Neo4jException error) {
                same("code", error.code(), "Neo.ClientError.Statement.SyntaxError");
                same("status", error.gqlStatus(), "42001");
            }
            same("missing", code(() -> session.run("RETURN $missing").consume()), "Neo.ClientError.Statement.ParameterMissing");
            same("usable after failures", session.run("RETURN 1").single().get(0).asInt(), 1);
        }
        try (Session session = driver.session(SessionConfig.builder().withDefaultAccessMode(AccessMode.READ).build())) {
            same("reading", code(() -> session.run("CREATE (:Z)").consume()), "Neo.ClientError.Statement.AccessMode");
        }
        try (Session session = driver.session(SessionConfig.forDatabase("elsewhere"))) {
            same("elsewhere", code(() -> session.run("RETURN 1").consume()), "Neo.ClientError.Database.DatabaseNotFound");
        }
    }

    static void bookmarks(Driver driver) {
        var marks = new java.util.HashSet<Bookmark>();
        try (Session session = driver.session()) {
            session.run("CREATE (:JavaMarked)").consume();
            marks.addAll(session.lastBookmarks());
        }
        same("bookmarks", marks.size(), 1);
        try (Session session = driver.session(SessionConfig.builder().withBookmarks(marks).build())) {
            same("marked", session.run("MATCH (m:JavaMarked) RETURN count(*)").single().get(0).asLong(), 1L);
        }
    }

    static void notifications(Driver driver) {
        var seen = driver.executableQuery("MATCH (n:JavaUnknown) RETURN n").execute().summary().notifications();
        same("notifications", seen.size(), 1);
        same("code", seen.get(0).code(), "Neo.ClientNotification.Statement.UnknownLabelWarning");
        var config = Config.builder().withNotificationConfig(NotificationConfig.disableAllConfig()).build();
        try (Driver quiet = GraphDatabase.driver(url, AuthTokens.basic("neo4j", "secret"), config)) {
            var none = quiet.executableQuery("MATCH (n:JavaUnknown) RETURN n").execute().summary().notifications();
            same("none wanted", none.size(), 0);
        }
    }

    public static void main(String[] arguments) throws Exception {
        url = "bolt://127.0.0.1:" + arguments[0];
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("connect", DriverCheck::connect);
        checks.put("values", DriverCheck::values);
        checks.put("managed", DriverCheck::managed);
        checks.put("streaming", DriverCheck::streaming);
        checks.put("cancel", DriverCheck::cancel);
        checks.put("errors", DriverCheck::errors);
        checks.put("bookmarks", DriverCheck::bookmarks);
        checks.put("notifications", DriverCheck::notifications);
        try (Driver driver = GraphDatabase.driver(url, AuthTokens.basic("neo4j", "secret"))) {
            for (var check : checks.entrySet()) {
                long began = System.nanoTime();
                check.getValue().run(driver);
                System.out.printf("%s: ok, %.2f s%n", check.getKey(), (System.nanoTime() - began) / 1e9);
            }
        }
    }
}
