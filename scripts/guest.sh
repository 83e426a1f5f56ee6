#!/usr/bin/env bash
# A Linux guest for what the machine's own kernel may lack (nvme-tcp, ublk, f2fs), under QEMU's software emulation.
# Use: scripts/guest.sh build                         packages to target/guest, once; nothing is installed
#      scripts/guest.sh run [-t SECONDS] [-d IMAGE] SCRIPT [FILE…]  starts it, runs SCRIPT (sh) there as root, ends it
#      scripts/guest.sh versions                      what the guest is made of
# The script's output is ours, and our input is its input; FILEs lie beside it in /job. Its exit status is ours;
# 124 means that the time was over, 125 that the guest did not come up or fell (the end of its console is shown).
# IMAGE is a disk, /dev/vda, of which the guest changes a copy alone. The machine is reached at 10.0.2.2. Debian only; no root. Needs QEMU, dpkg-deb, setpriv (scripts/setup.sh test).
# A guest boots once, when it is built; a run goes on from that moment, which spares some 10 s of a processor. One with an
# IMAGE or devices of its own (GUEST_QEMU), or under another QEMU than it was built with, boots.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
# GUEST_KERNEL=bookworm, =trixie or =sid: a guest with that suite's kernel, beside the other.
guest=$here/target/guest${GUEST_KERNEL:+-$GUEST_KERNEL}

# The suite with nvme-cli >= 2.11 (fdp verbs) and fio >= 3.38 (dataplacement=streams), and the one whose
# kernel is new enough for block write streams (6.16).
suite=trixie
kernel_suite=${GUEST_KERNEL:-trixie-backports}
packages=(busybox-static nvme-cli fio e2fsprogs xfsprogs f2fs-tools kmod libc-bin ktls-utils keyutils lvm2 mdadm mount btrfs-progs systemd udev util-linux bash)
programs=(usr/sbin/nvme usr/bin/fio usr/sbin/mke2fs usr/sbin/e2fsck usr/sbin/mkfs.xfs usr/sbin/xfs_repair
    usr/sbin/mkfs.f2fs usr/sbin/fsck.f2fs usr/sbin/xfs_io usr/sbin/tlshd usr/bin/keyctl
    usr/sbin/lvm usr/sbin/dmsetup usr/sbin/mdadm usr/sbin/losetup usr/sbin/mkfs.btrfs usr/bin/mount usr/bin/umount
    # Where a job has systemd as the first process; what it loads by name.
    usr/lib/systemd/systemd{,-executor,-shutdown,-fsck} usr/sbin/fsck usr/lib/systemd/system-generators/systemd-fstab-generator
    usr/bin/systemctl usr/bin/systemd-{escape,run} usr/bin/udevadm usr/lib/x86_64-linux-gnu/libkmod.so.2
    # What the script that lets volumes go at a shutdown runs.
    usr/bin/{bash,lsblk,findmnt,mountpoint})
modules=(virtio_pci virtio_net virtio_blk nvme-tcp nvme ublk_drv null_blk)
# What a host asks for by name that authenticates or encrypts, where it is a module: groups, hashes, ciphers, TLS of the kernel.
security=(dh_generic hmac sha256_generic sha512_generic tls gcm ccm aesni_intel)
# What mounting loads, in the order in which it is tried: emulated, xfs takes half as long as all else of a boot.
file_systems=(ext4 f2fs xfs)
# What a script loads itself, with its own options: a SCSI drive in memory that counts writes by GROUP NUMBER; drives made of
# others; the kernel's SCSI target with its handlers in user space; its NVMe/TCP target.
by_hand=(sd_mod scsi_debug loop dm_mod dm_crypt dm_multipath dm_round_robin xts dm_thin_pool raid0 raid1 raid10 raid456 overlay btrfs target_core_user tcm_loop nvmet-tcp)
# What file systems ask the kernel's crypto for by name, where it is a module (6.12).
checksums=(crc32c_generic crc32_generic)

fail() {
    echo "guest: $*" >&2
    exit 125
}

# shellcheck source=scripts/packages.sh
. scripts/packages.sh

download() {
    export APT_CONFIG=$1/apt.conf
    apt-get -qq update >&2 || fail "apt has no lists of $suite"
    apt-get -qq --download-only --no-install-recommends --yes install "${packages[@]}" >/dev/null ||
        fail "apt does not give the guest's packages"
    # Of another suite, an installation would be of that suite as a whole: its kernel's own packages alone.
    (cd "$1/archives" && download_kernel linux-image-amd64) || fail "apt does not give the kernel of $kernel_suite"
}

