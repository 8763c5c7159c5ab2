import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's mutex, read/write lock and semaphore, for the benchmark: it speaks the line protocol of
 * README.md, and does in {@code run} what driver.c does.
 */
final class CuratorPeer {
    private static final int SESSION_TIMEOUT_MS = 30000;
    private static final int WRITES_OF_100 = 10;
    private static final String ROOT = "/locks/";

    private final List<CuratorFramework> sessions = new ArrayList<>();
    private InterProcessLock held;

    /** What a contender acquires. */
    private interface Contender {
        void acquire(boolean writes) throws Exception;

        void release() throws Exception;
    }

    private static Contender plain(InterProcessLock lock) {
        return new Contender() {
            @Override
            public void acquire(boolean writes) throws Exception {
                lock.acquire();
            }

            @Override
            public void release() throws Exception {
                lock.release();
            }
        };
    }

    private static Contender readWrite(InterProcessReadWriteLock pair) {
        return new Contender() {
            private InterProcessLock lock;

            @Override
            public void acquire(boolean writes) throws Exception {
                lock = writes ? pair.writeLock() : pair.readLock();
                lock.acquire();
            }

            @Override
            public void release() throws Exception {
                lock.release();
            }
        };
    }

    private static Contender semaphore(InterProcessSemaphoreV2 semaphore) {
        return new Contender() {
            private Lease lease;

            @Override
            public void acquire(boolean writes) throws Exception {
                lease = semaphore.acquire();
            }

            @Override
            public void release() {
                semaphore.returnLease(lease);
            }
        };
    }

    /** The threads of one run. */
    private final class Run {
        private final String resource;
        private final int resources;
        private final int permits;
        private final int count;
        private final int threads;
        private final boolean mixed;
        private final boolean tolerant; // servers are killed
        private final boolean handedOn; // from one holder to the next: one resource, one holder at a time
        private final long milliseconds;
        private long endNs; // written before the barrier opens
        private final CyclicBarrier barrier;
        private final AtomicInteger taken = new AtomicInteger();
        private final AtomicLong releasedNs = new AtomicLong();
        private final AtomicLong grantedNs = new AtomicLong();
        private final AtomicLong longestGapNs = new AtomicLong();
        private final List<Double> pairsUs = new ArrayList<>();
        private final List<Double> handOffsUs = new ArrayList<>();

        Run(Map<String, String> words) {
            resource = words.get("resource");
            resources = number(words, "resources", 1);
            permits = number(words, "permits", 0);
            count = number(words, "count", 100000);
            threads = number(words, "threads", 1);
            mixed = number(words, "mixed", 0) != 0;
            tolerant = number(words, "tolerant", 0) != 0;
            handedOn = resources == 1 && permits == 0 && !mixed;
            milliseconds = number(words, "milliseconds", 600000);
            barrier = new CyclicBarrier(threads + 1);
        }

        private Contender open(CuratorFramework session, SplittableRandom chance) {
            String path = ROOT + resource + (resources == 1 ? "" : "-" + chance.nextInt(resources));
            if (permits > 0) {
                return semaphore(new InterProcessSemaphoreV2(session, path, permits));
            }
            return mixed ? readWrite(new InterProcessReadWriteLock(session, path))
                    : plain(new InterProcessMutex(session, path));
        }

        /** There is one turn, however late the threads are. */
        private boolean mayTakeTurn() {
            int turn = taken.getAndIncrement();
            return turn < count && (turn == 0 || System.nanoTime() < endNs);
        }

        private void takeTurn(Contender contender, boolean writes, List<Double> pairs, List<Double> handOffs)
                throws Exception {
            long beginNs = System.nanoTime();
            contender.acquire(writes);
            long nowNs = System.nanoTime();
            long releaseNs = releasedNs.get();
            if (handedOn && releaseNs > beginNs) {
                handOffs.add((nowNs - releaseNs) / 1e3);
            }
            longestGapNs.accumulateAndGet(nowNs - grantedNs.getAndSet(nowNs), Math::max);
            releasedNs.set(System.nanoTime());
            contender.release();
            pairs.add((System.nanoTime() - beginNs) / 1e3);
        }

