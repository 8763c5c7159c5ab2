import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * A contender of ZooKeeper's own lock in Java, WriteLock: the lines of protocol.md. Its kinds:
 *
 *     lock      used as its documentation says: asked for once, then the listener is told
 *     repeated  asked for again every 100 ms until it is granted, because lock() gives up without a
 *               word when the node that it wants to watch has just gone
 *     polled    the same, with a new one for each acquire, unlocked and closed in one piece: each
 *               lock() leaves a watch, which may ask for the lock once more when it is released
 *     twice     an acquire is one of each of two locks of this session, which must not both be
 *               granted
 *
 * An acquire is given up with unlock(): the library has no other means.
 */
final class WriteLockContender {
    private static final long PATIENCE_MS = 60000;
    private static final long POLL_MS = 100;
    private static final int LEDGER_DIGITS = 20;

    private final Lock lock;
    private final Lock second;
    private final boolean twice;
    private final ExecutorService works = Executors.newSingleThreadExecutor(
            task -> {
                Thread thread = new Thread(task);
                thread.setDaemon(true);
                return thread;
            });

    /** One lock, and what its listener was told. */
    private static final class Lock implements LockListener {
        private final ZooKeeper session;
        private final String path;
        private final boolean closes;
        private final boolean repeats;
        private volatile WriteLock library;
        private boolean granted;
        private boolean waiting;
        private boolean cancelled;

        Lock(ZooKeeper session, String path, String kind) {
            this.session = session;
            this.path = path;
            closes = kind.equals("polled");
            repeats = closes || kind.equals("repeated");
            renew();
        }

        private void renew() {
            library = new WriteLock(session, path, null);
            library.setLockListener(this);
        }

        /** As lock() is synchronized too, none of its watches comes between. */
        void unlock() {
            synchronized (library) {
                try {
                    library.unlock();
                } finally {
                    if (closes) {
                        library.close();
                    }
                }
            }
        }

        @Override
        public synchronized void lockAcquired() {
            granted = true;
            notifyAll();
        }

        @Override
        public synchronized void lockReleased() {
            granted = false;
        }

        /** Waits until the listener is told, or somebody cancels, or until then. */
        private synchronized boolean isDecided(long untilMs) throws InterruptedException {
            for (long left = untilMs - nowMs(); !granted && !cancelled && left > 0; left = untilMs - nowMs()) {
                wait(left);
            }
            return granted || cancelled;
        }

        private synchronized void begin() {
            granted = false;
            cancelled = false;
            waiting = true;
        }

        private synchronized String end() {
            waiting = false;
            return granted ? "ok" : cancelled ? "cancelled" : "timeout";
        }

        String acquire(long timeoutMs) throws Exception {
            long deadline = timeoutMs < 0 ? Long.MAX_VALUE : nowMs() + timeoutMs;
            begin();
            if (closes) {
                renew();
            }
            do {
                library.lock();
            } while (!isDecided(repeats ? Math.min(deadline, nowMs() + POLL_MS) : deadline) && nowMs() < deadline);
            String outcome = end();
            if (outcome.equals("timeout")) {
                unlock();
            }
            return outcome;
        }

        void cancel() {
            synchronized (this) {
                if (!waiting) {
                    return;
                }
            }
            unlock();
            synchronized (this) {
                cancelled = true;
                notifyAll();
            }
        }
    }

    private WriteLockContender(ZooKeeper session, String path, String kind) {
        lock = new Lock(session, path, kind);
        second = new Lock(session, path, kind);
        twice = kind.equals("twice");
    }

    private static long nowMs() {
        return System.nanoTime() / 1000000;
    }

    private static synchronized void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Counts one up. Returns 1 if somebody else did meanwhile. */
    private static int useLedger(String path) throws Exception {
        if (path.equals("-")) {
            return 0;
        }
        String before = Files.readString(Path.of(path));
        Thread.sleep(1);
        int overlap = Files.readString(Path.of(path)).equals(before) ? 0 : 1;
        String after = String.format(Locale.ROOT, "%0" + LEDGER_DIGITS + "d", Long.parseLong(before) + 1);
        Files.write(Path.of(path), after.getBytes(StandardCharsets.US_ASCII), StandardOpenOption.WRITE);
        return overlap;
    }

    private String count(int times, String ledger) throws Exception {
        int overlaps = 0;
        for (int done = 0; done < times; done++) {
            String outcome = lock.acquire(PATIENCE_MS);
            if (!outcome.equals("ok")) {
                return outcome;
            }
            overlaps += useLedger(ledger);
            lock.unlock();
        }
        return "ok " + times + " " + overlaps;
    }

    private String acquire(long timeoutMs) throws Exception {
        String outcome = lock.acquire(timeoutMs);
        if (twice && outcome.equals("ok")) {
            outcome = second.acquire(timeoutMs);
        }
        return outcome.equals("ok") ? outcome + " " + lock.library.getId() : outcome;
    }

    private String perform(String[] words) throws Exception {
        switch (words[0]) {
            case "acquire":
                return acquire(Long.parseLong(words[1]));
            case "release":
                lock.unlock();
                return "ok";
            case "cancel":
                lock.cancel();
                return "ok";
            default:
                return count(Integer.parseInt(words[1]), words[2]);
        }
    }

    private void obey(String[] words) {
        switch (words[0]) {
            case "acquire", "release", "count" ->
                works.execute(() -> answer(words[0] + " " + outcomeOf(words)));
            case "cancel" -> answer("cancel " + outcomeOf(words));
            case "held" -> answer("held " + (lock.library.isOwner() ? "ok" : "lost"));
            default -> answer(words[0] + " unsupported");
        }
    }

    private String outcomeOf(String[] words) {
        try {
            return perform(words);
        } catch (Exception exception) {
            return "failed " + exception.toString().replace('\n', ' ');
        }
    }

    private static ZooKeeper connect(String hosts, int timeoutMs) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper session = new ZooKeeper(hosts, timeoutMs, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        if (!connected.await(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
            answer("start failed not connected");
            System.exit(1);
        }
        return session;
    }

    /** The library makes the last node of the path alone. */
    private static void makeParents(ZooKeeper session, String path) throws Exception {
        for (int slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) {
            try {
                session.create(path.substring(0, slash), null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            } catch (KeeperException.NodeExistsException exists) {
                continue;
            }
        }
    }

    /** HOSTS PATH SESSION_TIMEOUT_MS KIND IDENTIFIER */
    public static void main(String[] arguments) throws Exception {
        ZooKeeper session = connect(arguments[0], Integer.parseInt(arguments[2]));
        makeParents(session, arguments[1]);
        WriteLockContender self = new WriteLockContender(session, arguments[1], arguments[3]);
        answer("start ok " + session.getSessionId() + " " + session.getSessionTimeout());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            self.obey(line.split(" "));
        }
        session.close();
        System.exit(0);
    }
}
