# shellcheck shell=bash
# The local driver: three java processes. To be sourced by the script after common.sh.
#
# state/jars               the directory of ZooKeeper's jars
# state/server-N/process   its process
# state/server-N/log       what it wrote
# state/server-N/zoo.cfg, data
# state/memory             the directory in memory that holds the data; data are links into it then

# shellcheck source-path=SCRIPTDIR source=debian13.sh
source "$here/debian13.sh"

driver_prepare() {
    command -v java >/dev/null || fail 'no java on PATH; run: tools/install-packages ensemble-local'
    jars=$(zookeeper_jars)
    class_path "$jars" ${tls:+tls} >/dev/null || exit 1
    if [[ $storage == memory ]] && ! memory_will_do; then
        say "data go to the disk: $memory_base is no tmpfs of this machine with $memory_room_mb MB of room"
        storage=disk
    fi
}

# ---- data in memory ---------------------------------------------------------------------------------

# A tmpfs of our own would need the right to mount one.
memory_base=${ZKLOCK_MEMORY:-/dev/shm}
# Three servers write some hundred megabytes in an hour of tests.
memory_room_mb=2048

memory_will_do() {
    local kind free_mb
    [[ -d $memory_base && -w $memory_base ]] || return 1
    kind=$(stat --file-system --format=%T "$memory_base") || return 1
    free_mb=$(df --output=avail --block-size=1M "$memory_base" | tail -n 1) || return 1
    [[ $kind == tmpfs ]] && ((free_mb >= memory_room_mb))
}

put_data_into_memory() {
    local directory number
    directory=$(mktemp -d "$memory_base/zklock-ensemble-$UID.XXXXXX")
    record memory "$directory"
    for number in 1 2 3; do
        mkdir "$directory/$number"
        ln -s "$directory/$number" "$state/server-$number/data"
    done
}

# ---- servers --------------------------------------------------------------------------------------

driver_status() { # N
    local pid process_state
    if ! read -r pid process_state < <(recorded_process "$state/server-$1/process"); then
        printf 'down\n'
    elif [[ $process_state == [Tt] ]]; then
        printf 'paused\n'
    else
        printf 'running\n'
    fi
}

status_is() { # N STATUS
    [[ $(driver_status "$1") == "$2" ]]
}

signal() { # SIGNAL N...
    local sort=$1 number pid
    shift
    for number in "$@"; do
        if read -r pid _ < <(recorded_process "$state/server-$number/process"); then
            kill -"$sort" "$pid" 2>/dev/null || true
        fi
    done
}

wait_for_status() { # LIMIT_MS STATUS N...
    local limit=$1 status=$2 number
    shift 2
    for number in "$@"; do
        wait_until "$limit" status_is "$number" "$status" || return 1
    done
}

# ---- what the script calls ------------------------------------------------------------------------

driver_create() {
    record jars "$jars"
    [[ $storage != memory ]] || put_data_into_memory
    driver_start 1 2 3
}

driver_start() { # N...
    local number
    for number in "$@"; do
        spawn "$number"
    done
}

spawn() { # N
    local ports directory=$state/server-$1 pid secure_address='' require=''
    read -ra ports <"$state/ports"
    mkdir -p "$directory"
    [[ ! -e $state/tls ]] || secure_address=127.0.0.1:${ports[$1 + 8]}
    [[ ! -e $state/require ]] || require=$(recall require)
    # The server gets a session of its own: an interrupt from the terminal is for the script only.
    pid=$(
        close_inherited_descriptors
        ZKLOCK_JARS=$(recall jars) ZKLOCK_KEYS=$state/keys ZKLOCK_SECURE_ADDRESS=$secure_address \
            ZKLOCK_REQUIRE=$require setsid "$here/server" "$1" "$directory" "$(recall tick)" \
            "127.0.0.1:${ports[$1 - 1]}" \
            "127.0.0.1:${ports[3]}:${ports[6]}" \
            "127.0.0.1:${ports[4]}:${ports[7]}" \
            "127.0.0.1:${ports[5]}:${ports[8]}" \
            </dev/null >>"$directory/log" 2>&1 &
        printf '%s\n' "$!"
    )
    record_process "$directory/process" "$pid" || fail "server $1 ended at once; see $directory/log"
}

driver_stop() { # N...
    signal TERM "$@"
    # A paused server gets the signal when it continues.
    signal CONT "$@"
    wait_for_status 10000 down "$@" || driver_kill "$@"
}

driver_kill() { # N...
    signal KILL "$@"
    wait_for_status 10000 down "$@" || fail "server $* does not end after SIGKILL"
}

driver_pause() { # N...
    signal STOP "$@"
    wait_for_status 5000 paused "$@" || fail "server $* does not stop after SIGSTOP"
}

driver_resume() { # N...
    signal CONT "$@"
    wait_for_status 5000 running "$@" || fail "server $* does not go on after SIGCONT"
}

driver_slow_disk() { # N MS
    local pid
    read -r pid _ < <(recorded_process "$state/server-$1/process") || fail "server $1 is down"
    "$here/slow-disk" "$state/server-$1" "$pid" "$2"
}

# Tells what this driver can do: anything but cut links, which between processes that share one
# network stack needs the machine's firewall.
driver_can() { # VERB
    [[ $1 != cut && $1 != mend ]]
}

# Reads a server's data as an archive of the directory version-2. The logs' files are long and empty
# at their end.
driver_read_data() { # N
    tar -C "$state/server-$1/data" --sparse -c version-2
}

driver_write_data() { # N
    rm -rf "$state/server-$1/data/version-2"
    tar -C "$state/server-$1/data" -x
}

# Kills the servers: their data goes too, so a graceful end would gain nothing.
driver_destroy() {
    driver_kill 1 2 3
    [[ ! -e $state/memory ]] || rm -rf "$(recall memory)"
}

driver_log() { # N
    cat "$state/server-$1/log"
}