# A package of the kernel's suite, and what it needs of the kernel's.
download_kernel() {
    local needed
    apt-get -qq download "$1/$kernel_suite" >/dev/null || return
    for needed in $(dpkg-deb --field "$1"_*.deb Depends | tr ',|' '\n\n' | sed -n 's/^ *\(linux-\(image\|binary\|modules\|base\)-[0-9][^ ]*\).*/\1/p'); do
        [ -n "$(find . -name "${needed}_*.deb")" ] || download_kernel "$needed" || return
    done
}

# All packages but the kernel's, unpacked; of the kernel, its image and the modules' trees that hold ours.
unpack() {
    local work=$1 deb
    mkdir -p "$work/tree" "$work/kernel"
    for deb in "$work"/archives/*.deb; do
        case ${deb##*/} in
            linux-*) dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/kernel" --wildcards \
                './boot/vmlinuz-*' './lib/modules/*' './usr/lib/modules/*/vmlinuz' './usr/lib/modules/*/modules.*' './usr/lib/modules/*/kernel/crypto*' \
                './usr/lib/modules/*/kernel/arch*' './usr/lib/modules/*/kernel/lib*' './usr/lib/modules/*/kernel/net/core*' './usr/lib/modules/*/kernel/net/tls*' \
                './usr/lib/modules/*/kernel/fs/*' './usr/lib/modules/*/kernel/drivers/net/*' './usr/lib/modules/*/kernel/block*' \
                './usr/lib/modules/*/kernel/drivers/nvme*' './usr/lib/modules/*/kernel/drivers/block/*' './usr/lib/modules/*/kernel/drivers/virtio*' \
                './usr/lib/modules/*/kernel/drivers/scsi*' './usr/lib/modules/*/kernel/drivers/md*' './usr/lib/modules/*/kernel/drivers/target*' \
                './usr/lib/modules/*/kernel/drivers/uio*' 2>/dev/null || true ;;
            *) unpack_package "$work/tree" "$deb" ;;
        esac
    done
    # Bookworm's packages know no merged /usr.
    if [ -d "$work/kernel/lib/modules" ]; then
        mkdir -p "$work/kernel/usr"
        mv "$work/kernel/lib" "$work/kernel/usr/lib"
    fi
    merge_usr "$work/tree"
}

# The loader that came with a tree, which finds libraries there alone.
loader() {
    local tree=$1 libraries=$1/usr/lib/x86_64-linux-gnu
    shift
    "$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries:$libraries/ceph:$libraries/systemd" "$@"
}

# Runs a program of the guest here, with the guest's libraries: argv0, program, arguments.
foreign() {
    local tree=$1 name=$2 program=$3
    shift 3
    loader "$tree" --argv0 "$name" "$tree/$program" "$@"
}

libraries_of() {
    loader "$1" --list "$1/$2" | sed -n "s|.* => $1/\(.*\) (0x.*|\1|p"
}

