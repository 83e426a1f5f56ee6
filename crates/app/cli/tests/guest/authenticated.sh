# DH-HMAC-CHAP by the kernel: drives at PORT, PORT_384 and PORT_512, whose secrets are SECRET, SECRET_384, SECRET_512, the drives' own OWN.
# shellcheck disable=SC2086 # words
{
section one-way works "$PORT" $ours --dhchap-secret="$SECRET"
section mutual works "$PORT" $ours --dhchap-secret="$SECRET" --dhchap-ctrl-secret="$OWN"
section sha384 works "$PORT_384" $ours --dhchap-secret="$SECRET_384" --dhchap-ctrl-secret="$OWN"
section sha512 works "$PORT_512" $ours --dhchap-secret="$SECRET_512"
section wrong gone "$PORT" $ours --dhchap-secret="$OWN"
section none gone "$PORT" $ours
section wrong-drive gone "$PORT" $ours --dhchap-secret="$SECRET" --dhchap-ctrl-secret="$SECRET"
section no-drive-secret gone "$PORT_512" $ours --dhchap-secret="$SECRET_512" --dhchap-ctrl-secret="$OWN"
section stranger gone "$PORT" -q nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001 \
    -I 00000000-0000-4000-8000-000000000001 --dhchap-secret="$SECRET"
section again works "$PORT" $ours --dhchap-secret="$SECRET"
}
section kernel dmesg
