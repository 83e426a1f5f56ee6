// Sends records to topics of a Kafka broker that are kept by size, by age and by key, and reads one of them.
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

class Messages {
    static final long WRITTEN = 1_200L << 20, RATE = 10 << 20;

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> broker = Map.of("bootstrap.servers", arguments[0], "group.id", "reader");
        try (var admin = Admin.create(broker)) {
            admin.createTopics(List.of(
                new NewTopic("clicks", 4, (short) 1).configs(Map.of("retention.bytes", "6000000", "segment.bytes", "2097152")),
                new NewTopic("audit", 1, (short) 1).configs(Map.of("retention.bytes", "20000000", "segment.bytes", "8388608")),
                new NewTopic("metrics", 2, (short) 1).configs(Map.of("retention.ms", "5000", "segment.ms", "2000", "segment.bytes", "4194304")),
                new NewTopic("accounts", 2, (short) 1).configs(Map.of("cleanup.policy", "compact", "segment.bytes", "2097152", "min.cleanable.dirty.ratio", "0.3", "max.compaction.lag.ms", "20000"))
            )).all().get();
        }
        var draw = new Random(1);
        var topics = new String[] {"clicks", "clicks", "clicks", "clicks", "metrics", "metrics", "metrics", "audit", "accounts", "accounts"};
        try (var producer = new KafkaProducer<>(broker, new LongSerializer(), new ByteArraySerializer());
             var consumer = new KafkaConsumer<>(broker, new LongDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of("clicks"));
            long written = 0, slept = 0;
            for (int step = 0; written < WRITTEN; step++) {
                var topic = topics[draw.nextInt(topics.length)];
                var value = new byte[(int) Math.min(500 * Math.exp(draw.nextGaussian()), 100_000) * (topic.equals("accounts") ? 4 : 2)];
                draw.nextBytes(value);
                producer.send(new ProducerRecord<>(topic, (long) (6000 * draw.nextDouble() * draw.nextDouble()), value));
                written += value.length;
                if (step % 500 == 0) {
                    consumer.poll(Duration.ZERO);
                    consumer.commitAsync();
                    // Not faster than that.
                    Thread.sleep((written - slept) * 1000 / RATE);
                    slept = written;
                }
            }
        }
    }
}
