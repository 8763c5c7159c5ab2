import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * Curator's InterProcessMutex (5.4, Debian's), used as its "Getting Started" shows, for the line
 * protocol of other_process.c.
 *
 * isAcquiredInThisProcess() looks at nothing but its own memory. So a listener hears whether the
 * connection was SUSPENDED or LOST since the grant, as its page "Shared Reentrant Lock" strongly
 * recommends, and whoever was disturbed does not write.
 */
final class CuratorLock {
    private static final int NO_TOKEN = -1;
    private static final int CONNECTION_TIMEOUT_MS = 15000; // Curator's own

    /** The path of its node is for subclasses only. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        @Override
        protected String getLockPath() {
            return super.getLockPath();
        }
    }

    private final CuratorFramework client;
    private final boolean fenced;
    private final AtomicInteger disturbances = new AtomicInteger();
    private int seen;
    private Mutex mutex;
    private String locked = "";

    private CuratorLock(String hosts, int timeoutMs, boolean fenced) {
        this.fenced = fenced;
        client = CuratorFrameworkFactory.newClient(
                hosts, timeoutMs, CONNECTION_TIMEOUT_MS, new ExponentialBackoffRetry(1000, 3));
        client.getConnectionStateListenable().addListener((of, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                disturbances.incrementAndGet();
            }
        });
        client.start();
    }

    private String acquire(String product, long waitMs) throws Exception {
        if (!product.equals(locked)) {
            mutex = new Mutex(client, "/curator/" + product);
            locked = product;
        }
        seen = disturbances.get();
        if (!mutex.acquire(waitMs, TimeUnit.MILLISECONDS)) {
            return "busy";
        }
        if (!fenced) {
            return "granted " + NO_TOKEN;
        }
        try {
            return "granted " + token();
        } catch (Exception failure) {
            mutex.release();
            throw failure;
        }
    }

    /** A node that has gone already has none. */
    private long token() throws Exception {
        Stat stat = client.checkExists().forPath(mutex.getLockPath());
        return stat == null ? NO_TOKEN : stat.getCzxid();
    }

    private String answer(String[] words) {
        try {
            switch (words[0]) {
                case "acquire":
                    return acquire(words[1], Long.parseLong(words[2]));
                case "held":
                    return mutex.isAcquiredInThisProcess() && seen == disturbances.get() ? "yes" : "no";
                default:
                    mutex.release();
                    return "released";
            }
        } catch (Exception failure) {
            return words[0].equals("release") ? "released" : "unknown";
        }
    }

    public static void main(String[] arguments) throws Exception {
        CuratorLock self = new CuratorLock(arguments[0], Integer.parseInt(arguments[2]), arguments[3].equals("1"));
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready looks");
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(self.answer(line.split(" ")));
        }
        self.client.close();
    }
}
