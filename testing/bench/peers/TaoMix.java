// The mix of TAO on an engine inside this JVM, each answer checked. Arguments: folder of work, edge list, door, clients, seed, share of
// writes, warm-up and measured time in milliseconds. Run by the bench as a source file; prints one JSON object as its last line.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;

public final class TaoMix {
    /** What an engine must do. Each call is a transaction of its own. */
    interface Door extends AutoCloseable {
        void load(int[][] targets) throws Exception;
        /** The digest of the ids at the other ends. */
        long edges(int vertex);
        long count(int vertex);
        long node(int vertex);
        void create(int vertex, int target);
        void delete(int vertex, int target);
        String version();
        void close() throws Exception;
    }

    static long scattered(long target) {
        long spread = (target + 1) * 0x9E3779B97F4A7C15L;
        return (spread ^ (spread >>> 29)) * 0xBF58476D1CE4E5B9L;
    }

    static long digest(int[] targets) {
        long sum = 0;
        for (int target : targets) sum += scattered(target);
        return sum;
    }

    static int[][] read(Path file) throws Exception {
        List<int[]> edges = new ArrayList<>();
        int last = 0;
        try (var lines = Files.newBufferedReader(file)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split("\\s+");
                int[] edge = {Integer.parseInt(words[0]), Integer.parseInt(words[1])};
                last = Math.max(last, Math.max(edge[0], edge[1]));
                edges.add(edge);
            }
        }
        int[] degrees = new int[last + 1];
        for (int[] edge : edges) degrees[edge[0]]++;
        int[][] targets = new int[last + 1][];
        for (int vertex = 0; vertex <= last; vertex++) targets[vertex] = new int[degrees[vertex]];
        for (int[] edge : edges) targets[edge[0]][--degrees[edge[0]]] = edge[1];
        for (int[] list : targets) Arrays.sort(list);
        return targets;
    }

    final Door door;
    final int[][] targets;
    final long[] digests;
    /** Vertices that were written: what they show is judged at the end. */
    final AtomicIntegerArray written;
    final Map<Integer, int[]> latest = new HashMap<>();
    long operations, writes, wrong, unjudged;
    String fault = "";

    TaoMix(Door door, int[][] targets) {
        this.door = door;
        this.targets = targets;
        this.digests = Arrays.stream(targets).mapToLong(TaoMix::digest).toArray();
        this.written = new AtomicIntegerArray(targets.length);
    }

    void client(int number, int clients, long seed, double share, long from, long until) {
        SplittableRandom random = new SplittableRandom(seed + number);
        Map<Integer, int[]> own = new HashMap<>();
        long done = 0, wrote = 0, bad = 0, skipped = 0;
        String why = "";
        for (long begin = System.nanoTime(); begin < until; begin = System.nanoTime()) {
            boolean writing = random.nextDouble() < share;
            double kind = random.nextDouble();
            int vertex = 1 + random.nextInt(targets.length - 1);
            try {
                if (writing) {
                    while (vertex % clients != number) vertex = 1 + random.nextInt(targets.length - 1);
                    int[] list = own.getOrDefault(vertex, targets[vertex]);
                    written.set(vertex, 1);
                    if (kind < 0.8 || list.length == 0) {
                        int target;
                        do target = 1 + random.nextInt(targets.length - 1);
                        while (Arrays.binarySearch(list, target) >= 0);
                        door.create(vertex, target);
                        int[] longer = Arrays.copyOf(list, list.length + 1);
                        longer[list.length] = target;
                        Arrays.sort(longer);
                        own.put(vertex, longer);
                    } else {
                        int place = random.nextInt(list.length);
                        door.delete(vertex, list[place]);
                        int[] shorter = new int[list.length - 1];
                        System.arraycopy(list, 0, shorter, 0, place);
                        System.arraycopy(list, place + 1, shorter, place, list.length - 1 - place);
                        own.put(vertex, shorter);
                    }
                } else if (kind < 0.594) {
                    long answer = door.edges(vertex);
                    if (written.get(vertex) != 0) skipped++;
                    else if (answer != digests[vertex]) bad++;
                } else if (kind < 0.594 + 0.117) {
                    long answer = door.count(vertex);
                    if (written.get(vertex) != 0) skipped++;
                    else if (answer != targets[vertex].length) bad++;
                } else if (door.node(vertex) != vertex) {
                    bad++;
                }
            } catch (RuntimeException error) {
                why = error.toString();
                bad++;
                if (bad > 100) break;
            }
            if (begin >= from) {
                done++;
                if (writing) wrote++;
            }
        }
        synchronized (this) {
            operations += done;
            writes += wrote;
            wrong += bad;
            unjudged += skipped;
            if (!why.isEmpty()) fault = why;
            latest.putAll(own);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path work = Path.of(arguments[0]);
        int[][] targets = read(Path.of(arguments[1]));
        int clients = Integer.parseInt(arguments[3]);
        long seed = Long.parseLong(arguments[4]);
        double share = Double.parseDouble(arguments[5]);
        long warm = Long.parseLong(arguments[6]) * 1_000_000, measured = Long.parseLong(arguments[7]) * 1_000_000;
        try (Door door = open(arguments[2], work)) {
            long began = System.nanoTime();
            door.load(targets);
            double load = (System.nanoTime() - began) / 1e9;
            TaoMix mix = new TaoMix(door, targets);
            long from = System.nanoTime() + warm, until = from + measured;
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < clients; number++) {
                int own = number;
                threads.add(new Thread(() -> mix.client(own, clients, seed, share, from, until)));
            }
            for (Thread thread : threads) thread.start();
            Thread.sleep(Math.max(0, from - System.nanoTime()) / 1_000_000);
            long processor = processorTime();
            for (Thread thread : threads) thread.join();
            double busy = (processorTime() - processor) / 1e9;
            double seconds = (Math.max(System.nanoTime(), until) - from) / 1e9;
            for (int vertex = 1; vertex < targets.length; vertex++) {
                if (door.edges(vertex) != digest(mix.latest.getOrDefault(vertex, targets[vertex]))) mix.wrong++;
            }
            System.out.printf(
                "{\"version\": \"%s\", \"load_seconds\": %.2f, \"rate\": %.1f, \"cores\": %.2f, \"writes\": %.1f, \"wrong\": %d, \"unjudged\": %d, \"fault\": \"%s\"}%n",
                door.version(), load, mix.operations / seconds, busy / seconds, mix.writes / seconds, mix.wrong, mix.unjudged,
                mix.fault.replace('"', ' ').replace('\\', ' '));
        }
        System.exit(0);
    }

    /** Nanoseconds of processor time that this process has taken. */
    static long processorTime() {
        var system = java.lang.management.ManagementFactory.getOperatingSystemMXBean();
        return ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime();
    }

    static Door open(String door, Path work) throws Exception {
        return (Door) Class.forName(door).getConstructor(Path.class).newInstance(work);
    }
}
