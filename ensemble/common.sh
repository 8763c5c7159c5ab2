# shellcheck shell=bash
# What the scripts here share: messages, the state directory, its lock, waiting, processes, ports, Debian's
# mirror, docker. To be sourced; the script sets state, its state directory.

# Without this a failure inside $(...) would be ignored.
shopt -s inherit_errexit

say() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
}

fail() { # MESSAGE [EXIT_STATUS]
    say "$1"
    exit "${2:-1}"
}

usage_error() {
    fail "$1; see --help" 2
}

# ---- the state directory --------------------------------------------------------------------------
#
# BASE/NAME/driver      docker or local; its presence means that the ensemble exists
# BASE/NAME/ports       twelve ports: of the clients, of the quorum, of the elections, of the clients with TLS
# BASE/NAME/tick        milliseconds
# BASE/NAME/storage     where the data are: memory or disk
# BASE/NAME/tls         exists if the servers have ports with TLS
# BASE/NAME/require     what sessions must show, if anything: certificate, sasl or digest
# BASE/NAME/keys/       what make-keys has made, if one of these two exists
# BASE/NAME/starting    exists until the first start has seen all servers serve
# BASE/NAME/server-N/   what the driver keeps of server N

state_base=${TMPDIR:-/tmp}/zklock-ensemble-$UID

make_private_directory() {
    mkdir -p -m 700 "$1"
    # Another user may have made it first, in a temporary directory that all share.
    [[ -d $1 && -O $1 && ! -L $1 ]] || fail "$1 is not a directory of this user"
}

ensemble_exists() {
    [[ -e $state/driver ]]
}

recall() { # KEY
    cat "$state/$1"
}

record() { # KEY VALUE
    printf '%s\n' "$2" >"$state/$1"
}

client_port() { # N
    local ports
    read -ra ports <"$state/ports"
    printf '%s\n' "${ports[$1 - 1]}"
}

connect_string() {
    local ports
    read -ra ports <"$state/ports"
    printf '127.0.0.1:%s,127.0.0.1:%s,127.0.0.1:%s\n' "${ports[@]:0:3}"
}

secure_connect_string() {
    local ports
    read -ra ports <"$state/ports"
    printf '127.0.0.1:%s,127.0.0.1:%s,127.0.0.1:%s\n' "${ports[@]:9:3}"
}

# ---- the lock -------------------------------------------------------------------------------------
#
# One lock for all ensembles of this user guards what runs and which ports are taken; nothing waits for
# servers while it holds the lock. Its file is the base directory, which the last ensemble removes: what
# was locked must still be the directory of that name.

lock_descriptor=

lock() {
    [[ -z $lock_descriptor ]] || return 0
    while :; do
        make_private_directory "$state_base"
        { exec {lock_descriptor}<"$state_base"; } 2>/dev/null || continue
        if ! flock --timeout 2 "$lock_descriptor"; then
            say 'waiting for another start or stop of this user'
            flock --timeout 900 "$lock_descriptor" || fail 'another start or stop of this user does not end'
        fi
        # The 0 matters: in a trap, where this is called too, a bare return takes the status from before the
        # trap.
        [[ $state_base -ef /proc/$BASHPID/fd/$lock_descriptor ]] && return 0
        unlock
    done
}

unlock() {
    [[ -n $lock_descriptor ]] || return 0
    exec {lock_descriptor}<&-
    lock_descriptor=
}

# ---- waiting --------------------------------------------------------------------------------------

milliseconds() {
    local now=${EPOCHREALTIME/[.,]/}
    printf '%s\n' "${now%???}"
}

# Polls until COMMAND succeeds. Fails if it has not within LIMIT_MS.
wait_until() { # LIMIT_MS COMMAND...
    local deadline=$(($(milliseconds) + $1))
    shift
    until "$@"; do
        (($(milliseconds) < deadline)) || return 1
        sleep 0.03
    done
}

# ---- processes ------------------------------------------------------------------------------------
#
# A process is recorded as PID, start time and boot, because its number may become another's.

boot() {
    cat /proc/sys/kernel/random/boot_id
}

# Prints state and start time of a process.
process_facts() { # PID
    local facts
    { read -r facts <"/proc/$1/stat"; } 2>/dev/null || return 1
    # The command's name, in parentheses, may hold spaces.
    read -ra facts <<<"${facts##*) }"
    printf '%s %s\n' "${facts[0]}" "${facts[19]}"
}

record_process() { # FILE PID
    local facts
    facts=$(process_facts "$2") || return 1
    printf '%s %s %s\n' "$2" "${facts#* }" "$(boot)" >"$1"
}

# Prints PID and state of the process recorded in FILE; fails when it is gone.
recorded_process() { # FILE
    local pid started booted now_state now_started
    { read -r pid started booted <"$1"; } 2>/dev/null || return 1
    [[ $booted == "$(boot)" ]] || return 1
    read -r now_state now_started < <(process_facts "$pid") || return 1
    [[ $now_started == "$started" && $now_state != [ZX] ]] || return 1
    printf '%s %s\n' "$pid" "$now_state"
}

# Closes what a process that outlives its caller has inherited: otherwise a server would keep open
# what the caller closes, for example the connections of a test.
close_inherited_descriptors() {
    local file descriptor
    for file in "/proc/$BASHPID/fd/"*; do
        descriptor=${file##*/}
        ((descriptor < 3)) || exec {descriptor}>&-
    done
}

# ---- ports ----------------------------------------------------------------------------------------

# Prints the ports that a socket uses now, or that an ensemble will use again when its servers come
# back.
ports_in_use() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk '$2 ~ /:/ { sub(/.*:/, "", $2); print "0x" $2 }' | sort -u | xargs printf '%d\n'
    cat "$state_base"/*/ports 2>/dev/null | tr ' ' '\n' || true
}

# Prints twelve free ports in a row. They lie below the range from which the kernel takes the ports of
# outgoing connections, so that none of these occupies the port of a server that is down for a while.
free_ports() {
    local used first port ports attempt
    used=$'\n'$(ports_in_use)$'\n'
    for ((attempt = 0; attempt < 200; attempt++)); do
        first=$((20000 + 12 * (RANDOM % 833)))
        ports=()
        for ((port = first; port < first + 12; port++)); do
            [[ $used != *$'\n'$port$'\n'* ]] || continue 2
            ports+=("$port")
        done
        printf '%s\n' "${ports[*]}"
        return
    done
    fail 'no twelve free ports in a row between 20000 and 30000'
}

# ---- Debian's mirror ------------------------------------------------------------------------------

# Prints the address from which this machine takes the packages of its own release. apt itself reads
# its sources, of either form.
debian_mirror() {
    local codename address
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt expands these
    address=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
        awk -v codename="$codename" '$1 == codename && $2 == "main" { print $3; exit }')
    [[ -n $address ]] || fail "apt's sources name no mirror for '$codename main'"
    printf '%s\n' "$address"
}

# ---- docker ---------------------------------------------------------------------------------------

# Tells whether a docker engine answers. One that hangs must not hang the script.
docker_answers() {
    command -v docker >/dev/null && timeout 5 docker info >/dev/null 2>&1
}

# Sets compose to the command that exists: the plugin of newer dockers, or the older program.
compose=()

find_compose() {
    if docker compose version >/dev/null 2>&1; then
        compose=(docker compose)
    elif command -v docker-compose >/dev/null; then
        compose=(docker-compose)
    else
        return 1
    fi
}
