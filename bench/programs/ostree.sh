#!/usr/bin/env bash
# drive=224MiB unit=2MiB
# OSTree: versions of a system's files in a repository by their content, the last few checked out as links; older ones are pruned.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
ostree --repo="$1/repo" init --mode=bare-user-only
mkdir "$scratch/tree" "$1/deployed"
/usr/bin/python3 "$(dirname "$0")/ostree.py" "$scratch/tree" "$1/repo" "$1/deployed"
