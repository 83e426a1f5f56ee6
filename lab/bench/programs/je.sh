#!/usr/bin/env bash
# drive=160MiB unit=2MiB
# Berkeley DB's Java Edition: a b-tree in nothing but a log of small files, whose sparse ones a cleaner writes anew.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx200m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Records.java" "$1"
