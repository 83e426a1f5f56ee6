#!/usr/bin/env bash
# drive=184MiB unit=2MiB
# Kafka: topics of which each partition is a log in segments; old segments go by size or age, one topic is compacted by key, a consumer commits where it is.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/server.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:29093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:29092,CONTROLLER://127.0.0.1:29093
advertised.listeners=PLAINTEXT://127.0.0.1:29092
log.dirs=$1/kafka
log.initial.task.delay.ms=1000
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=1000
log.cleaner.backoff.ms=2000
log.cleaner.dedupe.buffer.size=4194304
log.index.size.max.bytes=65536
offsets.topic.num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.segment.bytes=1048576
END
java=(java -Xmx256m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*")
"${java[@]}" kafka.tools.StorageTool format -t AAAAAAAAQACAAAAAAAAAAQ -c "$scratch/server.properties" >/dev/null 2>&1
"${java[@]}" kafka.Kafka "$scratch/server.properties" >/dev/null 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/29092'
"${java[@]}" "$(dirname "$0")/java/Messages.java" 127.0.0.1:29092 2>/dev/null
