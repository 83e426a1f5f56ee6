#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# PostMark, a mail spool: small files made, appended to, read and deleted at random.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
dir=${1:?directory}
flush_each_second "$dir"
mkdir "$dir/mail"
postmark <<END
set location $dir/mail
set size 4000 160000
set number 2150
set subdirectories 40
set transactions 30000
set buffering false
set seed 42
run
quit
END
