#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# A small store in Java: a log, sorted tables, tables merged as they become many.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
java -Xmx200m -XX:+UseSerialGC -XX:+PreserveFramePointer "$(dirname "$0")/java/Store.java" "$1" "${EVENTS:-1200000}" &
children+=($!)
# The names of compiled functions, for whoever records: while the program runs, when most are compiled.
for _ in 1 2 3; do
    sleep 8
    jcmd $! Compiler.perfmap >/dev/null 2>&1 || break
done
wait "${children[-1]}"
