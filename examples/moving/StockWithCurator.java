import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** The service before it moves: StockWithCurator HOSTS PATH FILE HELD_MS. */
final class StockWithCurator {
    private static volatile boolean isClosing;

    private static long read(Path file) throws Exception {
        return Long.parseLong(Files.readString(file).trim());
    }

    /** Returns whether nobody else was at it. */
    private static boolean takeOrder(Path file, long heldMs) throws Exception {
        long number = read(file);
        for (long left = heldMs; left > 0 && !isClosing; left -= 10) {
            Thread.sleep(Math.min(left, 10));
        }
        boolean alone = read(file) == number;
        byte[] text = String.format("%020d", number + 1).getBytes(StandardCharsets.US_ASCII);
        Files.write(file, text, StandardOpenOption.WRITE);
        return alone;
    }

    private static void serve(InterProcessMutex mutex, Path file, long heldMs) throws Exception {
        int orders = 0;
        int overlaps = 0;
        while (!isClosing) {
            if (mutex.acquire(1, TimeUnit.SECONDS)) {
                overlaps += takeOrder(file, heldMs) ? 0 : 1;
                orders++;
                mutex.release();
            }
        }
        System.out.println("orders " + orders + ", overlaps " + overlaps);
    }

    private static void closeOnSigterm() {
        Thread service = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isClosing = true;
            try {
                service.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
    }

    public static void main(String[] arguments) throws Exception {
        closeOnSigterm();
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(arguments[0], new ExponentialBackoffRetry(100, 10));
        client.start();
        client.blockUntilConnected();
        System.out.println("open");
        InterProcessMutex mutex = new InterProcessMutex(client, arguments[1]);
        serve(mutex, Path.of(arguments[2]), Long.parseLong(arguments[3]));
        client.close();
    }
}
