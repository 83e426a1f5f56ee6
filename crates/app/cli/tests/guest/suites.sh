# Other people's tests of drives, in a system of their own (scripts/suites.sh). TESTS are those of fio, or nvme-cli's where SUITE says so.
system=/mnt
must mount -t ext4 /dev/vda $system
for place in proc sys dev; do must mount --bind /$place $system/$place; done
for place in tmp run; do must mount -t tmpfs $place $system/$place; done
inside() { chroot $system /usr/bin/env PATH=/usr/sbin:/usr/bin HOME=/tmp LC_ALL=C.UTF-8 sh -c "$*"; }

connect
section versions inside "uname -r; fio --version; nvme --version; python3 --version"
case $SUITE in
fio)
    # As fio's test of streams says in its head. FDP has no such directive.
    nvme dir-send /dev/nvme0n1 -D 0 -O 1 -e 1 -T 1 >/dev/null 2>&1
    for test in $TESTS; do
        section "$test" inside "cd /tmp && python3 /opt/fio/t/$test.py --dut /dev/ng0n1 --fio /usr/bin/fio"
    done
    ;;
nvme-cli)
    # They are for PCIe, unless the configuration says otherwise; and are run from the folder above theirs.
    must cp -r $system/opt/nvme-cli/tests $system/tmp/tests
    echo '{"controller": "/dev/nvme0", "ns1": "/dev/nvme0n1", "log_dir": "/tmp/log/", "do_validate_pci_device": false}' >$system/tmp/tests/config.json
    for file in "$system"/tmp/tests/nvme_*_test.py; do
        test=$(basename "$file" .py)
        [ "$test" = nvme_simple_template_test ] || section "$test" inside "cd /tmp && timeout 1800 python3 -m nose2 --start-dir tests $test"
    done
    ;;
esac
section still nvme id-ctrl /dev/nvme0 -o json
