# Completion for fish: subcommands, options, and the names of resources and nodes, from the servers.
# Where the root is open anybody may have made these names. They are only data here, and fish quotes them.

# Prints the names, a line each. Left out is what fish would cut (at a tab, a newline) or expand (a ~ at the beginning); and
# what would be taken for an option, if there is no -- before.
function __zklock_names # MAY_BE_OPTION ARGUMENT... of zklock
    for name in (timeout 3 zklock $argv[2..] 2>/dev/null | string split0)
        string match -qr '^~|[\x01-\x1f\x7f-\x9f]' -- $name; and continue
        test -n "$argv[1]"; and string match -q -- '-*' $name; and continue
        printf '%s\n' $name
    end
end

# Prints what the help has: a line for each option, and for each letter, with what its value is.
function __zklock_options # ARGUMENT... of zklock
    set -l help (zklock $argv 2>/dev/null)
    string replace -rf '^  (?:-.|  )[, ] (--[a-z-]+) ?([A-Z]*) .*' '$1 $2' -- $help
    string replace -rf '^  (-.), --[a-z-]+ ?([A-Z]*) .*' '$1 $2' -- $help
end

function __zklock_subcommands
    zklock --help 2>/dev/null | string match -rg '^  ([a-z]+)  '
end

# Prints what may stand where the cursor is. The settings that were typed are used, so that the same servers are asked.
function __zklock_complete
    set -l words (commandline -opc)
    if test "$words[2..]" = help
        __zklock_subcommands
        echo settings
        return
    end
    set -l current (commandline -ct)
    set -l of_all (__zklock_options help settings) '--config FILE'
    set -l known (__zklock_options $words[2] --help) $of_all
    set -l settings
    set -l operands
    set -l value # that of the current word, if that belongs to an option
    set -l may_be_option yes
    set -l is_literal
    for word in $words[3..]
        if test -n "$value"
            contains -- "$option $value" $of_all; and set -a settings $option $word
            set value
        else if test -n "$may_be_option"; and test x$word = x--
            set may_be_option
            set is_literal yes
        else if test -n "$may_be_option"; and string match -qr '^-.' -- $word
            set option $word
            set value (string replace -rf -- '^'(string escape --style=regex -- $word)' ' '' $known)[1]
            string match -q -- (string split -f 1 -m 1 = -- $word)' *' $of_all; and string match -q '*=*' -- $word; and set -a settings $word
        else if test x$word != x--; or test (count $operands) -ne 1
            set -a operands $word
            contains -- $words[2] run once hold wait observe status; and test (count $operands) -eq 1 -a -z "$is_literal"; or set may_be_option
        end
    end
    if test -n "$value"
        switch $value
            case RESOURCE
                __zklock_names '' ls -0 $settings --log none
            case FILE
                __fish_complete_path $current
        end
    else if test -n "$may_be_option"; and string match -q -- '-*' $current
        string replace -r ' .*' '' -- $known | string match -- '--*'
    else if contains -- $words[2] run once hold wait observe status revoke break; and test (count $operands) -eq 0
        __zklock_names "$may_be_option" ls -0 $settings --log none
    else if contains -- $words[2] revoke break; and test (count $operands) -eq 1
        __zklock_names '' status -0 $settings --log none -- $operands[1]
    else if contains -- $words[2] run once; and test (count $operands) -eq 1
        __fish_complete_command
    else if contains -- $words[2] run once
        __fish_complete_path $current
    end
end

complete -c zklock -f
complete -c zklock -n 'test (count (commandline -opc)) -eq 1' -a '(__zklock_subcommands) help'
complete -c zklock -n 'test (count (commandline -opc)) -gt 1' -a '(__zklock_complete)'
