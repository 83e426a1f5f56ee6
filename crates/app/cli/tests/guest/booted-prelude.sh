# What scripts under systemd begin with, behind the prelude: the command where the packages have it, and files of theirs.
await_active() { await "$2" sh -c "[ \"\$(systemctl is-active '$1')\" = active ]"; }
installed() {
    printf '#!/bin/sh\nexec /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch "$@"\n' >/usr/bin/anabranch
    chmod +x /usr/bin/anabranch
    must mkdir -p /etc/default
    for name in "$@"; do
        case $name in
            *.rules) must cp "/job/$name" /usr/lib/udev/rules.d/ ;;
            *) must cp "/job/$name" /usr/lib/systemd/system/ ;;
        esac
    done
    must systemctl daemon-reload
}
