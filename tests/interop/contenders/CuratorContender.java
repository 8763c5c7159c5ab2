import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;

/** A contender of Curator: the lines of protocol.md. Its kinds are in {@link #lockOf}. */
final class CuratorContender {
    private static final int CONNECT_TIMEOUT_MS = 30000;
    private static final int COUNT_WITHIN_MS = 20000;
    private static final int PERMITS = 2;
    private static final long FOREVER_MS = Long.MAX_VALUE / 2;

    /** One of Curator's locks, whatever its interface. */
    private interface Lock {
        boolean acquire(long timeoutMs) throws Exception;

        void release() throws Exception;

        /** The path of its own node; null: it does not tell. */
        String node() throws Exception;

        Collection<String> contenders() throws Exception;

        /** False: it knows that it does not hold any more. */
        default boolean isHeld() {
            return true;
        }
    }

    // ---- Locks ----------------------------------------------------------------------------

    /** Of the thread that holds it: Curator tells its path to subclasses alone. */
    private static final Method LOCK_PATH = lockPath();

    private static Method lockPath() {
        try {
            Method told = InterProcessMutex.class.getDeclaredMethod("getLockPath");
            told.setAccessible(true);
            return told;
        } catch (NoSuchMethodException other) {
            throw new ExceptionInInitializerError(other);
        }
    }

    private static final class PlainLock implements Lock {
        private final InterProcessLock lock;
        private final InterProcessMutex asked; // null: it cannot be asked who contends

        private PlainLock(InterProcessLock lock, InterProcessMutex asked) {
            this.lock = lock;
            this.asked = asked;
        }

        private PlainLock(InterProcessMutex mutex) {
            this(mutex, mutex);
        }

        @Override
        public boolean acquire(long timeoutMs) throws Exception {
            return lock.acquire(timeoutMs, TimeUnit.MILLISECONDS);
        }

        @Override
        public void release() throws Exception {
            lock.release();
        }

        @Override
        public String node() throws Exception {
            return asked == null ? null : (String) LOCK_PATH.invoke(asked);
        }

        @Override
        public Collection<String> contenders() throws Exception {
            return asked == null ? null : asked.getParticipantNodes();
        }
    }

    private static final class Semaphore implements Lock {
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        private Semaphore(CuratorFramework client, String path) {
            semaphore = new InterProcessSemaphoreV2(client, path, PERMITS);
        }

        @Override
        public boolean acquire(long timeoutMs) throws Exception {
            lease = semaphore.acquire(timeoutMs, TimeUnit.MILLISECONDS);
            return lease != null;
        }

        @Override
        public void release() {
            semaphore.returnLease(lease);
        }

        @Override
        public String node() {
            return lease.getNodeName();
        }

        @Override
        public Collection<String> contenders() throws Exception {
            return semaphore.getParticipantNodes();
        }
    }

    /** A latch is for one term: each acquire has another one. */
    private static final class Latch implements Lock {
        private final CuratorFramework client;
        private final String path;
        private final String identifier;
        private LeaderLatch latch;

        private Latch(CuratorFramework client, String path, String identifier) {
            this.client = client;
            this.path = path;
            this.identifier = identifier;
        }

        @Override
        public boolean acquire(long timeoutMs) throws Exception {
            latch = new LeaderLatch(client, path, identifier);
            latch.start();
            boolean leads = false;
            try {
                leads = latch.await(timeoutMs, TimeUnit.MILLISECONDS);
            } finally {
                if (!leads) {
                    Thread.interrupted(); // close would end by it too
                    latch.close();
                }
            }
            return leads;
        }

        @Override
        public void release() throws Exception {
            latch.close();
        }

        @Override
        public boolean isHeld() {
            return latch.hasLeadership();
        }

        @Override
        public String node() {
            return latch.getOurPath();
        }

        @Override
        public Collection<String> contenders() throws Exception {
            return idsOf(new LeaderLatch(client, path).getParticipants());
        }
    }

    /**
     * It leads for as long as its listener does not return. The adapter ends the term when the
     * connection is suspended, as Curator's documentation asks for; autoRequeue has it queue again.
     */
    private static final class Selector implements Lock {
        private final CuratorFramework client;
        private final String path;
        private final String identifier;
        private LeaderSelector selector;
        private CountDownLatch ends;
        private volatile boolean resigned;

