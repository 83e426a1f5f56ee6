// ActiveMQ Artemis in one process with its clients: queues read at once, late, by few, and one that is paged.
import java.io.File;
import java.util.*;
import org.apache.activemq.artemis.api.core.*;
import org.apache.activemq.artemis.api.core.client.*;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.*;
import org.apache.activemq.artemis.core.settings.impl.*;

class Broker {
    static final long WRITTEN = 750L << 20;
    // How many messages of a queue wait to be read.
    static final String[] QUEUES = {"clicks", "orders", "letters", "reports"};
    static final int[] WAITING = {200, 6000, 12_000, 20_000};

    public static void main(String[] arguments) throws Exception {
        var settings = new ConfigurationImpl().setSecurityEnabled(false).setPersistenceEnabled(true).setJournalType(JournalType.NIO);
        for (var setter : List.of("Journal", "Bindings", "Paging", "LargeMessages"))
            ConfigurationImpl.class.getMethod("set" + setter + "Directory", String.class).invoke(settings, arguments[0] + "/" + setter.toLowerCase());
        settings.setJournalFileSize(2 << 20).setJournalMinFiles(4).setJournalPoolFiles(8).setJournalCompactMinFiles(8).setJournalCompactPercentage(40);
        settings.setJournalDatasync(false).setMaxDiskUsage(-1).addAcceptorConfiguration("local", "vm://0").setName("broker");
        var whole = new AddressSettings().setMaxSizeBytes(-1);
        var paged = new AddressSettings().setMaxSizeBytes(2 << 20).setPageSizeBytes(1 << 20).setAddressFullMessagePolicy(AddressFullMessagePolicy.PAGE);
        settings.addAddressSetting("#", whole).addAddressSetting("reports", paged);
        var server = ActiveMQServers.newActiveMQServer(settings);
        server.start();
        var draw = new Random(1);
        try (var locator = ActiveMQClient.createServerLocator("vm://0").setMinLargeMessageSize(100_000).setBlockOnDurableSend(false).setBlockOnAcknowledge(false);
             var factory = locator.createSessionFactory(); var session = factory.createSession(false, false, 0)) {
            session.start();
            var producers = new ClientProducer[QUEUES.length];
            var consumers = new ClientConsumer[QUEUES.length];
            var waiting = new int[QUEUES.length];
            for (int queue = 0; queue < QUEUES.length; queue++) {
                session.createQueue(QueueConfiguration.of(QUEUES[queue]).setRoutingType(RoutingType.ANYCAST));
                producers[queue] = session.createProducer(QUEUES[queue]);
                consumers[queue] = session.createConsumer(QUEUES[queue]);
            }
            long written = 0;
            for (int step = 1; written < WRITTEN; step++) {
                int queue = draw.nextInt(10) < 6 ? 0 : 1 + draw.nextInt(3);
                var body = new byte[(int) Math.min(Math.max(1200 * Math.exp(0.9 * draw.nextGaussian()), 60), 20_000) + (draw.nextInt(2000) == 0 ? 200_000 : 0)];
                draw.nextBytes(body);
                producers[queue].send(session.createMessage(true).writeBodyBufferBytes(body));
                written += body.length;
                waiting[queue]++;
                // What waits is read in bursts: of ten readings one takes most of it.
                if (step % 500 == 0) {
                    session.commit();
                    for (int read = 0; read < QUEUES.length; read++) {
                        int most = WAITING[read] * (step / 500 % 10 == 9 ? 1 : 3) / 2;
                        for (ClientMessage message; waiting[read] > most && (message = consumers[read].receive(1000)) != null; waiting[read]--) message.acknowledge();
                    }
                    session.commit();
                    Thread.sleep(20);
                }
            }
        } finally {
            server.stop();
        }
        // Threads of the connection stay.
        System.exit(0);
    }
}
