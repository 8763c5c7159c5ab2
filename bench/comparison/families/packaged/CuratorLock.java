import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * Curator's InterProcessMutex (5.4, Debian's), used as its "Getting Started" shows, for the line
 * protocol of other_process.c.
 *
 * A holder whose session has ended is still told that it has the lock: isAcquiredInThisProcess()
 * looks at nothing but its own memory, and Curator asks its users to listen for LOST.
 */
final class CuratorLock {
    private static final int NO_TOKEN = -1;

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
    private Mutex mutex;
    private String locked = "";

    private CuratorLock(String hosts, int timeoutMs) {
        client = CuratorFrameworkFactory.newClient(hosts, timeoutMs, timeoutMs, new ExponentialBackoffRetry(100, 3));
        client.start();
    }

    private String acquire(String product, long waitMs) throws Exception {
        if (!product.equals(locked)) {
            mutex = new Mutex(client, "/curator/" + product);
            locked = product;
        }
        if (!mutex.acquire(waitMs, TimeUnit.MILLISECONDS)) {
            return "busy";
        }
        return "granted " + token();
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
                    return mutex.isAcquiredInThisProcess() ? "yes" : "no";
                default:
                    mutex.release();
                    return "released";
            }
        } catch (Exception failure) {
            return words[0].equals("release") ? "released" : "unknown";
        }
    }

    public static void main(String[] arguments) throws Exception {
        CuratorLock self = new CuratorLock(arguments[0], Integer.parseInt(arguments[2]));
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            System.out.println(self.answer(line.split(" ")));
        }
        self.client.close();
    }
}
