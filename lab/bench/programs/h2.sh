#!/usr/bin/env bash
# drive=192MiB unit=2MiB
# H2: an append-only store of chunks in one file, whose emptier chunks are moved together.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx200m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Tables.java" "jdbc:h2:file:$1/h2;CACHE_SIZE=16384;RETENTION_TIME=0;MAX_COMPACT_TIME=2000" 32000 260000
