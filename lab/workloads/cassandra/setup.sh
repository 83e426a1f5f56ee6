#!/usr/bin/env bash
# A node on the loopback interface, and KEYS rows of five columns: setup.sh DIR
set -euo pipefail
dir=${1:?directory}
here=$(dirname "$0")
. "$here/../server.sh"
. "$here/java.sh"
home=$ANABRANCH_TOOLS/cassandra
data=$dir/cassandra
mkdir "$data" "$dir/run"
port=$(free_port)
echo "$port" >"$dir/run/port"
sed -e "s#@DATA@#$data#" -e "s#@PORT@#$port#" -e "s#@STORAGE_PORT@#$((port + 1))#" "$here/cassandra.yaml" >"$dir/run/cassandra.yaml"
# Without frame pointers (FRAMES = "-") the call paths of compiled Java are garbage.
setsid java -Xms1g -Xmx1g -XX:+UseParallelGC -XX:ParallelGCThreads=2 -XX:ActiveProcessorCount=2 "-XX:${FRAMES:?}PreserveFramePointer" \
    -Xss512k -XX:+PerfDisableSharedMem -javaagent:"$(echo "$home"/lib/jamm-*.jar)" -Djdk.attach.allowAttachSelf=true \
    -Dio.netty.tryReflectionSetAccessible=true -Djava.security.manager=allow -Djava.net.preferIPv4Stack=true "${opened[@]}" \
    -Djava.io.tmpdir="$dir/run" -Djna.tmpdir="$dir/run" -Dcassandra.config="file://$dir/run/cassandra.yaml" \
    -Dlogback.configurationFile="$here/logback.xml" -Dcassandra.storagedir="$data" -Dcassandra.ring_delay_ms=100 \
    -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.available_processors=2 -Dcassandra-foreground=yes \
    -cp "$dir/run:$home/lib/*" org.apache.cassandra.service.CassandraDaemon </dev/null &
echo $! >"$dir/run/pid"
answers() { (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
await $! 120 answers
while_lives $! stress "$dir" write n="${KEYS:?}" cl=ONE no-warmup -pop "seq=1..$KEYS" -schema "replication(factor=1)" \
    "compaction(strategy=${STRATEGY:?})" -rate threads=8
