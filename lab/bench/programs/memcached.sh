#!/usr/bin/env bash
# drive=256MiB unit=4MiB
# memcached with extstore: what memory has no room for is written to pages of a file, first in, first out, with compaction.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
memcached -u root -l 127.0.0.1 -p 21211 -m 64 -I 512k -n 128 \
    -o "ext_page_size=4,ext_wbuf_size=2,ext_path=$1/ext:208m,ext_item_size=400,ext_item_age=0,ext_low_ttl=60,ext_threads=1,ext_compact_under=30,ext_drop_under=10" &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/21211'
/usr/bin/python3 "$(dirname "$0")/memcached.py"