        private Selector(CuratorFramework client, String path, String identifier) {
            this.client = client;
            this.path = path;
            this.identifier = identifier;
        }

        @Override
        public boolean acquire(long timeoutMs) throws Exception {
            CountDownLatch began = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            ends = end;
            resigned = false;
            selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework ignored) throws InterruptedException {
                    if (began.getCount() == 0) {
                        return; // it was asked for one term
                    }
                    began.countDown();
                    try {
                        end.await();
                    } finally {
                        resigned = true;
                    }
                }
            });
            selector.setId(identifier);
            selector.autoRequeue();
            selector.start();
            boolean leads = false;
            try {
                leads = began.await(timeoutMs, TimeUnit.MILLISECONDS);
            } finally {
                if (!leads) {
                    selector.close();
                }
            }
            return leads;
        }

        @Override
        public void release() {
            ends.countDown();
            selector.close();
        }

        @Override
        public boolean isHeld() {
            return !resigned;
        }

        @Override
        public String node() {
            return null;
        }

        @Override
        public Collection<String> contenders() throws Exception {
            return idsOf(
                    new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                        @Override
                        public void takeLeadership(CuratorFramework ignored) {
                            // it is never started
                        }
                    }).getParticipants());
        }
    }

    private static Collection<String> idsOf(Collection<Participant> participants) {
        List<String> ids = new ArrayList<>();
        participants.forEach(one -> ids.add(one.getId()));
        return ids;
    }

    private Lock lockOf(String kind, String path, String identifier) {
        InterProcessReadWriteLock pair = new InterProcessReadWriteLock(client, path);
        switch (kind) {
            case "mutex":
                return new PlainLock(new InterProcessMutex(client, path));
            case "revocable-mutex":
                InterProcessMutex revocable = new InterProcessMutex(client, path);
                revocable.makeRevocable(asked -> revoked.incrementAndGet());
                return new PlainLock(revocable);
            case "reader":
                return new PlainLock(pair.readLock());
            case "writer":
                return new PlainLock(pair.writeLock());
            case "semaphore-mutex":
                return new PlainLock(new InterProcessSemaphoreMutex(client, path), null);
            case "multi":
                return new PlainLock(
                        new InterProcessMultiLock(client, Collections.singletonList(path)), null);
            case "semaphore":
                return new Semaphore(client, path);
            case "latch":
                return new Latch(client, path, identifier);
            case "selector":
                return new Selector(client, path, identifier);
            default:
                throw new IllegalArgumentException("no such kind: " + kind);
        }
    }

    // ---- The ledger -----------------------------------------------------------------------

    private static String read(RandomAccessFile ledger) throws IOException {
        byte[] digits = new byte[20];
        ledger.seek(0);
        ledger.readFully(digits);
        return new String(digits, StandardCharsets.US_ASCII);
    }

    private boolean use(RandomAccessFile ledger) throws Exception {
        String number = read(ledger);
        Thread.sleep(1);
        boolean alone = read(ledger).equals(number);
        if (!shares) {
            ledger.seek(0);
            ledger.write(String.format("%020d", Long.parseLong(number) + 1).getBytes("US-ASCII"));
        }
        return alone;
    }

    private String count(int rounds, String name) throws Exception {
        int overlaps = 0;
        RandomAccessFile ledger = name.equals("-") ? null : new RandomAccessFile(name, "rw");
        try {
            for (int i = 0; i < rounds; i++) {
                if (!lock.acquire(COUNT_WITHIN_MS)) {
                    return "timeout";
                }
                if (ledger != null && !use(ledger)) {
                    overlaps++;
                }
                lock.release();
            }
        } finally {
            if (ledger != null) {
                ledger.close();
            }
        }
        return "ok " + rounds + " " + overlaps;
    }

    // ---- Commands -------------------------------------------------------------------------

    private final CuratorFramework client;
    private final Lock lock;
    private final boolean shares;
    private final AtomicInteger revoked = new AtomicInteger();
    private final AtomicInteger suspended = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    private volatile int lostAtGrant;
    private volatile Thread worker;
    private final ExecutorService works = Executors.newSingleThreadExecutor(task -> {
        worker = new Thread(task);
        worker.setDaemon(true);
        return worker;
    });

    private CuratorContender(CuratorFramework client, String path, String kind, String identifier) {
        this.client = client;
        lock = lockOf(kind, path, identifier);
        shares = kind.equals("reader");
        client.getConnectionStateListenable().addListener((ignored, state) -> {
            if (state == ConnectionState.SUSPENDED) {
                suspended.incrementAndGet();
            } else if (state == ConnectionState.LOST) {
                lost.incrementAndGet();
            }
        });
    }

    private String work(String[] words) throws Exception {
        switch (words[0]) {
            case "acquire":
                lostAtGrant = lost.get();
                long timeoutMs = Long.parseLong(words[1]);
                if (!lock.acquire(timeoutMs < 0 ? FOREVER_MS : timeoutMs)) {
                    return "timeout";
                }
                String node = lock.node();
                return "ok " + (node == null ? "-" : node);
            case "count":
                return count(Integer.parseInt(words[1]), words[2]);
            default:
                lock.release();
                return "ok";
        }
    }

    private String ask(String[] words) throws Exception {
        switch (words[0]) {
            case "cancel":
                worker.interrupt();
                return "ok";
            case "held":
                return lost.get() == lostAtGrant && lock.isHeld() ? "ok" : "lost";
            case "contenders":
                Collection<String> contenders = lock.contenders();
                return contenders == null ? "unsupported" : "ok " + json(contenders);
            case "revoke":
                Revoker.attemptRevoke(client, words[1]);
                return "ok";
            case "told":
                return "ok " + told(words[1]);
            default:
                return "unsupported";
        }
    }

    private int told(String what) {
        return (what.equals("revoked") ? revoked : what.equals("lost") ? lost : suspended).get();
    }

    private static String json(Collection<String> texts) {
        List<String> quoted = new ArrayList<>();
        texts.forEach(text -> quoted.add('"' + text.replace("\n", "\\n").replace("\"", "\\\"") + '"'));
        return quoted.toString();
    }

    private interface Command {
        String obey(String[] words) throws Exception;
    }

    private static void answer(String[] words, Command command) {
        String said;
        try {
            said = command.obey(words);
        } catch (InterruptedException cancelled) {
            said = "cancelled";
        } catch (Exception failure) {
            said = "failed " + failure.toString().replace('\n', ' ');
        }
        System.out.println(words[0] + " " + said);
    }

    private void obey(String[] words) {
        if (words[0].equals("acquire") || words[0].equals("release") || words[0].equals("count")) {
            works.execute(() -> answer(words, this::work));
        } else {
            answer(words, this::ask);
        }
    }

    // ---- Start and end --------------------------------------------------------------------

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

    /** On closed servers it shows the credential: see tests/ensemble/support/closed.h. */
    private static CuratorFramework connect(String hosts, int sessionTimeoutMs) throws Exception {
        CuratorFrameworkFactory.Builder builder =
                CuratorFrameworkFactory.builder()
                        .connectString(hosts)
                        .sessionTimeoutMs(sessionTimeoutMs)
                        .connectionTimeoutMs(CONNECT_TIMEOUT_MS)
                        .retryPolicy(new ExponentialBackoffRetry(100, 5));
        String secret = System.getenv("ZKLOCK_CLOSED");
        if (secret != null) {
            builder.authorization("digest", secret.getBytes(StandardCharsets.UTF_8))
                    .aclProvider(new Closed());
        }
        CuratorFramework client = builder.build();
        client.start();
        client.blockUntilConnected();
        return client;
    }

    /** HOSTS PATH SESSION_TIMEOUT_MS KIND IDENTIFIER */
    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = connect(arguments[0], Integer.parseInt(arguments[2]));
        CuratorContender self =
                new CuratorContender(client, arguments[1], arguments[3], arguments[4]);
        ZooKeeper session = client.getZookeeperClient().getZooKeeper();
        System.out.println(
                "start ok " + session.getSessionId() + " " + session.getSessionTimeout());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            self.obey(line.split(" "));
        }
        client.close();
        System.exit(0);
    }
}
