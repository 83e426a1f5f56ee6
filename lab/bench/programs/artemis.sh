#!/usr/bin/env bash
# drive=128MiB unit=2MiB
# ActiveMQ Artemis: a journal of files used again and compacted, pages of a queue too long, large messages as files.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx256m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Broker.java" "$1" 2>/dev/null
