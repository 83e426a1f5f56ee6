# Debian's packages without installing any: for scripts/guest.sh and scripts/suites.sh, which source this.

# apt configuration of our own in DIRECTORY: the system's own source of packages (main alone), its suite's name changed to each of SUITEs.
# Use: private_apt DIRECTORY "deb" | "deb deb-src" SUITE...     (fail is the caller's)
private_apt() {
    local work=$1 types=$2 etc=$1/etc codename line suite
    shift 2
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") ||
        fail "it is made of Debian's packages; this system is no Debian"
    mkdir -p "$etc" "$work/lists/partial" "$work/archives/partial"
    : >"$work/status"
    # One of the two forms of the system's own lines.
    { cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | awk -v RS= -v suite="$codename" -v wanted="$*" -v types="$types" '
        $0 ~ "Suites:([^\n]*[ \t])?" suite "([ \t\n]|$)" && !found++ {
            sub(/Types:[^\n]*/, "Types: " types); sub(/Suites:[^\n]*/, "Suites: " wanted); sub(/Components:[^\n]*/, "Components: main")
            print }' >"$etc/packages.sources"
    if [ ! -s "$etc/packages.sources" ]; then
        rm "$etc/packages.sources"
        line=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | sed -n "s/^deb \(.*\) $codename main.*/\1/p" | head -n 1)
        [ -n "$line" ] || fail "apt knows no source of $codename's packages"
        for suite in "$@"; do printf "%s $line $suite main\n" $types; done >"$etc/packages.list"
    fi
    cat >"$work/apt.conf" <<CONF
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$etc";
Dir::State::Lists "$work/lists";
Dir::State::Status "$work/status";
Dir::Cache::Archives "$work/archives";
APT::Sandbox::User "$(id -un)";
APT::Update::Post-Invoke "";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Debug::NoLocking "true";
CONF
}

# Unpacks a package into TREE. Unpacked alone, a system whose /lib is a link into /usr may lose the link: merge_usr makes it again.
unpack_package() {
    dpkg-deb --fsys-tarfile "$2" | tar -x -C "$1" --keep-directory-symlink
}

merge_usr() {
    local tree=$1 name
    for name in lib lib64 bin sbin; do
        [ -L "$tree/$name" ] || [ ! -d "$tree/$name" ] || { cp -a "$tree/$name/." "$tree/usr/$name/"; rm -r "${tree:?}/$name"; }
        [ -e "$tree/$name" ] || ln -s "usr/$name" "$tree/$name"
    done
}
