#!/usr/bin/env bash
# drive=288MiB unit=4MiB
# Lucene: segments of an index flushed, merged and deleted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx160m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Lucene.java" "$1"
