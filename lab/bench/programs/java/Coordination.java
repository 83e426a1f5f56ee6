// ZooKeeper, server and clients in one: nodes set, sessions' nodes made and deleted; a log of transactions made beforehand, and snapshots.
import java.io.File;
import java.net.InetSocketAddress;
import java.util.Random;
import java.util.concurrent.Semaphore;
import org.apache.zookeeper.*;
import org.apache.zookeeper.server.*;

class Coordination {
    static final int NODES = 6000, CHANGES = 160_000;

    public static void main(String[] arguments) throws Exception {
        var folder = new File(arguments[0], "zookeeper");
        System.setProperty("zookeeper.preAllocSize", "8192");
        System.setProperty("zookeeper.snapCount", "12000");
        System.setProperty("zookeeper.admin.enableServer", "false");
        var server = new ZooKeeperServer(folder, folder, 2000);
        var factory = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 22181), 10);
        factory.startup(server);
        var draw = new Random(1);
        var open = new Semaphore(500);
        try (var client = new ZooKeeper("127.0.0.1:22181", 60_000, event -> {})) {
            client.create("/set", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            client.create("/queue", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            for (int step = 0; step < NODES + CHANGES; step++) {
                int node = step < NODES ? step : (int) (NODES * draw.nextDouble() * draw.nextDouble());
                var data = new byte[node % 20 == 0 ? 12_000 : 1500];
                draw.nextBytes(data);
                open.acquire();
                if (step < NODES)
                    client.create("/set/" + node, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, (code, path, context, name) -> open.release(), null);
                else
                    client.setData("/set/" + node, data, -1, (code, path, context, stat) -> open.release(), null);
                if (step % 4 == 0) {
                    open.acquire(2);
                    client.create("/queue/" + step, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL, (code, path, context, name) -> open.release(), null);
                    client.delete("/queue/" + (step - 4000), -1, (code, path, context) -> open.release(), null);
                }
                // As the purge task would do each hour: three snapshots are kept, and their logs.
                if (step % 10_000 == 9999) PurgeTxnLog.purge(folder, folder, 3);
            }
        } finally {
            factory.shutdown();
        }
    }
}
