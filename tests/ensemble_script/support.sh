# shellcheck shell=bash
# What the tests of the script share: a place of their own, checks, and the script itself. To be sourced, with driver set.

# Names and a temporary directory of its own: nobody's ensemble is touched, and what stays is seen.
work=$(mktemp -d)
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
memory=$(mktemp -d /dev/shm/zklock-script-test.XXXXXX)
export ZKLOCK_MEMORY=$memory
unset ZKLOCK_TICK_MS
script=$here/../../ensemble/ensemble
first=script-test-$$
second=script-test-$$-b
bystander=

finish() {
    local status=$? name
    trap - EXIT
    for name in "$first" "$second"; do
        "$script" --name "$name" stop >/dev/null 2>&1 || true
    done
    [[ -z $bystander ]] || kill "$bystander" 2>/dev/null || true
    rm -rf "$work" "$memory"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- helpers --------------------------------------------------------------------------------------

passed=0
failed=0

check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        printf 'ok    %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s: %s\n' "$name" "$*"
        sed 's/^/          /' "$work/stderr" || true
    fi
}

summary() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

# Without servers every later check would fail, and say nothing new.
check_start() {
    check 'start' ensemble start
    if ((failed > 0)) && [[ ! -s $work/stdout ]]; then
        summary
        exit 1
    fi
    hosts=$(cat "$work/stdout")
}

# Runs the script on the first ensemble; what it says goes to files.
ensemble() {
    "$script" "--$driver" --name "$first" "$@" >"$work/stdout" 2>"$work/stderr"
}

ensemble_b() {
    "$script" "--$driver" --name "$second" "$@" >"$work/stdout" 2>"$work/stderr"
}

exits_with() { # STATUS COMMAND...
    local expected=$1 status=0
    shift
    "$@" || status=$?
    [[ $status == "$expected" ]]
}

milliseconds() {
    local now=${EPOCHREALTIME/[.,]/}
    printf '%s\n' "${now%???}"
}

within() { # SECONDS COMMAND...
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

says() { # TEXT
    grep -qF -e "$1" "$work/stderr"
}

prints() { # REGULAR_EXPRESSION of all of it
    [[ $(cat "$work/stdout") =~ ^$1$ ]]
}

temporary_directory_is_empty() {
    [[ -z $(ls -A "$TMPDIR") && -z $(ls -A "$memory") ]]
}
