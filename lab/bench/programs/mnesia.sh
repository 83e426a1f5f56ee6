#!/usr/bin/env bash
# drive=192MiB unit=2MiB fill=0.9
# Erlang's Mnesia: a table on disk alone (a hash table, in place), and one in memory whose log is made into a copy of it now and then.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
HOME=$scratch escript "$(dirname "$0")/mnesia.escript" "$1/mnesia"
