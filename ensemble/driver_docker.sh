# shellcheck shell=bash
# The docker driver: three containers of docker-compose.yml. To be sourced by the script after common.sh.
#
# state/server-N/container   the id of its container
#
# compose makes the containers. After that this script asks the engine directly, which is much
# faster.

image=zklock-zookeeper
base_image=debian:trixie-slim
project=zklock-$UID-$name

driver_prepare() {
    docker_answers || fail 'no docker engine answers; start it, or try ensemble/docker-engine start'
    find_compose || fail 'no docker compose; run: tools/install-packages ensemble-docker'
    provide_base_image
    build_image
}

# ---- images ---------------------------------------------------------------------------------------

provide_base_image() {
    docker image inspect "$base_image" >/dev/null 2>&1 && return
    say "pulling $base_image (once)"
    timeout 20 docker pull --quiet "$base_image" >/dev/null 2>&1 && return
    make_base_image
}

# If no registry can be reached, the machine's package mirror still can.
make_base_image() ( # in a subshell, for its trap
    ((EUID == 0)) || fail "cannot pull $base_image, and making it needs root"
    command -v debootstrap >/dev/null || fail 'no debootstrap; run: tools/install-packages ensemble-docker'
    say "no registry answers: making $base_image with debootstrap (once, half a minute)"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if ! debootstrap --variant=minbase trixie "$work/root" "$(debian_mirror)" >"$work/log" 2>&1; then
        tail -n 20 "$work/log" >&2
        fail "debootstrap cannot make $base_image"
    fi
    rm -rf "$work"/root/var/cache/apt/archives/*.deb
    tar -C "$work/root" -c . | docker import --change 'CMD ["bash"]' - "$base_image" >/dev/null
)

# Builds the image each time: if nothing has changed the engine's cache answers at once.
build_image() {
    local log
    docker image inspect "$image" >/dev/null 2>&1 || say "building $image (once, a minute)"
    if ! log=$(docker build --tag "$image" "$here" 2>&1); then
        tail -n 30 <<<"$log" >&2
        fail "cannot build $image"
    fi
}

# ---- containers -----------------------------------------------------------------------------------

container() { # N
    recall "server-$1/container"
}

containers() { # N...
    local number
    for number in "$@"; do
        container "$number"
    done
}

driver_status() { # N
    local status
    if ! status=$(docker inspect --format '{{.State.Status}}' "$(container "$1")" 2>/dev/null); then
        docker_answers || fail "the docker engine of ensemble '$name' does not answer; start it again"
    fi
    case $status in
    running | paused) printf '%s\n' "$status" ;;
    *) printf 'down\n' ;;
    esac
}

# ---- what the script calls ------------------------------------------------------------------------

driver_create() {
    local log number
    # An ensemble whose state directory is gone may have left these.
    driver_destroy
    if [[ $storage == memory ]] && ! log=$(compose_up); then
        printf '%s\n' "$log" >&2
        say 'data go to the disk: the servers cannot be started with volumes in memory'
        storage=disk
        record storage disk
        driver_destroy
    fi
    if [[ $storage == disk ]] && ! log=$(compose_up); then
        printf '%s\n' "$log" >&2
        fail 'compose cannot start the servers'
    fi
    for number in 1 2 3; do
        record "server-$number/container" "$(ours ps --all --no-trunc \
            --filter "label=com.docker.compose.service=zk$number")"
    done
}

compose_up() {
    local ports files=(--file "$here/../docker-compose.yml")
    read -ra ports <"$state/ports"
    [[ $storage == disk ]] || files+=(--file "$here/memory.yml")
    ZKLOCK_TICK_MS=$(recall tick) \
        ZKLOCK_PORT_1=${ports[0]} ZKLOCK_PORT_2=${ports[1]} ZKLOCK_PORT_3=${ports[2]} \
        "${compose[@]}" --project-name "$project" "${files[@]}" up -d --no-build 2>&1
}

driver_start() { # N...
    docker_quietly start "$@"
}

driver_stop() { # N...
    local number
    for number in "$@"; do
        # A paused container takes no signal.
        [[ $(driver_status "$number") != paused ]] || driver_resume "$number"
    done
    docker_quietly 'stop --time 10' "$@"
}

driver_kill() { # N...
    docker_quietly kill "$@"
}

driver_pause() { # N...
    docker_quietly pause "$@"
}

driver_resume() { # N...
    docker_quietly unpause "$@"
}

docker_quietly() { # VERB N...
    local log verb=$1
    shift
    # shellcheck disable=SC2046,SC2086 # a verb with its options; ids hold no spaces
    log=$(docker $verb $(containers "$@") 2>&1) || fail "docker $verb: $log"
}

# Runs a command with the rights that docker-compose.yml adds, and that the server itself does not
# have.
as_root_inside() { # N COMMAND...
    local id log
    id=$(container "$1")
    shift
    log=$(docker exec --user root "$id" "$@" 2>&1) || fail "$1: $log"
    printf '%s\n' "$log"
}

# The server is the first process of its container.
driver_slow_disk() { # N MS
    as_root_inside "$1" /opt/zklock/slow-disk /tmp 1 "$2" >/dev/null
}

# Cuts or mends the links of a server. The interface of the peers' network keeps its address while it
# is down, so nothing else has to be restored; clients use another interface. A container that starts
# again has all its links.
driver_links() { # N down|up
    local address interface
    address=$(docker inspect --format "{{(index .NetworkSettings.Networks \"${project}_peers\").IPAddress}}" \
        "$(container "$1")")
    interface=$(as_root_inside "$1" ip -oneline -4 address show to "$address" | awk '{ print $2 }')
    as_root_inside "$1" ip link set dev "$interface" "$2" >/dev/null
}

driver_can() { # VERB
    :
}

# Reads a server's data as an archive of the directory version-2. The server is down: another container has
# its volume for a moment.
driver_read_data() { # N
    with_data_of "$1" 'tar --sparse -c version-2'
}

driver_write_data() { # N
    with_data_of "$1" 'rm -rf version-2 && tar -x'
}

with_data_of() { # N SHELL_COMMAND
    docker run --rm --interactive --network none --volumes-from "$(container "$1")" --workdir /data/data \
        --label "com.docker.compose.project=$project" --entrypoint bash "$image" -c "$2"
}

# Removes everything with the project's label. Fails if something stays.
driver_destroy() {
    local log
    # shellcheck disable=SC2046 # ids hold no spaces
    if ! log=$({
        ours ps --all | xargs --no-run-if-empty docker rm --force --volumes
        ours network ls | xargs --no-run-if-empty docker network rm
        ours volume ls | xargs --no-run-if-empty docker volume rm
    } 2>&1); then
        fail "cannot remove the containers of ensemble '$name': $log"
    fi
}

# Prints the ids of what belongs to this ensemble.
ours() { # DOCKER_COMMAND...
    docker "$@" --quiet --filter "label=com.docker.compose.project=$project"
}

driver_log() { # N
    docker logs --tail 20 "$(container "$1")"
}
