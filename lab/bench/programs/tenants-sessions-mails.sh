#!/usr/bin/env bash
# drive=384MiB unit=4MiB
# Two tenants: UnQLite's table of sessions, and folders of mails in mbox files.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
tenants "$1" sessions mboxes
