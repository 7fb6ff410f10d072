// TinkerPop's Java driver against the server: what its users do, unchanged. Usage: java -cp JARS DriverCheck.java PORT
import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.tinkerpop.gremlin.driver.Client;
import org.apache.tinkerpop.gremlin.driver.Cluster;
import org.apache.tinkerpop.gremlin.driver.RequestOptions;
import org.apache.tinkerpop.gremlin.driver.Result;
import org.apache.tinkerpop.gremlin.driver.exception.ResponseException;
import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.Path;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Transaction;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1;
import org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV2;
import org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3;
import org.apache.tinkerpop.gremlin.util.MessageSerializer;

public class DriverCheck {
    static final String ENDLESS = "g.inject(1).repeat(__.identity()).until(__.is(2))";

    static void same(String what, Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) {
            throw new AssertionError(what + ": got " + got + ", wanted " + wanted);
        }
    }

    static void traversals(GraphTraversalSource g) {
        g.V().drop().iterate();
        g.addV("person").property("name", "ada").property("age", 36).as("a")
            .addV("person").property("name", "bob").property("age", 20).as("b")
            .addE("knows").from("a").to("b").property("since", 1833).iterate();
        same("count", g.V().count().next(), 2L);
        same("predicate", g.V().has("age", P.gt(30)).values("name").toList(), List.of("ada"));
        same("order", g.V().order().by("age", Order.asc).values("name").toList(), List.of("bob", "ada"));
        Vertex ada = g.V().has("name", "ada").next();
        same("label", ada.label(), "person");
        Edge edge = g.E().next();
        same("edge", edge.label(), "knows");
        same("its start", edge.outVertex().id(), ada.id());
        same("from a vertex", g.V(ada).out("knows").values("name").toList(), List.of("bob"));
        Path path = g.V(ada.id()).outE().inV().path().by("name").by("since").next();
        same("path", path.objects(), List.of("ada", 1833, "bob"));
        Map<Object, Object> map = g.V(ada.id()).elementMap("name").next();
        same("map", List.of(map.get("name"), map.getOrDefault(T.label, map.get("label"))), List.of("ada", "person"));
        same("counts", g.V().groupCount().by(T.label).next(), Map.of("person", 2L));
        same("repeat", g.V().repeat(__.out()).until(__.outE().count().is(0)).dedup().values("name").toList(), List.of("bob"));
        List<Object> many = g.inject((Object) 0).repeat(__.union(__.identity(), __.identity())).times(14).limit(10000).toList();
        same("many", many.size(), 10000);
        Iterator<?> part = g.inject((Object) 0).repeat(__.union(__.identity(), __.identity())).times(14);
        part.next();
        try {
            g.V().fail("on purpose").iterate();
            throw new AssertionError("fail() did not fail");
        } catch (RuntimeException error) {
            same("why", String.valueOf(error.getMessage()).contains("on purpose"), true);
        }
    }

    static void transactions(GraphTraversalSource g) {
        long before = g.V().count().next();
        Transaction open = g.tx();
        GraphTraversalSource inside = open.begin();
        inside.addV("tx").iterate();
        same("inside", inside.V().count().next(), before + 1);
        same("outside", g.V().count().next(), before);
        open.rollback();
        Transaction again = g.tx();
        again.<GraphTraversalSource>begin().addV("tx").iterate();
        again.commit();
        same("kept", g.V().count().next(), before + 1);
    }

    static int code(Client client, String text, RequestOptions options) throws Exception {
        try {
            client.submit(text, options).all().get();
            throw new AssertionError(text + " did not fail");
        } catch (ExecutionException | CompletionException error) {
            Throwable cause = error;
            while (cause != null && !(cause instanceof ResponseException)) {
                cause = cause.getCause();
            }
            if (cause == null) {
                throw error;
            }
            return ((ResponseException) cause).getResponseStatusCode().getValue();
        }
    }

    static void scripts(Cluster cluster) throws Exception {
        Client client = cluster.connect();
        List<Result> got = client.submit("g.inject(x, y)", Map.of("x", 1, "y", List.of("two", 3.5))).all().get();
        same("parameters", List.of(got.get(0).getInt(), got.get(1).getObject()), List.of(1, List.of("two", 3.5)));
        same("unknown step", code(client, "g.V().nothing()", RequestOptions.EMPTY), 597);
        same("too long", code(client, ENDLESS, RequestOptions.build().timeout(100).create()), 598);
        String script = "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(12)";
        same("stream", client.submit(script, RequestOptions.build().batchSize(100).create()).stream().count(), 4096L);
        Client session = cluster.connect("a-session-of-java");
        session.submit("g.addV('session')").all().get();
        same("in session", session.submit("g.V().hasLabel('session').count()").all().get().get(0).getLong(), 1L);
        session.close();
        same("after it", client.submit("g.V().hasLabel('session').count()").all().get().get(0).getLong(), 0L);
        client.submitAsync(ENDLESS);
        Thread.sleep(200);
    }

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        for (MessageSerializer<?> serializer : List.of(
                new GraphBinaryMessageSerializerV1(), new GraphSONMessageSerializerV3(), new GraphSONMessageSerializerV2())) {
            Cluster cluster = Cluster.build("127.0.0.1").port(port).serializer(serializer).create();
            try {
                GraphTraversalSource g = traversal().withRemote(DriverRemoteConnection.using(cluster, "g"));
                traversals(g);
                transactions(g);
                scripts(cluster);
            } catch (Throwable error) {
                System.err.println("with " + serializer.getClass().getSimpleName());
                error.printStackTrace();
                System.exit(1);
            }
            cluster.closeAsync();
        }
        System.out.println("gremlin-java: traversals, transactions, scripts and sessions in GraphBinary, GraphSON 3 and 2");
        System.exit(0);
    }
}
