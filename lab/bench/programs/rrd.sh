#!/usr/bin/env bash
# drive=128MiB unit=1MiB
# Round-robin files of a monitor, one a machine, each of several resolutions: small changes in place everywhere, all the time.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/rrd.py" "$1" | rrdtool - >/dev/null
