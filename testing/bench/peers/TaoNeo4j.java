// Neo4j community inside the JVM: by its Java API (TaoNeo4j) and by Cypher with parameters (TaoNeo4jCypher).

import java.nio.file.Path;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;
import org.neo4j.io.ByteUnit;

public class TaoNeo4j implements TaoMix.Door {
    static final Label N = Label.label("N");
    static final RelationshipType E = RelationshipType.withName("E");
    static final int BATCH = 50_000;
    final DatabaseManagementService service;
    final GraphDatabaseService database;

    public TaoNeo4j(Path work) {
        service = new DatabaseManagementServiceBuilder(work)
            .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.gibiBytes(2))
            .build();
        database = service.database("neo4j");
    }

    public void load(int[][] targets) {
        try (Transaction tx = database.beginTx()) {
            tx.schema().constraintFor(N).assertPropertyIsUnique("id").create();
            tx.commit();
        }
        String[] ids = new String[targets.length];
        for (int first = 1; first < targets.length; first += BATCH) {
            try (Transaction tx = database.beginTx()) {
                for (int vertex = first; vertex < Math.min(first + BATCH, targets.length); vertex++) {
                    Node node = tx.createNode(N);
                    node.setProperty("id", (long) vertex);
                    ids[vertex] = node.getElementId();
                }
                tx.commit();
            }
        }
        Transaction tx = database.beginTx();
        int made = 0;
        for (int vertex = 1; vertex < targets.length; vertex++) {
            Node node = tx.getNodeByElementId(ids[vertex]);
            for (int target : targets[vertex]) {
                node.createRelationshipTo(tx.getNodeByElementId(ids[target]), E);
                made++;
            }
            if (made >= BATCH) {
                tx.commit();
                tx.close();
                tx = database.beginTx();
                made = 0;
            }
        }
        tx.commit();
        tx.close();
        try (Transaction last = database.beginTx()) {
            last.schema().awaitIndexesOnline(10, java.util.concurrent.TimeUnit.MINUTES);
        }
    }

    public long edges(int vertex) {
        try (Transaction tx = database.beginTx()) {
            long sum = 0;
            Node node = tx.findNode(N, "id", (long) vertex);
            for (Relationship edge : node.getRelationships(Direction.OUTGOING, E)) {
                sum += TaoMix.scattered((Long) edge.getEndNode().getProperty("id"));
            }
            return sum;
        }
    }

    public long count(int vertex) {
        try (Transaction tx = database.beginTx()) {
            return tx.findNode(N, "id", (long) vertex).getDegree(E, Direction.OUTGOING);
        }
    }

    public long node(int vertex) {
        try (Transaction tx = database.beginTx()) {
            return (Long) tx.findNode(N, "id", (long) vertex).getProperty("id");
        }
    }

    public void create(int vertex, int target) {
        again(tx -> tx.findNode(N, "id", (long) vertex)
            .createRelationshipTo(tx.findNode(N, "id", (long) target), E));
    }

    public void delete(int vertex, int target) {
        again(tx -> {
            for (Relationship edge : tx.findNode(N, "id", (long) vertex).getRelationships(Direction.OUTGOING, E)) {
                if (edge.getEndNode().getProperty("id").equals((long) target)) edge.delete();
            }
        });
    }

    /** A writing transaction, tried again where it runs into a deadlock. */
    void again(java.util.function.Consumer<Transaction> work) {
        for (int attempt = 0; ; attempt++) {
            try (Transaction tx = database.beginTx()) {
                work.accept(tx);
                tx.commit();
                return;
            } catch (org.neo4j.graphdb.TransientFailureException error) {
                if (attempt == 100) throw error;
            }
        }
    }

    public String version() {
        return org.neo4j.kernel.internal.Version.getNeo4jVersion();
    }

    public void close() {
        service.shutdown();
    }
}

class TaoNeo4jCypher extends TaoNeo4j {
    public TaoNeo4jCypher(Path work) {
        super(work);
    }

    public long edges(int vertex) {
        String text = "MATCH (:N {id: $v})-[:E]->(b) RETURN b.id AS id";
        try (Transaction tx = database.beginTx(); var rows = tx.execute(text, Map.of("v", (long) vertex))) {
            long sum = 0;
            while (rows.hasNext()) sum += TaoMix.scattered((Long) rows.next().get("id"));
            return sum;
        }
    }

    long single(String text, int vertex) {
        try (Transaction tx = database.beginTx(); var rows = tx.execute(text, Map.of("v", (long) vertex))) {
            return (Long) rows.next().get("x");
        }
    }

    public long count(int vertex) {
        return single("MATCH (:N {id: $v})-[e:E]->() RETURN count(e) AS x", vertex);
    }

    public long node(int vertex) {
        return single("MATCH (n:N {id: $v}) RETURN n.id AS x", vertex);
    }

    void write(String text, int vertex, int target) {
        again(tx -> tx.execute(text, Map.of("v", (long) vertex, "w", (long) target)).close());
    }

    public void create(int vertex, int target) {
        write("MATCH (a:N {id: $v}), (b:N {id: $w}) CREATE (a)-[:E]->(b)", vertex, target);
    }

    public void delete(int vertex, int target) {
        write("MATCH (:N {id: $v})-[e:E]->(:N {id: $w}) DELETE e", vertex, target);
    }
}
