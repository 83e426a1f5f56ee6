// Infinispan: baskets changed and taken away again, and visits forgotten after some seconds, in a file store each.
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.infinispan.configuration.cache.*;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.manager.DefaultCacheManager;

class Grid {
    static final int ENTRIES = 30_000, CHANGES = 900_000;

    static ConfigurationBuilder kept(String folder, int most) {
        var builder = new ConfigurationBuilder();
        builder.memory().maxCount(most);
        builder.expiration().wakeUpInterval(2, TimeUnit.SECONDS);
        builder.persistence().addSoftIndexFileStore().dataLocation(folder + "/data").indexLocation(folder + "/index").maxFileSize(2 << 20).compactionThreshold(0.5);
        return builder;
    }

    public static void main(String[] arguments) throws Exception {
        var global = new GlobalConfigurationBuilder().nonClusteredDefault();
        global.globalState().enable().persistentLocation(arguments[0]).configurationStorage(org.infinispan.globalstate.ConfigurationStorage.VOLATILE);
        try (var manager = new DefaultCacheManager(global.build())) {
            manager.defineConfiguration("baskets", kept("baskets", 2000).build());
            manager.defineConfiguration("visits", kept("visits", 1000).build());
            var baskets = manager.<String, byte[]>getCache("baskets");
            var visits = manager.<String, byte[]>getCache("visits");
            var draw = new Random(1);
            for (int step = 0; step < ENTRIES + CHANGES; step++) {
                int entry = step < ENTRIES ? step : (int) (ENTRIES * draw.nextDouble() * draw.nextDouble());
                var value = new byte[(int) Math.min(Math.max(1200 * Math.exp(0.8 * draw.nextGaussian()), 100), 30_000)];
                draw.nextBytes(value);
                if (step >= ENTRIES && draw.nextInt(6) == 0) baskets.remove("basket-" + entry);
                else baskets.put("basket-" + entry, value);
                if (step % 3 == 0) visits.put("visit-" + step, value, 4 + draw.nextInt(8), TimeUnit.SECONDS);
                if (step % 100 == 0) Thread.sleep(8);
            }
        }
    }
}
