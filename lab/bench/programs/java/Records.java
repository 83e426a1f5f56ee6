// Berkeley DB's Java Edition: accounts changed all the time, an index of their towns; a queue of orders beside them.
import com.sleepycat.je.*;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.Random;

class Records {
    static final int ACCOUNTS = 26_000, CHANGES = 900_000, QUEUED = 4000;

    static DatabaseEntry entry(long key) {
        return new DatabaseEntry(ByteBuffer.allocate(8).putLong(key).array());
    }

    public static void main(String[] arguments) throws Exception {
        var folder = new File(arguments[0], "je");
        folder.mkdir();
        var settings = new EnvironmentConfig().setAllowCreate(true).setTransactional(true);
        settings.setDurability(Durability.COMMIT_WRITE_NO_SYNC).setCacheSize(24 << 20);
        settings.setConfigParam(EnvironmentConfig.LOG_FILE_MAX, "2000000").setConfigParam(EnvironmentConfig.CLEANER_MIN_UTILIZATION, "60");
        settings.setConfigParam(EnvironmentConfig.CLEANER_BYTES_INTERVAL, "1000000").setConfigParam(EnvironmentConfig.CHECKPOINTER_BYTES_INTERVAL, "8000000");
        settings.setConfigParam(EnvironmentConfig.FREE_DISK, "0").setConfigParam(EnvironmentConfig.CLEANER_THREADS, "2");
        settings.setConfigParam(EnvironmentConfig.CLEANER_WAKEUP_INTERVAL, "1 s");
        var draw = new Random(1);
        try (var environment = new Environment(folder, settings)) {
            var tables = new DatabaseConfig().setAllowCreate(true).setTransactional(true);
            try (var accounts = environment.openDatabase(null, "accounts", tables); var orders = environment.openDatabase(null, "orders", tables)) {
                var towns = new SecondaryConfig();
                towns.setAllowCreate(true).setTransactional(true).setSortedDuplicates(true);
                towns.setKeyCreator((index, key, data, town) -> { town.setData(data.getData(), 0, 2); return true; });
                try (var index = environment.openSecondaryDatabase(null, "towns", accounts, towns)) {
                    for (int step = 0; step < ACCOUNTS + CHANGES; step += 20) {
                        var transaction = environment.beginTransaction(null, null);
                        for (int at = step; at < step + 20; at++) {
                            long account = at < ACCOUNTS ? at : (long) (ACCOUNTS * draw.nextDouble() * draw.nextDouble());
                            var value = new byte[(int) Math.min(Math.max(1000 * Math.exp(0.7 * draw.nextGaussian()), 100), 20_000)];
                            draw.nextBytes(value);
                            // An account stays in its town as a rule.
                            if (draw.nextInt(10) > 0) { value[0] = (byte) account; value[1] = 0; }
                            accounts.put(transaction, entry(account * 7919 % ACCOUNTS), new DatabaseEntry(value));
                            if (at % 2 == 0) orders.put(transaction, entry(at), new DatabaseEntry(value, 0, Math.min(value.length, 400)));
                            if (at % 2 == 0 && at >= QUEUED) orders.delete(transaction, entry(at - QUEUED));
                        }
                        transaction.commit();
                    }
                }
            }
        }
    }
}
