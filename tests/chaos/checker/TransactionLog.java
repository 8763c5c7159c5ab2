import java.io.BufferedWriter;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.zip.CheckedInputStream;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.InputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.ByteBufferInputStream;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileSnap;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.SnapStream;
import org.apache.zookeeper.server.persistence.TxnLog.TxnIterator;
import org.apache.zookeeper.txn.CheckVersionTxn;
import org.apache.zookeeper.txn.CloseSessionTxn;
import org.apache.zookeeper.txn.CreateContainerTxn;
import org.apache.zookeeper.txn.CreateSessionTxn;
import org.apache.zookeeper.txn.CreateTTLTxn;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;
import org.apache.zookeeper.txn.TxnHeader;

/**
 * Prints the transactions of a server, in the order of its log, a line each, and which ephemeral nodes its snapshots
 * have: tests/chaos/history.md has the forms. Both are read by ZooKeeper's own classes.
 *
 * java -cp JARS TransactionLog.java DIRECTORY FILE...    where DIRECTORY is a server's version-2, and FILE is made
 */
public class TransactionLog {
    /** What is printed of a node's data: enough for the lines by which a contender says who it is. */
    private static final int DATA_BYTES = 512;

    private static PrintWriter out;

    public static void main(String[] arguments) {
        if (arguments.length == 0 || arguments.length % 2 != 0) {
            System.err.println("TransactionLog: needs pairs of a server's directory version-2 and a file");
            System.exit(2);
        }
        boolean allPrinted = true;
        for (int i = 0; i < arguments.length; i += 2) {
            allPrinted &= isPrinted(new File(arguments[i]), new File(arguments[i + 1]));
        }
        System.exit(allPrinted ? 0 : 1);
    }

    /** The file is there only if all could be read. What the snapshots have is beside it. */
    private static boolean isPrinted(File directory, File file) {
        File part = new File(file + ".part");
        try {
            writeTo(new File(file.getPath().replaceFirst("\\.jsonl$", "") + ".snapshots"));
            printSnapshots(directory);
            endWriting();
            writeTo(part);
            long printed = print(directory);
            endWriting();
            System.err.println("TransactionLog: " + printed + " transactions of " + directory);
        } catch (IOException | RuntimeException error) {
            System.err.println("TransactionLog: " + directory + ": " + error);
            return false;
        }
        return part.renameTo(file);
    }

    private static void writeTo(File file) throws IOException {
        out = new PrintWriter(new BufferedWriter(
                new OutputStreamWriter(new FileOutputStream(file), StandardCharsets.UTF_8), 1 << 16));
    }

    private static void endWriting() throws IOException {
        out.close();
        if (out.checkError()) {
            throw new IOException("cannot write all");
        }
    }

    private static void printSnapshots(File directory) throws IOException {
        File[] files = directory.listFiles((place, name) -> name.startsWith("snapshot."));
        if (files == null) {
            throw new IOException("is no directory");
        }
        for (File file : files) {
            try {
                if (SnapStream.isValidSnapshot(file)) {
                    printSnapshot(file);
                }
            } catch (IOException | RuntimeException unreadable) {
                System.err.println("TransactionLog: no server starts from " + file + ": " + unreadable);
            }
        }
    }

    private static void printSnapshot(File file) throws IOException {
        DataTree tree = new DataTree();
        try (CheckedInputStream stream = SnapStream.getInputStream(file)) {
            InputArchive archive = BinaryInputArchive.getArchive(stream);
            new FileSnap(file.getParentFile()).deserialize(tree, new HashMap<>(), archive);
            SnapStream.checkSealIntegrity(stream, archive);
        }
        out.print("{\"zxid\":" + Long.parseLong(file.getName().substring("snapshot.".length()), 16)
                + ",\"ephemerals\":{");
        String comma = "";
        for (long session : tree.getSessions()) {
            for (String path : tree.getEphemerals(session)) {
                out.print(comma + text(path) + ":" + tree.getNode(path).stat.getCzxid());
                comma = ",";
            }
        }
        out.println("}}");
    }

    private static long print(File directory) throws IOException {
        long printed = 0;
        FileTxnLog log = new FileTxnLog(directory);
        // Without "fast forward" it begins with the first file, whatever snapshots say.
        try (TxnIterator transactions = log.read(0, false)) {
            while (transactions.getHeader() != null) {
                printOne(transactions.getHeader(), transactions.getTxn());
                printed++;
                if (!transactions.next()) {
                    break;
                }
            }
        } finally {
            log.close();
        }
        return printed;
    }

