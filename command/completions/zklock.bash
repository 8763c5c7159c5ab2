# Completion for bash: subcommands, options, and the names of resources and nodes, from the servers.
# What an option offers is read from --help, so that it is never another than the command has.

_zklock_resources() {
    timeout 3 zklock ls "${settings[@]}" 2>/dev/null | sed 's/^ *[0-9]*  //'
}

_zklock_nodes() { # RESOURCE
    timeout 3 zklock status "${settings[@]}" "$1" 2>/dev/null | awk '/^          / && $1 != "token" { print $1 }'
}

_zklock_options() { # SUBCOMMAND
    { zklock "$1" --help; zklock help settings; } 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u
}

# The settings that were typed, so that the same servers are asked; and the other words behind the subcommand.
_zklock_read_line() {
    local i word
    settings=()
    operands=()
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --hosts | --lock-root | --config | --credentials-file | --connect-timeout)
            settings+=("$word" "${COMP_WORDS[i + 1]-}")
            ((i++))
            ;;
        -*) ;;
        *) operands+=("$word") ;;
        esac
    done
}

_zklock() {
    local current=${COMP_WORDS[COMP_CWORD]} settings=() operands=()
    local subcommand=${COMP_WORDS[1]-}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(zklock --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p') help" -- "$current")
        return
    fi
    _zklock_read_line
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_zklock_options "$subcommand")" -- "$current")
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --*file || ${COMP_WORDS[COMP_CWORD - 1]} == --config ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif ((${#operands[@]} == 0)) && [[ $subcommand =~ ^(run|once|status|revoke|break)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_zklock_resources)" -- "$current")
    elif ((${#operands[@]} == 1)) && [[ $subcommand =~ ^(revoke|break)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_zklock_nodes "${operands[0]}")" -- "$current")
    elif [[ $subcommand =~ ^(run|once)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
}

complete -o default -F _zklock zklock
