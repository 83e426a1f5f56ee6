#!/usr/bin/env bash
# drive=128MiB unit=2MiB
# Dovecot's mdbox: mails of many boxes appended to files of 2 MiB, indexes and logs beside them; expunged mails go when a purge writes
# what is left of a file anew.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/dovecot.conf" <<END
base_dir = $scratch/run
log_path = /dev/stderr
mail_fsync = never
mail_location = mdbox:$1/mail/%u
mdbox_rotate_size = 2M
first_valid_uid = 0
ssl = no
END
# Dovecot serves no mail to root.
mkdir "$scratch/run" "$1/mail"
chown mail "$1/mail"
chmod 755 "$1" "$scratch"
HOME=$1/mail setpriv --reuid=mail --regid=mail --clear-groups /usr/bin/python3 "$(dirname "$0")/mdbox.py" "$scratch/dovecot.conf"
