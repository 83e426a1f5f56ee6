#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# Tkrzw's b+tree in a hash file in mapped memory: pages written in place, or moved where there is room for them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
tkrzw_dbm_perf parallel --dbm tree --path "$1/tree.tkt" --iter 700000 --keys 200000 --size 1500 --threads 1 --random_key --random_value --max_page_size 16000 --max_cached_pages 500
