#!/usr/bin/env bash
# drive=160MiB unit=2MiB
# systemd's journals of six hosts, of different load: files mapped into memory, filled, closed and vacuumed together.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mkdir "$1/journal"
(while sleep 1; do journalctl --quiet --directory="$1/journal" --vacuum-size=112M 2>/dev/null || true; done) &
children+=($!)
hosts=()
for host in 1 2 3 4 5 6; do
    /usr/bin/python3 "$(dirname "$0")/journals.py" "$host" |
        /lib/systemd/systemd-journal-remote --output="$1/journal/remote-host$host.journal" - >/dev/null 2>&1 &
    hosts+=($!)
done
wait "${hosts[@]}"
