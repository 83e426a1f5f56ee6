#!/usr/bin/env bash
# drive=176MiB unit=2MiB
# RabbitMQ: durable classic queues with their message stores, a quorum queue with its log and segments, a stream that is cut at its old end.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/rabbitmq.conf" <<END
listeners.tcp.default = 127.0.0.1:25673
disk_free_limit.absolute = 1MB
raft.wal_max_size_bytes = 8000000
END
printf '[].\n' >"$scratch/plugins"
mkdir "$1/rabbit" "$1/logs"
export HOME=$scratch RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_CONFIG_FILE=$scratch/rabbitmq.conf RABBITMQ_MNESIA_BASE=$1/rabbit RABBITMQ_LOG_BASE=$1/logs \
    RABBITMQ_ENABLED_PLUGINS_FILE=$scratch/plugins RABBITMQ_DIST_PORT=25672 ERL_EPMD_PORT=24369 ERL_EPMD_ADDRESS=127.0.0.1
epmd &
children+=($!)
/usr/lib/rabbitmq/bin/rabbitmq-server >"$scratch/log" 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/25673'
"$TOOLS/venv/bin/python3" "$(dirname "$0")/rabbitmq.py"
/usr/lib/rabbitmq/bin/rabbitmqctl --quiet stop
