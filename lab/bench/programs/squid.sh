#!/usr/bin/env bash
# drive=160MiB unit=2MiB
# Squid: a proxy's cache of files in many directories, the least recently used go, and a log of which object is where.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/squid.conf" <<END
http_port 127.0.0.1:23128
http_access allow all
cache_dir aufs $1/cache 112 16 64
cache_mem 8 MB
maximum_object_size 8 MB
cache_replacement_policy lru
cache_swap_low 92
cache_swap_high 96
access_log stdio:$1/logs/access.log
cache_log $scratch/cache.log
pid_filename $scratch/squid.pid
coredump_dir $scratch
pinger_enable off
logfile_rotate 1
shutdown_lifetime 1 seconds
visible_hostname squid
END
# Squid gives up root's rights.
mkdir "$1/cache" "$1/logs"
chown proxy "$1/cache" "$1/logs" "$scratch"
chmod 755 "$1"
squid -f "$scratch/squid.conf" --foreground -z >/dev/null 2>&1
squid -f "$scratch/squid.conf" --foreground >/dev/null 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/23128'
/usr/bin/python3 "$(dirname "$0")/squid.py"
