// JanusGraph inside the JVM, by Gremlin: on BerkeleyDB with synchronous commits (TaoJanusGraph), in memory (TaoJanusGraphMemory).

import java.nio.file.Path;
import java.util.Iterator;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.janusgraph.core.Cardinality;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphFactory;
import org.janusgraph.core.Multiplicity;
import org.janusgraph.core.schema.JanusGraphManagement;

public class TaoJanusGraph implements TaoMix.Door {
    static final int BATCH = 20_000;
    final JanusGraph graph;
    final ThreadLocal<GraphTraversalSource> sources;

    public TaoJanusGraph(Path work) {
        this(JanusGraphFactory.build()
            .set("storage.backend", "berkeleyje")
            .set("storage.directory", work.resolve("data").toString())
            .set("storage.transactions", true)
            .set("storage.berkeleyje.cache-percentage", 60)
            .set("cache.db-cache", true)
            .set("cache.db-cache-size", 0.3)
            .set("schema.default", "none")
            .open());
    }

    TaoJanusGraph(JanusGraph graph) {
        this.graph = graph;
        this.sources = ThreadLocal.withInitial(graph::traversal);
    }

    public void load(int[][] targets) {
        JanusGraphManagement schema = graph.openManagement();
        var id = schema.makePropertyKey("id_").dataType(Long.class).cardinality(Cardinality.SINGLE).make();
        schema.makeVertexLabel("N").make();
        schema.makeEdgeLabel("E").multiplicity(Multiplicity.MULTI).make();
        schema.buildIndex("byId", Vertex.class).addKey(id).unique().buildCompositeIndex();
        schema.commit();
        Object[] ids = new Object[targets.length];
        for (int first = 1; first < targets.length; first += BATCH) {
            for (int vertex = first; vertex < Math.min(first + BATCH, targets.length); vertex++) {
                Vertex made = graph.addVertex("N");
                made.property("id_", (long) vertex);
                ids[vertex] = made.id();
            }
            graph.tx().commit();
        }
        int made = 0;
        for (int vertex = 1; vertex < targets.length; vertex++) {
            Vertex source = graph.vertices(ids[vertex]).next();
            for (int target : targets[vertex]) {
                source.addEdge("E", graph.vertices(ids[target]).next());
                made++;
            }
            if (made >= BATCH) {
                graph.tx().commit();
                made = 0;
            }
        }
        graph.tx().commit();
    }

    Vertex find(GraphTraversalSource source, int vertex) {
        return source.V().has("id_", (long) vertex).next();
    }

    public long edges(int vertex) {
        GraphTraversalSource source = sources.get();
        long sum = 0;
        Iterator<Object> ids = source.V().has("id_", (long) vertex).out("E").values("id_");
        while (ids.hasNext()) sum += TaoMix.scattered((Long) ids.next());
        source.tx().rollback();
        return sum;
    }

    public long count(int vertex) {
        GraphTraversalSource source = sources.get();
        long count = source.V().has("id_", (long) vertex).outE("E").count().next();
        source.tx().rollback();
        return count;
    }

    public long node(int vertex) {
        GraphTraversalSource source = sources.get();
        long id = source.V().has("id_", (long) vertex).<Long>values("id_").next();
        source.tx().rollback();
        return id;
    }

    public void create(int vertex, int target) {
        again(source -> find(source, vertex).addEdge("E", find(source, target)));
    }

    public void delete(int vertex, int target) {
        again(source -> source.V().has("id_", (long) vertex).outE("E")
            .where(org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__.inV().has("id_", (long) target))
            .drop().iterate());
    }

    /** A writing transaction, tried again where it meets a lock. */
    void again(java.util.function.Consumer<GraphTraversalSource> work) {
        for (int attempt = 0; ; attempt++) {
            GraphTraversalSource source = sources.get();
            try {
                work.accept(source);
                source.tx().commit();
                return;
            } catch (RuntimeException error) {
                source.tx().rollback();
                if (attempt == 100) throw error;
            }
        }
    }

    public String version() {
        return JanusGraph.class.getPackage().getImplementationVersion() + "";
    }

    public void close() {
        graph.close();
    }
}

class TaoJanusGraphMemory extends TaoJanusGraph {
    public TaoJanusGraphMemory(Path work) {
        super(JanusGraphFactory.build().set("storage.backend", "inmemory").set("schema.default", "none").open());
    }
}
