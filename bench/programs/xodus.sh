#!/usr/bin/env bash
# drive=192MiB unit=2MiB
# Xodus: b-trees in a log of small files, of which the sparse ones are written anew at its end and deleted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx256m -XX:+UseSerialGC -XX:+PreserveFramePointer -cp "$TOOLS/java/jars/*" "$(dirname "$0")/java/Logged.java" "$1/xodus" 60000 260000
