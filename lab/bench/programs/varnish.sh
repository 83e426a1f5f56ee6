#!/usr/bin/env bash
# drive=144MiB unit=2MiB fill=0.9
# Varnish: a cache of web pages in one file that is mapped into memory; what is least recently used makes room, where it was.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
chmod 755 "$1" "$scratch"
printf 'vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "28080"; }\n' >"$scratch/default.vcl"
varnishd -F -n "$scratch/work" -a 127.0.0.1:23128 -f "$scratch/default.vcl" -s "file,$1/cache,100M" -p nuke_limit=1000 -p thread_pool_min=10 >/dev/null 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/23128'
/usr/bin/python3 "$(dirname "$0")/squid.py" 280
