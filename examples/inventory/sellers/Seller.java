import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * Sells from the inventory service's stock, under Curator's mutex and the service's fence. Start the
 * service's instances with the setting {@code plain_locks}: then all stand in one queue.
 *
 * <p>usage: java Seller.java HOSTS DATABASE SESSION_MS NAME
 *
 * <p>Each line of the standard input is an order, {@code KEY SKU UNITS THINK_MS BUYER}. The standard
 * output is a log as the service's; {@code answered} ends an order. It sells products of one segment.
 */
final class Seller {
    private static final int WORKERS = 4;
    private static final int PATIENCE_MS = 10000;
    private static final int FENCED_OFF_MAX = 5;

    /** Changes no row if a later holder has claimed it. */
    private static final String CLAIM =
            "UPDATE segments SET fence = ? WHERE sku = ? AND segment = 0 AND fence <= ?"
                    + " RETURNING quantity";

    private static final String TAKE =
            "UPDATE segments SET quantity = ?, sold = sold + ?"
                    + " WHERE sku = ? AND segment = 0 AND fence = ?";

    private static final String INSERT_ORDER =
            "INSERT INTO orders (key, buyer, instance, content, token, number)"
                    + " VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM orders))"
                    + " ON CONFLICT (key) DO NOTHING";

    private static final String INSERT_PART =
            "INSERT INTO order_parts (key, sku, segment, units) VALUES (?, ?, 0, ?)";

    private enum Outcome {
        PLACED,
        SOLD_OUT,
        KEY_USED, // for another order
        BUSY, // others were served first
        UNAVAILABLE, // there is no connection to the servers
        FAILED, // what became of it is not known
        FENCED_OFF; // a later holder was here: nothing was written

        String word() {
            return name().toLowerCase();
        }
    }

    private record Order(String key, String sku, long units, long thinkMs, String buyer) {
        static Order read(String line) {
            String[] words = line.split(" ", 5);
            return new Order(
                    words[0], words[1], Long.parseLong(words[2]), Long.parseLong(words[3]), words[4]);
        }

        /** What makes another order with this key the same one, as the service writes it. */
        String content() {
            return sku + ":" + units;
        }
    }

    /** The mutex, which shows its node: a later holder's czxid is greater, so it is the token. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework zookeeper, String path) {
            super(zookeeper, path);
        }

        String node() {
            return getLockPath();
        }
    }

    private final CuratorFramework zookeeper;
    private final String database;
    private final String name;

    private Seller(CuratorFramework zookeeper, String database, String name) {
        this.zookeeper = zookeeper;
        this.database = database;
        this.name = name;
    }

    /** Asks for the lock again as long as the fence refuses it, as if nothing had happened. */
    private Outcome serve(Order order) throws Exception {
        Outcome known = find(order);
        if (known != null) {
            return known;
        }
        for (int times = 0; times < FENCED_OFF_MAX; times++) {
            Outcome outcome = lockAndSell(order);
            if (outcome != Outcome.FENCED_OFF) {
                return outcome;
            }
        }
        return Outcome.FAILED;
    }

    /** Each order has a mutex of its own, as a mutex lets its own thread in a second time. */
    private Outcome lockAndSell(Order order) throws Exception {
        if (!zookeeper.getZookeeperClient().isConnected()) {
            return Outcome.UNAVAILABLE;
        }
        long askedMs = System.currentTimeMillis();
        Mutex mutex = new Mutex(zookeeper, "/locks/" + order.sku + "/stripe-0000");
        if (!mutex.acquire(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
            return Outcome.BUSY;
        }
        try {
            Stat own = zookeeper.checkExists().forPath(mutex.node());
            if (own == null) { // the session has ended, and somebody else may hold the lock
                say("lost", order.key);
                return Outcome.FENCED_OFF;
            }
            long waitedMs = System.currentTimeMillis() - askedMs;
            say("granted", order.key, "token", own.getCzxid(), "waited_ms", waitedMs);
            return sell(order, own.getCzxid());
        } finally {
            release(mutex, order);
        }
    }

    /** If there is no connection, Curator deletes the node as soon as there is one. */
    private void release(Mutex mutex, Order order) {
        try {
            mutex.release();
        } catch (Exception error) {
            say("released_later", order.key, "why", error.getClass().getSimpleName());
        }
    }

    /**
     * Claims before it reads, and writes with the very token of its claim. So what it has read stays
     * true until it has written, even if its lock is lost at any line in between.
     */
    private Outcome sell(Order order, long token) throws Exception {
        Long left = claim(order, token);
        if (left == null) {
            return fencedOff(order, token);
        }
        if (left < order.units) {
            Outcome known = find(order); // the last units may be its own
            return known == null ? Outcome.SOLD_OUT : known;
        }
        say("claimed", order.key, "token", token, "left", left);
        Thread.sleep(order.thinkMs);
        return write(order, token, left);
    }

    private Outcome fencedOff(Order order, long token) {
        say("fenced_off", order.key, "token", token);
        return Outcome.FENCED_OFF;
    }

    private Connection open() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:sqlite:" + database + "?busy_timeout=5000&transaction_mode=IMMEDIATE");
    }

