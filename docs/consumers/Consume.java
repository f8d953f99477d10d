import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Read {@code documents} knowing nothing of Odradek but {@code asyncapi.json}: a line of JSON for each document.
 *
 * <p>Needs kafka-clients, avro and jackson-databind on the class path:
 * {@code java -cp 'jars/*' Consume.java 127.0.0.1:9092 asyncapi.json}
 */
public class Consume {
  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    JsonNode message = json.readTree(new File(args[1])).at("/components/messages/document");
    // Avro's own decoder of single-object encoding: told every version, it finds the writer's by the fingerprint.
    Schema newest = new Schema.Parser().parse(message.at("/payload/schema").toString());
    BinaryMessageDecoder<GenericRecord> decoder = new BinaryMessageDecoder<>(GenericData.get(), newest);
    for (JsonNode version : message.get("x-released")) {
      decoder.addSchema(new Schema.Parser().parse(version.toString()));
    }
    Map<String, Object> config =
        Map.of("bootstrap.servers", args[0], "group.id", "example-java", "auto.offset.reset", "earliest");
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of("documents"));
      while (true) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          try {
            GenericRecord document = decoder.decode(record.value());
            System.out.println(json.writeValueAsString(shown(document)));
          } catch (RuntimeException | java.io.IOException error) {
            System.err.println("skipped " + record.partition() + "/" + record.offset() + ": " + error);
          }
        }
      }
    }
  }

  private static Map<String, Object> shown(GenericRecord document) {
    Object title = document.get("title");
    return Map.of(
        "url", document.get("url").toString(),
        "title", title == null ? "" : title.toString(),
        "words", document.get("words"));
  }
}
