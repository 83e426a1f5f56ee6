#!/usr/bin/env bash
# drive=208MiB unit=2MiB
# ZooKeeper: a log of transactions in files made beforehand, snapshots of the whole tree, the older ones purged.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx200m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Coordination.java" "$1" >/dev/null
