# The first process of a guest becomes systemd, and the job's script a service of it, which ends the guest. What the script
# starts outlives it only as a unit. `systemctl soft-reboot` starts all units anew: the script, too.
printf 'root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >/etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >/etc/group
: >/etc/fstab
: >/etc/os-release
printf '#!/bin/sh\n' >/usr/bin/systemd-tty-ask-password-agent
chmod +x /usr/bin/systemd-tty-ask-password-agent
ln -s ../bin/modprobe /usr/sbin/modprobe
: >/etc/machine-id
echo guest >/etc/hostname
units=/etc/systemd/system
mkdir -p $units/multi-user.target.wants /etc/systemd/system.conf.d /state
printf '[Manager]\nLogTarget=kmsg\nLogLevel=notice\nDefaultEnvironment=PATH=/usr/sbin:/usr/bin HOME=/tmp\n' >/etc/systemd/system.conf.d/guest.conf
# Services of programs that are not in the guest.
for name in journald logind networkd random-seed sysctl tmpfiles-setup tmpfiles-setup-dev tmpfiles-setup-dev-early \
    tmpfiles-clean modules-load remount-fs binfmt user-sessions update-done machine-id-commit pcrphase pcrphase-sysinit \
    tpm2-setup tpm2-setup-early ask-password-console ask-password-wall journal-flush journal-catalog-update hwdb-update \
    update-utmp pstore sysusers firstboot timesyncd; do
    ln -s /dev/null $units/systemd-$name.service 2>/dev/null
done
for name in systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket getty.target \
    systemd-tmpfiles-clean.timer systemd-ask-password-console.path systemd-ask-password-wall.path \
    dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount; do
    ln -s /dev/null $units/$name 2>/dev/null
done
ln -sf /usr/lib/systemd/system/multi-user.target $units/default.target
cat >/run-job <<'RUN'
cd /job
sh ./script </dev/ttyS1 >/dev/ttyS1 2>&1
status=$?
sync
echo "guest: status $status" >/dev/console
printf "\\$(printf %03o "$status")" | dd of=/dev/port bs=1 seek=244 2>/dev/null
RUN
cat >$units/job.service <<'UNIT'
[Service]
Type=exec
ExecStart=/bin/sh /run-job
StandardOutput=null
TimeoutStopSec=5s
UNIT
ln -s ../job.service $units/multi-user.target.wants/job.service
exec /usr/lib/systemd/systemd --show-status=no
