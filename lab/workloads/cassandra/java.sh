# What Cassandra 5.0 on Java 17 opens to itself (its own conf/jvm17-server.options), as arguments in
# the array `opened`.
opened=()
for package in jdk.internal.misc jdk.internal.ref sun.nio.ch; do
    opened+=(--add-exports "java.base/$package=ALL-UNNAMED")
done
for package in java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry java.rmi/sun.rmi.server \
    java.rmi/sun.rmi.transport.tcp java.sql/java.sql jdk.attach/sun.tools.attach \
    jdk.compiler/com.sun.tools.javac.file jdk.naming.dns/com.sun.jndi.dns jdk.unsupported/sun.misc jdk.unsupported/sun.reflect; do
    opened+=(--add-exports "$package=ALL-UNNAMED")
done
for package in java.io java.lang java.lang.module java.lang.reflect java.math java.net java.nio java.nio.charset \
    java.nio.file.spi java.time java.util java.util.concurrent java.util.concurrent.atomic java.util.jar java.util.zip \
    jdk.internal.loader jdk.internal.math jdk.internal.module jdk.internal.ref jdk.internal.reflect \
    jdk.internal.util.jar jdk.internal.vm sun.nio.ch sun.nio.fs; do
    opened+=(--add-opens "java.base/$package=ALL-UNNAMED")
done
for package in java.rmi/sun.rmi.transport.tcp jdk.compiler/com.sun.tools.javac.file jdk.management.jfr/jdk.management.jfr \
    jdk.management/com.sun.management.internal jdk.naming.dns/com.sun.jndi.dns; do
    opened+=(--add-opens "$package=ALL-UNNAMED")
done

# Becomes cassandra-stress of 4.0's alpha, which speaks to 5.0: stress DIR ARGUMENT...
stress() {
    local dir=$1 home=$ANABRANCH_TOOLS/cassandra/stress
    shift
    exec java -Xmx256m -XX:ActiveProcessorCount=1 -XX:+PerfDisableSharedMem -Djava.io.tmpdir="$dir/run" \
        -cp "$home/conf:$home/tools/lib/*:$home/lib/*" -Dcassandra.storagedir="$dir/run" \
        -Dlogback.configurationFile=logback-tools.xml org.apache.cassandra.stress.Stress "$@" \
        -col "size=FIXED(${COLUMN_BYTES:?})" -errors ignore -node 127.0.0.1 -port native="$(cat "$dir/run/port")" \
        -log interval=10 > >(tr -d '\r' | grep --line-buffered -E '^total|^Op rate|^Total|Exception') 2>&1
}