        private void contend(int thread) {
            List<Double> pairs = new ArrayList<>();
            List<Double> handOffs = new ArrayList<>();
            SplittableRandom chance = new SplittableRandom(thread);
            CuratorFramework session = sessions.get(thread % sessions.size());
            try {
                Contender contender = open(session, chance);
                barrier.await();
                while (mayTakeTurn()) {
                    if (resources > 1) {
                        contender = open(session, chance);
                    }
                    try {
                        takeTurn(contender, mixed && chance.nextInt(100) < WRITES_OF_100, pairs, handOffs);
                    } catch (Exception failure) {
                        if (!tolerant) {
                            throw failure;
                        }
                        contender = open(session, chance);
                    }
                }
                synchronized (this) {
                    pairsUs.addAll(pairs);
                    handOffsUs.addAll(handOffs);
                }
                barrier.await();
            } catch (Exception failure) {
                failure.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }

        private String measure() throws Exception {
            Thread[] all = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                int number = i;
                all[i] = new Thread(null, () -> contend(number), "contender", 256 * 1024);
                all[i].start();
            }
            long usedNs = cpuNs();
            long beganNs = System.nanoTime();
            endNs = beganNs + 1000000L * milliseconds;
            grantedNs.set(beganNs);
            barrier.await();
            barrier.await();
            double seconds = (System.nanoTime() - beganNs) / 1e9;
            double cpuSeconds = (cpuNs() - usedNs) / 1e9;
            for (Thread thread : all) {
                thread.join();
            }
            return "{\"grants\":" + pairsUs.size() + ",\"seconds\":" + seconds + ",\"cpu_seconds\":" + cpuSeconds
                    + ",\"longest_gap_ms\":" + longestGapNs.get() / 1e6 + ",\"pairs_us\":" + pairsUs
                    + ",\"hand_offs_us\":" + handOffsUs + "}";
        }
    }

    private static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private static int number(Map<String, String> words, String key, int otherwise) {
        return words.containsKey(key) ? Integer.parseInt(words.get(key)) : otherwise;
    }

    private void open(Map<String, String> words) throws Exception {
        String[] hosts = words.get("hosts").split(",");
        int count = number(words, "sessions", 1);
        boolean apart = number(words, "apart", 1) != 0;
        for (int i = 0; i < count; i++) {
            CuratorFramework session = CuratorFrameworkFactory.newClient(
                    apart ? hosts[i % hosts.length] : words.get("hosts"),
                    SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS, new ExponentialBackoffRetry(100, 10));
            session.start();
            sessions.add(session);
        }
        for (CuratorFramework session : sessions) {
            session.blockUntilConnected(SESSION_TIMEOUT_MS, TimeUnit.MILLISECONDS);
        }
    }

    private String obey(String command, Map<String, String> words) throws Exception {
        switch (command) {
            case "open":
                open(words);
                return "{}";
            case "close":
                sessions.forEach(CuratorFramework::close);
                sessions.clear();
                return "{}";
            case "run":
                return new Run(words).measure();
            case "hold_one":
                held = new InterProcessMutex(sessions.get(sessions.size() - 1), ROOT + words.get("resource"));
                held.acquire();
                return "{}";
            case "drop_one":
                held.release();
                return "{}";
            case "try":
                return tryMany(ROOT + words.get("resource"), number(words, "count", 1));
            default:
                throw new IllegalArgumentException("no such command here: " + command);
        }
    }

    private String tryMany(String path, int count) throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(sessions.get(0), path);
        int grants = 0;
        long beganNs = System.nanoTime();
        for (int i = 0; i < count; i++) {
            if (mutex.acquire(0, TimeUnit.MILLISECONDS)) {
                grants++;
                mutex.release();
            }
        }
        return "{\"grants\":" + grants + ",\"tries\":" + count + ",\"seconds\":"
                + (System.nanoTime() - beganNs) / 1e9 + "}";
    }

    public static void main(String[] arguments) throws Exception {
        CuratorPeer self = new CuratorPeer();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            Map<String, String> values = new HashMap<>();
            for (int i = 1; i < words.length; i++) {
                values.put(words[i].split("=")[0], words[i].split("=")[1]);
            }
            System.out.println(self.obey(words[0], values));
        }
        System.exit(0);
    }
}
