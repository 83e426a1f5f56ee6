#!/usr/bin/env bash
# Everything there is to hand out, into out/dist: binary, .deb, .rpm, wheel, source, checksums.
# Use: packaging/dist.sh                  (Debian or Ubuntu on x86_64; `make dist` installs what it needs)
# ANABRANCH_PROFILE=dev packages a development build in place of a release, to try out the packing.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
target=${CARGO_TARGET_DIR:-target}
profile=${ANABRANCH_PROFILE:-release}
out=out/dist
summary="What would every placement of your application's writes cost the SSD?"
description="Runs a program unmodified on an emulated multi-stream or FDP drive, tells by eBPF which path of calls
caused each block write, and sends the same writes through every published placement scheme."
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is installed, below $1; the places of zsh's completions differ between distributions ($2).
lay_out() {
    local root=$1 zsh=$2
    install -D --mode 755 "$binary" "$root/usr/bin/anabranch"
    "$binary" man "$root/usr/share/man/man1"
    gzip -9 --no-name "$root"/usr/share/man/man1/*.1
    mkdir -p "$root/usr/share/bash-completion/completions" "$root/$zsh" "$root/usr/share/fish/vendor_completions.d"
    "$binary" completions bash >"$root/usr/share/bash-completion/completions/anabranch"
    "$binary" completions zsh >"$root/$zsh/_anabranch"
    "$binary" completions fish >"$root/usr/share/fish/vendor_completions.d/anabranch.fish"
    install -D --mode 644 --target-directory "$root/usr/lib/systemd/system" packaging/anabranch-steer@.service \
        packaging/anabranch-steer.target packaging/anabranch-watch.service packaging/anabranch-record@.service
    install -D --mode 644 --target-directory "$root/usr/lib/udev/rules.d" packaging/61-anabranch.rules
    local verb
    for verb in watch steer; do
        install -D --mode 644 "packaging/anabranch-$verb.grafana.json" "$root/usr/share/anabranch/grafana/anabranch-$verb.json"
        install -D --mode 644 --target-directory "$root/usr/share/anabranch/prometheus" "packaging/anabranch-$verb.rules.yml"
    done
    install -D --mode 644 packaging/anabranch-watch.kubernetes.yaml "$root/usr/share/anabranch/kubernetes/anabranch-watch.yaml"
    install -D --mode 644 --target-directory "$root/usr/share/doc/anabranch" README.md CHANGELOG.md LICENSE LICENSE-APACHE LICENSE-MIT
}

# The newest C library whose symbols the binary asks for.
c_library() {
    objdump -T "$binary" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort --version-sort | tail -n 1
}

make_tarball() {
    local name=anabranch-$version-x86_64-linux
    lay_out "$work/$name.tree" usr/share/zsh/site-functions
    mkdir "$work/$name"
    cp -r "$work/$name.tree/usr/." "$work/$name"
    tar -C "$work" --sort name --owner 0 --group 0 --numeric-owner -czf "$out/$name.tar.gz" "$name"
}

make_deb() {
    local root=$work/deb
    lay_out "$root" usr/share/zsh/vendor-completions
    mv "$root/usr/share/doc/anabranch/LICENSE" "$root/usr/share/doc/anabranch/copyright"
    mkdir "$root/DEBIAN"
    {
        printf 'Package: anabranch\nVersion: %s\nArchitecture: amd64\nSection: utils\nPriority: optional\n' "$version"
        printf 'Maintainer: The Anabranch developers <anabranch@localhost>\nDepends: libc6 (>= %s), libgcc-s1\n' "$(c_library)"
        printf 'Recommends: e2fsprogs\nSuggests: xfsprogs, fio\nInstalled-Size: %s\n' "$(du -sk "$root/usr" | cut -f 1)"
        printf 'Description: %s\n' "$summary"
        # shellcheck disable=SC2001 # each line by itself
        sed 's/^/ /' <<<"$description"
    } >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out/anabranch_${version}_amd64.deb" >/dev/null
}

make_rpm() {
    local root=$work/rpm
    lay_out "$root" usr/share/zsh/site-functions
    {
        printf 'Name: anabranch\nVersion: %s\nRelease: 1\nSummary: %s\n' "$version" "$summary"
        printf 'License: (Apache-2.0 OR MIT) AND GPL-2.0-only\nRecommends: e2fsprogs\n%%description\n%s\n' "$description"
        printf '%%install\ncp -a %s/. %%{buildroot}\n%%files\n' "$root"
        (cd "$root" && find usr -type f -printf '/%p\n')
    } >"$work/anabranch.spec"
    # As it is: nothing is compressed, stripped or renamed by the distribution that packs it.
    rpmbuild --quiet -bb --target x86_64 --define "_topdir $work/rpmbuild" --define "_rpmdir $PWD/$out" \
        --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' --define '__os_install_post %{nil}' \
        --define 'debug_package %{nil}' --define '_build_id_links none' "$work/anabranch.spec"
}

make_source() {
    git archive --prefix "anabranch-$version/" --output "$out/anabranch-$version-source.tar.gz" HEAD
}

make_wheel() {
    target/venv-dist/bin/maturin build --profile "$profile" --strip --out "$work/wheel"
    python3 packaging/wheel-command.py "$work"/wheel/*.whl "$binary" "$out"
}

# libelf and zlib are found where the C compiler finds them, and OpenSSL beside them.
LIBBPF_SYS_LIBRARY_PATH=$(dirname "$(cc -print-file-name=libelf.a)")
export LIBBPF_SYS_LIBRARY_PATH
export OPENSSL_STATIC=1 OPENSSL_LIB_DIR=$LIBBPF_SYS_LIBRARY_PATH OPENSSL_INCLUDE_DIR=/usr/include
cargo build --locked --profile "$profile" --package anabranch --features static
built=$target/${profile/#dev/debug}/anabranch
binary=$work/anabranch
strip --strip-all -o "$binary" "$built"
make_tarball
make_deb
make_rpm
make_source
make_wheel
(cd "$out" && sha256sum -- * >SHA256SUMS)
du -h --apparent-size "$out"/*
