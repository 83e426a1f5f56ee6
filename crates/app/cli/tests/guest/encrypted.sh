# TLS by the kernel and tlshd: drives at PORT, and at PORT_BOTH, which wants SECRET too; both have KEY. Keys of 48 bytes are
# not for this tlshd (1.0): its GnuTLS computes binders with SHA-256 alone.
printf '[debug]\nloglevel=1\n[authenticate]\nkeyrings=.nvme\n[authenticate.client]\n[authenticate.server]\n' >/etc/tlshd.conf
tlshd --stderr --config /etc/tlshd.conf >/tmp/tlshd 2>&1 &
another=nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001
another_identifier=00000000-0000-4000-8000-000000000001

# The one key there is: key, host, version of its identity.
keyed() {
    must keyctl clear %:.nvme
    must nvme check-tls-key --keydata="$1" --hostnqn="$2" --subsysnqn="$NQN" --identity="$3" --insert
    serial=$(sed -n 's/^\([0-9a-f]*\) .* psk .*/\1/p' /proc/keys | head -n 1)
}
# shellcheck disable=SC2086 # words
{
keyed "$KEY" "$host_name" 1
section first works "$PORT" $ours --tls
section digests works "$PORT" $ours --tls --hdr-digest --data-digest
section clear gone "$PORT" $ours
section other-name gone "$PORT" -q $another -I $another_identifier --tls --tls_key="0x$serial"
section both works "$PORT_BOTH" $ours --tls --dhchap-secret="$SECRET"
section half gone "$PORT_BOTH" $ours --tls
wrong=$(nvme gen-tls-key --hmac=1 --hostnqn="$host_name" --subsysnqn="$NQN" --secret="$(printf '%064d' 7)")
keyed "$wrong" "$host_name" 1
section wrong gone "$PORT" $ours --tls
keyed "$wrong" "$host_name" 0
section wrong-zeroth gone "$PORT" $ours --tls
keyed "$KEY" "$another" 1
section stranger gone "$PORT" -q $another -I $another_identifier --tls
keyctl clear %:.nvme
section none gone "$PORT" $ours --tls
keyed "$KEY" "$host_name" 1
section again works "$PORT" $ours --tls
}
section daemon cat /tmp/tlshd
section kernel dmesg
