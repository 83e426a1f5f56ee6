# What doctor and calibrate say of QEMU's own drive, which the machine has. SERIAL is its serial number.
connect
section kernel uname -r
section doctor anabranch doctor /dev/nvme0n1
section rooms-before nvme fdp status /dev/nvme0n1 -o json
section proved anabranch doctor /dev/nvme0n1 --prove --json
section rooms-after nvme fdp status /dev/nvme0n1 -o json
calibrated() { anabranch calibrate /dev/nvme0n1 --erase "$SERIAL" -o /tmp/found.toml "$@" 2>/tmp/said; }
section found calibrated --json
section said cat /tmp/said
section statistics nvme fdp stats /dev/nvme0 -e 1 -o json
# Again, in words; by now it holds what was written.
section words calibrated --yes
section no-profile test ! -e /tmp/found.toml
