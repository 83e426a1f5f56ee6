#!/usr/bin/env bash
# drive=116MiB unit=2MiB
# Infinispan: two caches in soft-index file stores, small files appended to and compacted; one forgets by time.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx256m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Grid.java" "$1" 2>/dev/null
