# shellcheck shell=bash
# Completion for bash: subcommands, options, and the names of resources and nodes, from the servers.
# Where the root is open anybody may have made these names. So they are only data here: nothing expands or evaluates
# one (compgen -W would run a command that is in it), and what is inserted is quoted.

# Splits a line into words as the shell does, and expands nothing. Sets `words`, of which the last may be empty; `start`,
# where that begins; and `quote`, the one that is open at the end. Returns 1 where only an expansion could tell.
_zklock_split() { # LINE
    local line=$1 word='' in_word='' character i
    words=() quote='' start=0
    for ((i = 0; i < ${#line}; i++)); do
        character=${line:i:1}
        [[ -n $in_word || $character == [[:blank:]] ]] || start=$i in_word=yes
        if [[ $character == "$quote" ]]; then
            quote=''
        elif [[ $quote == "'" ]]; then
            word+=$character
        elif [[ $character == [\$\`] || (-z $quote && $character == [\;\&\|\<\>\(\)$'\n']) ]]; then
            return 1
        elif [[ $character == \\ && (-z $quote || ${line:i+1:1} == [\$\`\"\\]) ]]; then
            ((++i < ${#line})) || return 1
            word+=${line:i:1}
        elif [[ -z $quote && $character == [\'\"] ]]; then
            quote=$character
        elif [[ -z $quote && $character == [[:blank:]] ]]; then
            [[ -z $in_word ]] || words+=("$word")
            word='' in_word='' start=$((i + 1))
        else
            word+=$character
        fi
    done
    words+=("$word")
}

# Reads what may be given from the help, so that it is never another than the command has. Sets `options`; `takes`, what
# the value of each is; and `is_setting`.
_zklock_read_help() { # SUBCOMMAND
    local line name letter is_of_all=''
    while IFS= read -r line; do
        [[ $line != 'Each setting '* ]] || is_of_all=yes
        [[ $line =~ ^\ \ (-.|\ \ )[,\ ]\ (--[a-z-]+)\ ?([A-Z]*)\  ]] || continue
        letter=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
        options+=("$name")
        takes[$letter]=${BASH_REMATCH[3]}
        takes[$name]=${BASH_REMATCH[3]}
        [[ -z $is_of_all && $name != --config ]] || is_setting[$name]=yes
    done < <({
        zklock "$1" --help
        zklock help settings
    } 2>/dev/null)
}

# Reads `words` up to the current one. Sets `operands`; `settings`, so that the same servers are asked; `value_of`, if the
# current word is the value of an option; and `may_be_option`.
_zklock_read_words() {
    local i word
    for ((i = 2; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $may_be_option && $word == -- ]]; then
            may_be_option='' is_literal=yes
        elif [[ $may_be_option && $word == -?* ]]; then
            [[ ! ${is_setting[${word%%=*}]-} ]] || settings+=("$word")
            [[ ${takes[$word]-} ]] || continue
            ((++i < ${#words[@]} - 1)) || value_of=$word
            [[ ! ${is_setting[$word]-} || $value_of ]] || settings+=("${words[i]}")
        elif [[ $word != -- || ${#operands[@]} -ne 1 ]]; then
            operands+=("$word")
            [[ ${words[1]} =~ ^(run|once|hold|wait|observe|status)$ && ${#operands[@]} -eq 1 && ! $is_literal ]] || may_be_option=''
        fi
    done
}

# Offers those names that begin with the current word. Readline replaces only what follows `kept`. What cannot be written
# inside the quote that is open is not offered; nor what would be taken for an option, without a -- before it.
_zklock_offer() { # NAME...
    local name rest quoted
    for name in "$@"; do
        rest=${name:${#kept}}
        printf -v quoted %q "$rest"
        if [[ -z $name || $name != "$current"* || ($may_be_option && $name == -* && $current != -*) ]]; then
            continue
        elif [[ -z $quote ]]; then
            [[ $quoted != \$* ]] || quoted=${quoted//'!'/'\041'}
            COMPREPLY+=("$quoted")
        elif [[ $quote == "'" && $rest != *[[:cntrl:]\']* || $quote == '"' && $rest != *[[:cntrl:]\"\\\$\`!]* ]]; then
            COMPREPLY+=("$rest")
        fi
    done
}

_zklock_offer_names() { # ARGUMENT... of zklock
    local names=()
    mapfile -d '' -t names < <(timeout 3 zklock "$@" 2>/dev/null)
    _zklock_offer "${names[@]}"
}

_zklock_offer_lines() {
    local lines=()
    mapfile -t lines
    _zklock_offer "${lines[@]}"
}

_zklock_offer_subcommands() { # WORD beside them
    _zklock_offer_lines < <(zklock --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p' && echo "$1")
}

_zklock_complete() { # from `words`, `quote`, `current` and `kept`
    local options=() settings=() operands=() value_of='' may_be_option=yes is_literal=''
    local -A takes=() is_setting=()
    if ((${#words[@]} == 2)); then
        _zklock_offer_subcommands help
        return
    elif [[ ${#words[@]} -eq 3 && ${words[1]} == help ]]; then
        _zklock_offer_subcommands settings
        return
    fi
    _zklock_read_help "${words[1]}"
    _zklock_read_words
    if [[ $value_of ]]; then
        [[ ${takes[$value_of]} != RESOURCE ]] || _zklock_offer_names ls -0 "${settings[@]}" --log none
    elif [[ $may_be_option && $current == -* ]]; then
        _zklock_offer "${options[@]}"
    elif [[ ${#operands[@]} -eq 0 && ${words[1]} =~ ^(run|once|hold|wait|observe|status|revoke|break)$ ]]; then
        _zklock_offer_names ls -0 "${settings[@]}" --log none
    elif [[ ${#operands[@]} -eq 1 && ${words[1]} =~ ^(revoke|break)$ ]]; then
        _zklock_offer_names status -0 "${settings[@]}" --log none -- "${operands[0]}"
    elif [[ ${#operands[@]} -eq 1 && ${words[1]} =~ ^(run|once)$ ]]; then
        _zklock_offer_lines < <(compgen -c -- "$current")
    fi
}

# Nothing offered means names of files, which readline quotes itself.
_zklock() { # COMMAND WORD: the part of the current word that readline is to replace
    local line=${COMP_LINE:0:COMP_POINT} words=() quote='' start=0 current kept of_line
    COMPREPLY=()
    _zklock_split "$line" && [[ ${line:start} == *"$2" ]] || return 0
    of_line=("${words[@]}")
    line=${line:start}
    _zklock_split "${line%"$2"}"
    kept=${words[0]} words=("${of_line[@]}")
    current=${words[${#words[@]} - 1]}
    _zklock_complete
}

complete -o default -F _zklock zklock
