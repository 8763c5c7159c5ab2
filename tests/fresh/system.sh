# shellcheck shell=bash
# Bare Debian systems below a directory, for tests/fresh and packaging/run. To be sourced, after ensemble/common.sh.

# Runs COMMAND as the first process of namespaces of its own: what it starts and mounts ends with this script, whatever
# ends it. PLACE, which one run has at a time, is emptied before, and removed afterwards.
in_namespaces() { # PLACE COMMAND...
    namespaces_place=$1
    namespaces=
    mkdir -p "${1%/*}"
    exec {namespaces_lock}>"$1.lock"
    flock --nonblock "$namespaces_lock" || fail "$1 is another run's"
    trap leave_namespaces EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    rm -rf --one-file-system "$namespaces_place" # of a run that was killed
    mkdir -p "$namespaces_place"
    setpriv --pdeathsig KILL unshare --mount-proc --pid --fork --kill-child "${@:2}" &
    namespaces=$!
    wait "$namespaces"
}

leave_namespaces() {
    local status=$?
    trap - EXIT INT TERM
    [[ -z $namespaces ]] || kill -KILL "$namespaces" 2>/dev/null || true
    wait
    rm -rf --one-file-system "$namespaces_place"
    exit "$status"
}

# debootstrap's minbase, from this machine's mirror.
make_system() { # CODENAME SYSTEM
    say "making a bare Debian, $1"
    if ! debootstrap --variant=minbase "$1" "$2" "$(debian_mirror)" >"$2.log" 2>&1; then
        tail -n 20 "$2.log" >&2
        fail 'debootstrap cannot make it'
    fi
    echo '127.0.0.1 localhost' >"$2/etc/hosts"
}

# As they are in a container.
mount_devices() { # SYSTEM
    local device
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys"
    mount -t tmpfs -o mode=755 devices "$1/dev"
    for device in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
        # shellcheck disable=SC2086 # three words
        mknod -m 666 "$1/dev/"${device/ / c }
    done
    ln -s /proc/self/fd /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 "$1/dev"
    (cd "$1/dev" && mv 0 stdin && mv 1 stdout && mv 2 stderr && ln -s pts/ptmx ptmx && mkdir pts shm)
    mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 terminals "$1/dev/pts"
    mount -t tmpfs shared "$1/dev/shm"
}

# In a shell of its own, without this machine's settings.
in_system() { # SYSTEM COMMANDS [NAME=VALUE...]
    chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} "${@:3}" bash -euo pipefail -c "$2"
}
