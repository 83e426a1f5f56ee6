#!/usr/bin/env bash
# drive=104MiB unit=2MiB
# ccache: a project compiled again and again, with a cache of object files that is kept below a size, the least recently used going, and a tree of what was built.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
export CCACHE_DIR=$1/cache CCACHE_MAXSIZE=60M CCACHE_NOCOMPRESS=1 CCACHE_TEMPDIR=$1/cache/tmp
mkdir "$1/cache" "$1/built" "$scratch/sources"
/usr/bin/python3 "$(dirname "$0")/ccache.py" "$scratch/sources" "$1/built"