copy_programs() {
    local tree=$1 to=$2 program library
    mkdir -p "$to"/{proc,sys,dev,tmp,mnt,job,etc/nvme,run,usr/bin,usr/sbin,usr/lib,usr/lib64}
    ln -s usr/bin "$to/bin"; ln -s usr/sbin "$to/sbin"; ln -s usr/lib "$to/lib"; ln -s usr/lib64 "$to/lib64"
    cp -L "$tree/usr/lib64/ld-linux-x86-64.so.2" "$to/usr/lib64/"
    cp "$tree"/usr/bin/busybox "$to/usr/bin/"
    for program in "${programs[@]}"; do
        [ -e "$tree/$program" ] || fail "the packages bring no $program"
        install -D "$tree/$program" "$to/$program"
        for library in $(libraries_of "$tree" "$program"); do
            [ -e "$to/$library" ] || install -D "$(realpath "$tree/$library")" "$to/$library"
        done
    done
    cp -a "$tree/usr/lib/systemd/system" "$tree/usr/lib/systemd/system-shutdown" "$to/usr/lib/systemd/"
    install "$tree/usr/sbin/blkdeactivate" "$to/usr/sbin/"
    install -D -m 644 -t "$to/usr/lib/udev/rules.d" "$tree"/usr/lib/udev/rules.d/*
    ln -s ../../bin/udevadm "$to/usr/lib/systemd/systemd-udevd"
    ln -s mke2fs "$to/usr/sbin/mkfs.ext4"; ln -s e2fsck "$to/usr/sbin/fsck.ext4"
    mkdir -p "$to/etc" && cp "$tree/etc/mke2fs.conf" "$to/etc/"
    printf '%s\n' "${file_systems[@]}" >"$to/etc/filesystems"
    "$tree/usr/bin/busybox" --list | while read -r program; do
        [ -e "$to/usr/bin/$program" ] || [ -e "$to/usr/sbin/$program" ] || ln -s busybox "$to/usr/bin/$program"
    done
    install -m 755 "$here/scripts/guest-init.sh" "$to/init"
}

copy_modules() {
    local work=$1 to=$2 version module file
    # kmod looks below lib/modules.
    ln -sfn usr/lib "$work/kernel/lib"
    version=$(cd "$work/kernel/lib/modules" && echo *)
    foreign "$work/tree" depmod usr/bin/kmod -b "$work/kernel" "$version"
    mkdir -p "$to/usr/lib/modules/$version"
    : >"$to/etc/modules"
    for module in "${checksums[@]}" "${security[@]}" "${modules[@]}" "${file_systems[@]}" "${by_hand[@]}"; do
        { foreign "$work/tree" modprobe usr/bin/kmod -d "$work/kernel" -S "$version" --show-depends "$module" 2>/dev/null || true; } |
            sed -n 's/^insmod //p' | while read -r file _; do
                install -D -m 644 "$file" "$to/usr/lib/modules/$version/$(basename "$file")"
                [[ " ${file_systems[*]} ${by_hand[*]} " = *" $module "* ]] || echo "$module" >>"$to/etc/modules"
            done
    done
    find "$to/usr/lib/modules" -name '*.xz' -exec xz -d {} +
    foreign "$work/tree" depmod usr/bin/kmod -b "$to" "$version" 2>/dev/null
    sort -u -o "$to/etc/modules" "$to/etc/modules"
    # Newer packages have the kernel's image beside the modules.
    find "$work/kernel/boot" "$work/kernel/usr/lib/modules" -name 'vmlinuz*' -exec cp {} "$work/vmlinuz" \; 2>/dev/null || true
    [ -e "$work/vmlinuz" ] || fail "the packages bring no kernel"
}

note_versions() {
    ls "$1/archives" | sed -n 's/^\(nvme-cli\|fio\|e2fsprogs\|xfsprogs\|f2fs-tools\|linux-binary[^_]*\|linux-image-[0-9][^_]*\)_\(.*\)_.*/\1 \2/p'
}

# What a guest is made by: with another of these it is another guest.
key() {
    cat scripts/guest.sh scripts/packages.sh scripts/guest-init.sh | sha256sum | cut -c1-16
}

build() {
    local key work
    key=$(key)
    [ "$(cat "$guest/key" 2>/dev/null)" != "$key" ] || return 0
    mkdir -p "$guest"
    # One at a time; who waited finds it done.
    exec 9>"$guest/lock"
    flock 9
    [ "$(cat "$guest/key" 2>/dev/null)" != "$key" ] || return 0
    echo "guest: building from Debian's packages (about 250 MB)" >&2
    work=$guest/work
    rm -rf "$work"
    mkdir -p "$work"
    private_apt "$work" deb "$suite" "$kernel_suite"
    download "$work"
    unpack "$work"
    copy_programs "$work/tree" "$work/image"
    copy_modules "$work" "$work/image"
    (cd "$work/image" && find . | "$work/tree/usr/bin/busybox" cpio -o -H newc 2>/dev/null) >"$guest/initrd.cpio"
    mv "$work/vmlinuz" "$guest/vmlinuz"
    note_versions "$work" >"$guest/versions"
    cp "$work/tree/usr/bin/busybox" "$guest/busybox"
    rm -rf "$work" "$guest"/moment-*
    keep_moment
    echo "$key" >"$guest/key"
}

# QEMU with what every guest has; more arguments follow.
# Whoever dies takes the guest along: setpriv ties each process to its parent's life.
# One thread for both processors: the kernel patches its own code as it boots, and emulated side by side
# a processor may meet code half patched, and fall. On a loaded machine its timers look broken: no check.
# Of guests that go on from one moment, vmgenid tells each to draw random numbers of its own.
# The emulator copies a byte a turn where a processor promises fast strings (erms): without it the kernel copies
# eight. A fifth level of page tables, SMAP and protection keys cost each miss, copy and switch, and test nothing here.
emulate() {
    local seconds=$1 initrd=$2
    shift 2
    setpriv --pdeathsig KILL timeout --foreground --signal KILL "$seconds" setpriv --pdeathsig KILL \
        qemu-system-x86_64 -accel tcg,thread=single -machine q35 -cpu max,-erms,-la57,-smap,-pku -smp 2 -m 768 -display none -nodefaults -no-reboot \
        -kernel "$guest/vmlinuz" -initrd "$initrd" -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check" \
        -device isa-debug-exit,iobase=0xf4,iosize=0x04 -device vmgenid,guid=auto \
        -netdev user,id=net -device virtio-net-pci,netdev=net,romfile= "$@"
}

