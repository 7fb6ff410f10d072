// Gremlin Server over TinkerGraph or JanusGraph (in memory): the graph of `GremlinTwins`, served to drivers on loopback.
//
// Arguments: `tinkergraph` or `janusgraph`, vertices, edges, seconds a traversal may take. Prints the port, and ends with its input.

import java.io.ByteArrayInputStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.tinkerpop.gremlin.server.GremlinServer;
import org.apache.tinkerpop.gremlin.server.Settings;
import org.apache.tinkerpop.gremlin.structure.Graph;

public class GremlinServed {
    public static void main(String[] given) throws Exception {
        boolean janus = given[0].equals("janusgraph");
        Graph graph = janus ? GremlinTwins.Janus.open() : GremlinTwins.tinker();
        GremlinTwins.load(graph, Path.of(given[1]), Path.of(given[2]), janus);
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        String settings = String.join("\n",
            "host: 127.0.0.1",
            "port: " + port,
            "evaluationTimeout: " + Long.parseLong(given[3]) * 1000,
            "channelizer: org.apache.tinkerpop.gremlin.server.channel.WebSocketChannelizer",
            "graphs: {}",
            "scriptEngines:",
            "  gremlin-groovy:",
            "    plugins:",
            "      org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin: {}",
            "      org.apache.tinkerpop.gremlin.jsr223.CoreGremlinPlugin: {}",
            "serializers:",
            "  - { className: org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1 }");
        Settings read = Settings.read(new ByteArrayInputStream(settings.getBytes(StandardCharsets.UTF_8)));
        GremlinServer server = new GremlinServer(read);
        var executor = server.getServerGremlinExecutor();
        executor.getGraphManager().putGraph("graph", graph);
        executor.getGraphManager().putTraversalSource("g", graph.traversal());
        executor.getGremlinExecutor().getScriptEngineManager().put("g", graph.traversal());
        server.start().join();
        System.out.println(port);
        while (System.in.read() >= 0) {}
        System.exit(0);
    }
}
