import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;

/** A store of keys and values: a log of changes, sorted tables of 4 MiB, eight of which are merged into one. */
public class Store {
    static final int KEYS = 60_000, VALUE = 1_000, TABLE = 4 << 20, MOST = 8;
    final Path directory;
    final TreeMap<Integer, byte[]> memory = new TreeMap<>();
    final ArrayDeque<Path> tables = new ArrayDeque<>();
    FileChannel log;
    Path logPath;
    int number, bytes;

    Store(Path directory) throws IOException {
        this.directory = directory;
        openLog();
    }

    void openLog() throws IOException {
        logPath = directory.resolve("changes-" + number++ + ".log");
        log = FileChannel.open(logPath, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    void put(int key, byte[] value) throws IOException {
        appendLog(key, value);
        memory.put(key, value);
        bytes += value.length + 8;
        if (bytes >= TABLE) flush();
    }

    void appendLog(int key, byte[] value) throws IOException {
        ByteBuffer record = ByteBuffer.allocate(value.length + 8).putInt(key).putInt(value.length).put(value).flip();
        while (record.hasRemaining()) log.write(record);
    }

    void flush() throws IOException {
        Path old = logPath;
        tables.add(writeTable(memory));
        memory.clear();
        bytes = 0;
        log.close();
        openLog();
        Files.delete(old);
        if (tables.size() > MOST) merge();
    }

    Path writeTable(SortedMap<Integer, byte[]> entries) throws IOException {
        Path path = directory.resolve("table-" + number++ + ".sst");
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ByteBuffer block = ByteBuffer.allocate(64 << 10);
            for (var entry : entries.entrySet()) {
                if (block.remaining() < entry.getValue().length + 8) writeBlock(file, block);
                block.putInt(entry.getKey()).putInt(entry.getValue().length).put(entry.getValue());
            }
            writeBlock(file, block);
            file.force(true);
        }
        return path;
    }

    void writeBlock(FileChannel file, ByteBuffer block) throws IOException {
        block.flip();
        while (block.hasRemaining()) file.write(block);
        block.clear();
    }

    void merge() throws IOException {
        TreeMap<Integer, byte[]> all = new TreeMap<>();
        for (Path table : tables) readTable(table, all);
        Path merged = writeTable(all);
        for (Path table : tables) Files.delete(table);
        tables.clear();
        tables.add(merged);
    }

    void readTable(Path path, Map<Integer, byte[]> into) throws IOException {
        try (var in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path)))) {
            while (true) {
                int key = in.readInt();
                into.put(key, in.readNBytes(in.readInt()));
            }
        } catch (EOFException end) {
        }
    }

    public static void main(String[] words) throws Exception {
        Store store = new Store(Path.of(words[0]));
        Random random = new Random(1);
        for (int i = Integer.parseInt(words[1]); i > 0; i--) {
            byte[] value = new byte[VALUE];
            random.nextBytes(value);
            store.put((int) (Math.pow(random.nextDouble(), 2) * KEYS), value);
        }
    }
}
