// Xodus: issues of a tracker, and which of them have a word; every one once, then those of a skewed choice changed in transactions.
import java.util.Random;
import jetbrains.exodus.ArrayByteIterable;
import jetbrains.exodus.bindings.IntegerBinding;
import jetbrains.exodus.bindings.LongBinding;
import jetbrains.exodus.env.*;

class Logged {
    public static void main(String[] arguments) throws Exception {
        int rows = Integer.parseInt(arguments[1]), changes = Integer.parseInt(arguments[2]), batch = 400;
        var draw = new Random(1);
        var config = new EnvironmentConfig().setLogFileSize(1024).setLogCachePageSize(32 << 10).setMemoryUsage(64L << 20)
            .setGcMinUtilization(55).setGcStartIn(1000).setGcRunPeriod(500).setGcFilesDeletionDelay(1000).setGcFileMinAge(2);
        try (var environment = Environments.newInstance(arguments[0], config)) {
            var stores = new Store[2];
            environment.executeInTransaction(transaction -> {
                stores[0] = environment.openStore("issues", StoreConfig.WITHOUT_DUPLICATES, transaction);
                stores[1] = environment.openStore("words", StoreConfig.WITHOUT_DUPLICATES, transaction);
            });
            for (int step = 0; step < rows + changes; step += batch) {
                int begin = step;
                environment.executeInTransaction(transaction -> {
                    for (int at = begin; at < begin + batch; at++) {
                        int row = at < rows ? at : (int) (draw.nextDouble() * draw.nextDouble() * rows);
                        var body = new byte[200 + (int) Math.min(8000, Math.exp(5.8 + draw.nextGaussian() * 0.8))];
                        draw.nextBytes(body);
                        var key = IntegerBinding.intToEntry(row * 7919 % rows);
                        if (at % 9 == 8 && at >= rows) stores[0].delete(transaction, key);
                        else stores[0].put(transaction, key, new ArrayByteIterable(body));
                        var word = LongBinding.longToEntry((long) (3000 * draw.nextDouble() * draw.nextDouble()) * rows + row);
                        stores[1].put(transaction, word, IntegerBinding.intToEntry(at));
                    }
                });
            }
        }
    }
}
