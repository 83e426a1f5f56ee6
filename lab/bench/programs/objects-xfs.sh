#!/usr/bin/env bash
# drive=512MiB unit=4MiB fs=xfs
# The object store on XFS.
set -euo pipefail
exec "$(dirname "$0")/objects.py" "$1"
