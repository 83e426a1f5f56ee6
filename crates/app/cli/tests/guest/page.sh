# A drive is steered, and what it did is told as JSON and, of the same moment, as a page.
connect
must mkdir /tmp/groups
must mount -t cgroup2 none /tmp/groups
must mkdir '/tmp/groups/no<b>body'
section nowhere anabranch steer --device /dev/ng0n1 --html /nowhere/page.html
steer --scheme pcstream-fcfs:samples=0 --json --html /tmp/page.html --tenant 'no<b>body' --metrics 127.0.0.1:9470
must mkfs.ext4 -q /dev/ublkb0
must mount /dev/ublkb0 /mnt
must dd if=/dev/urandom of=/mnt/file bs=1M count=8 conv=fsync
must umount /mnt
# Each second the report so far is made anew.
sleep 3
must anabranch top -o /tmp/so-far
anabranch top | cat >/tmp/top
section top cat /tmp/top
section so-far cat /tmp/so-far
unsteer
section gone anabranch top
section told cat /tmp/steered
section page cat /tmp/page.html
# Of a result the same page is made, by another call.
section made anabranch report /tmp/steered -o /tmp/again.html
section same cmp /tmp/page.html /tmp/again.html
# On standard output a page stands alone.
steer --scheme baseline --yes --html -
unsteer
section alone cat /tmp/steered
disconnect