    private static PreparedStatement prepare(Connection open, String sql, Object... values)
            throws SQLException {
        PreparedStatement statement = open.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
        return statement;
    }

    private static boolean change(Connection open, String sql, Object... values)
            throws SQLException {
        try (PreparedStatement statement = prepare(open, sql, values)) {
            return statement.executeUpdate() > 0;
        }
    }

    /** What was placed before with the order's key; null: nothing. */
    private Outcome find(Order order) throws SQLException {
        String sql = "SELECT content = ? AND buyer = ? FROM orders WHERE key = ?";
        try (Connection open = open();
                PreparedStatement known =
                        prepare(open, sql, order.content(), order.buyer, order.key);
                ResultSet row = known.executeQuery()) {
            return !row.next() ? null : row.getBoolean(1) ? Outcome.PLACED : Outcome.KEY_USED;
        }
    }

    /** What is left; null: a later holder has claimed it. */
    private Long claim(Order order, long token) throws SQLException {
        try (Connection open = open();
                PreparedStatement claim = prepare(open, CLAIM, token, order.sku, token);
                ResultSet row = claim.executeQuery()) {
            return row.next() ? row.getLong(1) : null;
        }
    }

    /** Writes all or nothing: what is not committed is rolled back as the connection is closed. */
    private Outcome write(Order order, long token, long left) throws SQLException {
        try (Connection open = open()) {
            open.setAutoCommit(false);
            if (!change(open, INSERT_ORDER, order.key, order.buyer, name, order.content(), token)) {
                open.rollback();
                return find(order);
            }
            if (!change(open, TAKE, left - order.units, order.units, order.sku, token)) {
                open.rollback();
                return fencedOff(order, token);
            }
            change(open, INSERT_PART, order.key, order.sku, order.units);
            open.commit();
        }
        say("written", order.key, "token", token);
        return Outcome.PLACED;
    }

    /** Writes a line of the log. No value has anything in it that JSON would have to escape. */
    private void say(String event, String order, Object... more) {
        StringBuilder line = new StringBuilder("{\"time\":\"");
        line.append(Instant.now().truncatedTo(ChronoUnit.MILLIS));
        line.append("\",\"instance\":\"" + name + "\",\"event\":\"" + event + "\"");
        line.append(order == null ? "" : ",\"order\":\"" + order + "\"");
        for (int i = 0; i < more.length; i += 2) {
            line.append(",\"" + more[i] + "\":\"" + more[i + 1] + "\"");
        }
        System.out.println(line.append("}"));
    }

    private void answer(Order order) {
        Outcome outcome = Outcome.FAILED;
        try {
            outcome = serve(order);
        } catch (Exception error) { // the client asks again, with the same key
            say("failed", order.key, "why", error.getClass().getSimpleName());
        }
        say("answered", order.key, "reason", outcome.word());
    }

    public static void main(String[] arguments) throws Exception {
        CuratorFramework zookeeper =
                CuratorFrameworkFactory.builder()
                        .connectString(arguments[0])
                        .sessionTimeoutMs(Integer.parseInt(arguments[2]))
                        .retryPolicy(new ExponentialBackoffRetry(100, 5))
                        .build();
        zookeeper.start();
        zookeeper.blockUntilConnected();
        Seller self = new Seller(zookeeper, arguments[1], arguments[3]);
        self.say("ready", null);
        ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            Order order = Order.read(line);
            workers.execute(() -> self.answer(order));
        }
        workers.shutdown();
        workers.awaitTermination(2 * PATIENCE_MS, TimeUnit.MILLISECONDS);
        zookeeper.close(); // ends the session, and with it what the seller may still hold
    }
}
