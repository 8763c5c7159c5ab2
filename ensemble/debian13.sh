# shellcheck shell=bash
# What is taken from Debian 13, on Debian 12 as well: ZooKeeper's jars and its source. To be sourced after common.sh.
#
# apt works on a configuration of its own, in the current directory: the system's stays as it is. apt verifies what
# it fetches. The release file must be signed with a key of Debian's archive; it has the checksums of the lists of
# packages, and they have those of the packages and the source.

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/zklock
archive_keys=/usr/share/keyrings/debian-archive-keyring.gpg
zookeeper_version=3.9.3

# Lists the packages of each KIND (deb, deb-src) in the current directory.
private_apt_update() { # KIND...
    local kind mirror
    [[ -e $archive_keys ]] || fail "$archive_keys is missing; install the package debian-archive-keyring"
    mirror=$(debian_mirror)
    mkdir -p lists/partial archives/partial
    for kind in "$@"; do
        printf '%s [signed-by=%s] %s trixie main\n' "$kind" "$archive_keys" "$mirror"
    done >sources.list
    private_apt update
}

private_apt() {
    apt-get --quiet \
        -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State="$PWD" -o Dir::State::lists="$PWD/lists" -o Dir::State::status=/dev/null \
        -o Dir::Cache="$PWD" -o Dir::Cache::archives="$PWD/archives" \
        -o Acquire::AllowInsecureRepositories=false -o Acquire::AllowWeakRepositories=false \
        -o APT::Get::AllowUnauthenticated=false -o APT::Update::Error-Mode=any \
        -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" "$@"
}

# Prints the directory of ZooKeeper's jars. Fetches them if they are not installed.
zookeeper_jars() {
    if installed_version_will_do; then
        printf '/usr/share/java\n'
        return
    fi
    [[ -e $cache/zookeeper-jars/zookeeper.jar ]] || fetch_jars
    printf '%s\n' "$cache/zookeeper-jars"
}

installed_version_will_do() {
    local version
    version=$(dpkg-query --show --showformat='${Version}' libzookeeper-java 2>/dev/null) || return 1
    dpkg --compare-versions "$version" ge 3.9
}

# Fetches Debian 13's jars, as Debian 12's ZooKeeper hangs writes (ZOOKEEPER-4537). The package is only
# unpacked, never installed.
fetch_jars() (
    say "fetching ZooKeeper's jars of Debian 13 (once)"
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/fetch.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    if ! { private_apt_update deb && private_apt download libzookeeper-java; } >log 2>&1; then
        cat log >&2
        fail "cannot fetch Debian 13's libzookeeper-java from this machine's mirror"
    fi
    dpkg-deb -x libzookeeper-java_*.deb unpacked
    # By one rename, so that no other start sees half of it.
    mv -T unpacked/usr/share/java "$cache/zookeeper-jars"
)

# Leaves ZooKeeper's source in the directory source. A caller of it runs in build_once.
fetch_zookeeper_source() {
    local fetched
    private_apt_update deb-src
    private_apt source --download-only zookeeper
    fetched=$(sed -n 's/^Version: //p' ./*.dsc)
    [[ $fetched == "$zookeeper_version"-* ]] || fail "Debian 13 has ZooKeeper $fetched, and not $zookeeper_version"
    # apt has compared the checksums; it trusts the archive's signature, not the maintainer's, whose key is not here.
    dpkg-source --no-check --extract ./*.dsc source
}

# Names what a build from that source depends on: its version, the FILES that say how it is built, and the libraries
# of the release and the machine.
build_key() { # FILE...
    local release sum
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && printf '%s%s' "$ID" "${VERSION_ID:-}")
    sum=$(cat "$@" | sha256sum)
    printf '%s-%s-%s-%s\n' "$zookeeper_version" "$release" "$(dpkg --print-architecture)" "${sum:0:12}"
}

# Has COMMAND build WHAT in a directory of its own, where it leaves the directory result, which becomes DIRECTORY.
build_once() ( # DIRECTORY WHAT COMMAND...
    say "building $2 (once)"
    mkdir -p "${1%/*}"
    work=$(mktemp -d "${1%/*}/build.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    # Not in a condition, where the shell would pass over its failures.
    set +e
    (set -e && "${@:3}") >log 2>&1
    status=$?
    set -e
    if ((status != 0)); then
        tail -n 40 log >&2
        fail "cannot build $2"
    fi
    # By one rename; whoever else built it meanwhile has built the same.
    mv -T result "$1" 2>/dev/null || [[ -e $1 ]]
)

require_commands() { # GROUP COMMAND...
    local command
    for command in "${@:2}"; do
        command -v "$command" >/dev/null || fail "no $command on PATH; run: tools/install-packages $1"
    done
}
