#!/usr/bin/env bash
# drive=192MiB unit=2MiB fill=0.9
# Derby: pages written in place, a log in files that are used again, checkpoints.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cd "$1"
java -Xmx160m -XX:+UseSerialGC -XX:+PreserveFramePointer -Dderby.storage.pageCacheSize=4000 -Dderby.storage.pageSize=8192 -Dderby.storage.logSwitchInterval=2000000 -Dderby.storage.checkpointInterval=4000000 \
    -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Tables.java" "jdbc:derby:$1/derby;create=true" 130000 260000
