// Lucene: documents of common and rare words, replaced again and again; segments flushed, merged and deleted.
import java.nio.file.Path;
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.store.FSDirectory;

class Lucene {
    static final int DOCUMENTS = 15_000, CHANGES = 120_000, STORED = 6000;

    public static void main(String[] arguments) throws Exception {
        var draw = new Random(1);
        var settings = new IndexWriterConfig(new StandardAnalyzer()).setRAMBufferSizeMB(4).setUseCompoundFile(false);
        settings.setMergePolicy(new TieredMergePolicy().setSegmentsPerTier(5).setMaxMergedSegmentMB(20).setDeletesPctAllowed(20));
        try (var writer = new IndexWriter(FSDirectory.open(Path.of(arguments[0], "index")), settings)) {
            for (int step = 0; step < DOCUMENTS + CHANGES; step++) {
                int number = step < DOCUMENTS ? step : draw.nextInt(DOCUMENTS);
                var words = new StringBuilder();
                for (int word = 0; word < 10; word++)
                    words.append('w').append((int) Math.pow(draw.nextDouble(), -1.6) % 200_000).append(' ');
                var body = new byte[STORED];
                draw.nextBytes(body);
                var document = new Document();
                document.add(new StringField("id", "d" + number, Field.Store.YES));
                document.add(new TextField("words", words.toString(), Field.Store.NO));
                document.add(new StoredField("body", body));
                writer.updateDocument(new Term("id", "d" + number), document);
                if (step % 2000 == 1999) writer.commit();
            }
        }
    }
}