    private static void printOne(TxnHeader header, Record transaction) throws IOException {
        out.print("{\"zxid\":" + header.getZxid() + ",\"time_ms\":" + header.getTime() + ",\"session\":\"0x"
                + Long.toHexString(header.getClientId()) + "\",\"parts\":[");
        if (transaction instanceof MultiTxn && isRefused((MultiTxn) transaction)) {
            printPart(OpCode.error, null);
        } else if (transaction instanceof MultiTxn) {
            String comma = "";
            for (Txn part : ((MultiTxn) transaction).getTxns()) {
                out.print(comma);
                printPart(part.getType(), typed(part));
                comma = ",";
            }
        } else {
            printPart(header.getType(), transaction);
        }
        out.println("]}");
    }

    /**
     * A refused multi has nothing but errors after it was applied, and before that only from the part
     * on that failed: servers may have written down the one or the other.
     */
    private static boolean isRefused(MultiTxn transaction) {
        return transaction.getTxns().stream().anyMatch(part -> part.getType() == OpCode.error);
    }

    /** Reads a part of a multi, which the log has as bytes. */
    private static Record typed(Txn part) throws IOException {
        Record record = empty(part.getType());
        if (record != null) {
            ByteBuffer bytes = ByteBuffer.wrap(part.getData());
            record.deserialize(BinaryInputArchive.getArchive(new ByteBufferInputStream(bytes)), "txn");
        }
        return record;
    }

    private static Record empty(int type) {
        switch (type) {
        case OpCode.create:
        case OpCode.create2:
            return new CreateTxn();
        case OpCode.createTTL:
            return new CreateTTLTxn();
        case OpCode.createContainer:
            return new CreateContainerTxn();
        case OpCode.delete:
        case OpCode.deleteContainer:
            return new DeleteTxn();
        case OpCode.setData:
            return new SetDataTxn();
        case OpCode.check:
            return new CheckVersionTxn();
        default:
            return null; // of an error: nothing was applied
        }
    }

    private static void printPart(int type, Record part) {
        if (part instanceof CreateTxn) {
            CreateTxn create = (CreateTxn) part;
            out.print("[\"create\"," + text(create.getPath()) + "," + (create.getEphemeral() ? 1 : 0) + ","
                    + text(create.getData()) + "]");
        } else if (part instanceof CreateContainerTxn) {
            out.print("[\"create\"," + text(((CreateContainerTxn) part).getPath()) + ",0,\"\"]");
        } else if (part instanceof CreateTTLTxn) {
            out.print("[\"create\"," + text(((CreateTTLTxn) part).getPath()) + ",0,\"\"]");
        } else if (part instanceof DeleteTxn) {
            out.print("[\"delete\"," + text(((DeleteTxn) part).getPath()) + "]");
        } else if (part instanceof SetDataTxn) {
            out.print("[\"set\"," + text(((SetDataTxn) part).getPath()) + "," + text(((SetDataTxn) part).getData())
                    + "]");
        } else if (part instanceof CheckVersionTxn) {
            out.print("[\"check\"," + text(((CheckVersionTxn) part).getPath()) + "]");
        } else if (part instanceof CreateSessionTxn) {
            out.print("[\"open\"," + ((CreateSessionTxn) part).getTimeOut() + "]");
        } else if (type == OpCode.closeSession) {
            printClose((CloseSessionTxn) part);
        } else {
            out.print("[\"other\"," + type + "]");
        }
    }

    /** Prints the end of a session; servers that are told not to write its nodes down have none (null). */
    private static void printClose(CloseSessionTxn close) {
        if (close == null) {
            out.print("[\"close\",null]");
            return;
        }
        out.print("[\"close\",[");
        String comma = "";
        for (String path : close.getPaths2Delete()) {
            out.print(comma + text(path));
            comma = ",";
        }
        out.print("]]");
    }

    private static String text(byte[] data) {
        return data == null
                ? "\"\""
                : text(new String(data, 0, Math.min(data.length, DATA_BYTES), StandardCharsets.UTF_8));
    }

    private static String text(String plain) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < plain.length(); i++) {
            char one = plain.charAt(i);
            if (one == '"' || one == '\\') {
                quoted.append('\\').append(one);
            } else if (one < ' ' || one > '~') {
                quoted.append(String.format("\\u%04x", (int) one));
            } else {
                quoted.append(one);
            }
        }
        return quoted.append('"').toString();
    }
}