# The file of the moment at which a booted guest waits for its job, under this QEMU.
moment() {
    echo "$guest/moment-$(qemu-system-x86_64 --version | sha256sum | cut -c1-16)"
}

# The disk that a waiting guest reads its job from. Its size is part of the moment.
job_disk() {
    truncate -s 1G "$1"
    echo "file=$1,if=virtio,format=raw,cache=unsafe"
}

# Boots the guest up to the moment at which it waits for its job, and keeps that.
keep_moment() {
    local work kept
    work=$(mktemp -d "$guest/run.XXXXXX")
    kept=$(moment)
    : >"$work/console"
    {
        while ! grep -q '^guest: waits' "$work/console"; do sleep 0.2; done
        echo "migrate_set_parameter max-bandwidth 10G"
        echo "migrate \"exec:cat >'$work/moment'\""
        echo quit
    } | emulate 300 "$guest/initrd.cpio" -drive "$(job_disk "$work/job")" \
        -serial "file:$work/console" -serial null -monitor stdio >/dev/null || true
    if [ -s "$work/moment" ]; then mv "$work/moment" "$kept"; else echo "guest: no moment was kept: each run boots" >&2; fi
    rm -rf "$work"
}

# The job's files as an archive.
pack_job() {
    local to=$1 script=$2 file
    shift 2
    mkdir -p "$to/image/job"
    cp "$script" "$to/image/job/script"
    date +%s >"$to/image/job/.now"
    for file in "$@"; do cp "$file" "$to/image/job/"; done
    (cd "$to/image" && find . | "$guest/busybox" cpio -o -H newc 2>/dev/null) >"$to/job"
    rm -r "$to/image"
}

run() {
    local seconds=120 place status=0 disk=() moment initrd
    if [ "${1:-}" = -t ]; then seconds=$2; shift 2; fi
    # A system of its own wants more memory than one of a few programs.
    if [ "${1:-}" = -d ]; then disk=(-m 1536 -drive "file=$2,if=virtio,format=raw,snapshot=on"); shift 2; fi
    [ $# -ge 1 ] || fail "run: no script"
    [ "$(cat "$guest/key" 2>/dev/null)" = "$(key)" ] || fail "there is no guest, or an older one; scripts/guest.sh build makes it"
    command -v qemu-system-x86_64 >/dev/null || fail "qemu-system-x86_64 is missing; scripts/setup.sh test installs it"
    place=$(mktemp -d "$guest/run.XXXXXX")
    # shellcheck disable=SC2064 # the place is known now
    trap "rm -rf '$place'" EXIT
    pack_job "$place" "$@"
    moment=$(moment)
    if [ ${#disk[@]} = 0 ] && [ -z "${GUEST_QEMU:-}" ] && [ -e "$moment" ]; then
        initrd=$guest/initrd.cpio
        disk=(-drive "$(job_disk "$place/job")" -incoming "exec:cat '$moment'")
    else
        # The job as a second archive behind the first: the kernel unpacks both.
        initrd=$place/initrd
        cat "$guest/initrd.cpio" "$place/job" >"$initrd"
    fi
    # shellcheck disable=SC2086 # words
    emulate "$seconds" "$initrd" "${disk[@]}" -serial "file:$place/console" -serial stdio ${GUEST_QEMU:-} || status=$?
    # timeout's own word for its own KILL is 137; the debug exit gives 2 * status + 1.
    case $status in
        137) echo "guest: $seconds s are over" >&2; tail -n 20 "$place/console" >&2 || true; return 124 ;;
        *) if [ $((status % 2)) = 1 ] && grep -q '^guest: status' "$place/console"; then return $((status / 2)); fi
           tail -n 40 "$place/console" >&2 || true
           fail "the guest fell (QEMU: $status)" ;;
    esac
}

case ${1:-} in
    build) build ;;
    run) shift; run "$@" ;;
    versions) cat "$guest/versions" ;;
    *) echo "use: $0 build | run [-t SECONDS] SCRIPT [FILE...] | versions" >&2; exit 2 ;;
esac
