import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;

/**
 * A contender of Curator's, which obeys some of the commands of contender.h, and answers them as it
 * says there: {@code acquire} (its mutex, or the reader or writer of its pair, by the mode),
 * {@code release}; and
 *
 *     revoke NODE    STATUS         asks the holder of that node, by Curator's Revoker
 *     told revoked   STATUS COUNT   how often its own lock was asked for
 */
final class CuratorContender {
    private static final int OK = 0;
    private static final int TIMEOUT = -2;
    private static final int SESSION_TIMEOUT_MS = 20000;
    private static final int CONNECT_TIMEOUT_MS = 30000;

    private final CuratorFramework client;
    private final InterProcessMutex mutex;
    private final InterProcessLock[] locks; // by zkl_mode
    private InterProcessLock held;
    private final AtomicInteger revoked = new AtomicInteger();

    private CuratorContender(CuratorFramework client, String path) {
        this.client = client;
        mutex = new InterProcessMutex(client, path);
        mutex.makeRevocable(asked -> revoked.incrementAndGet());
        InterProcessReadWriteLock pair = new InterProcessReadWriteLock(client, path);
        locks = new InterProcessLock[] {mutex, pair.readLock(), pair.writeLock()};
    }

    private String acquire(int mode, long timeoutMs) throws Exception {
        if (!locks[mode].acquire(timeoutMs, TimeUnit.MILLISECONDS)) {
            return TIMEOUT + " 0";
        }
        held = locks[mode];
        Collection<String> nodes = ((InterProcessMutex) held).getParticipantNodes();
        return OK + " 0 " + nodes.iterator().next();
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "acquire":
                return acquire(Integer.parseInt(words[1]), Long.parseLong(words[2]));
            case "release":
                held.release();
                return OK + "";
            case "revoke":
                Revoker.attemptRevoke(client, words[1]);
                return OK + "";
            case "told":
                return OK + " " + revoked.get();
            default:
                throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    private static final class Closed implements ACLProvider {
        @Override
        public List<ACL> getDefaultAcl() {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return getDefaultAcl();
        }
    }

    /** On closed servers it shows the credential: see closed.h. */
    private static CuratorFramework connect(String hosts) {
        CuratorFrameworkFactory.Builder builder =
                CuratorFrameworkFactory.builder()
                        .connectString(hosts)
                        .sessionTimeoutMs(SESSION_TIMEOUT_MS)
                        .connectionTimeoutMs(CONNECT_TIMEOUT_MS)
                        .retryPolicy(new RetryOneTime(100));
        String secret = System.getenv("ZKLOCK_CLOSED");
        if (secret != null) {
            builder.authorization("digest", secret.getBytes(StandardCharsets.UTF_8))
                    .aclProvider(new Closed());
        }
        return builder.build();
    }

    /** HOSTS PATH */
    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = connect(arguments[0]);
        client.start();
        client.blockUntilConnected();
        CuratorContender self = new CuratorContender(client, arguments[1]);
        System.out.println(
                OK + " " + client.getZookeeperClient().getZooKeeper().getSessionId() + " "
                        + SESSION_TIMEOUT_MS);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            System.out.println(self.obey(line.split(" ")));
        }
        client.close();
    }
}
