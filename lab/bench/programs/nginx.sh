#!/usr/bin/env bash
# drive=512MiB unit=2MiB
# nginx: a proxy's cache of files, the least recently used go, and a log of accesses.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/nginx.conf" <<END
user www-data;
worker_processes 2;
pid $scratch/nginx.pid;
error_log $scratch/error.log;
daemon off;
events { worker_connections 64; }
http {
    keepalive_requests 10000000;
    access_log $1/logs/access.log combined;
    proxy_cache_path $1/cache levels=1:2 keys_zone=pages:8m max_size=96m manager_files=2000 manager_threshold=500ms inactive=60s
        use_temp_path=off;
    server {
        listen 127.0.0.1:23128;
        location / {
            proxy_pass http://127.0.0.1:28080;
            proxy_cache pages;
            proxy_cache_valid 200 1d;
        }
    }
}
END
# The workers give up root's rights.
mkdir "$1/cache" "$1/logs"
chown www-data "$1/cache" "$1/logs" "$scratch"
chmod 755 "$1" "$scratch"
nginx -c "$scratch/nginx.conf" >/dev/null 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/23128'
/usr/bin/python3 "$(dirname "$0")/squid.py" 700
