# Completion for fish: subcommands, options, and the names of resources and nodes, from the servers.
function __zklock_subcommands
    zklock --help 2>/dev/null | string match -rg '^  ([a-z]+) '
end

function __zklock_options
    set -l words (commandline -opc)
    begin
        zklock $words[2] --help
        zklock help settings
    end 2>/dev/null | string match -rg '^ +(?:-\w, )?(--[a-z-]+)'
end

function __zklock_operands
    commandline -opc | tail -n +3 | string match -v -- '-*'
end

function __zklock_resources
    timeout 3 zklock ls 2>/dev/null | string replace -r '^ *[0-9]+  ' ''
end

function __zklock_nodes
    timeout 3 zklock status (__zklock_operands)[1] 2>/dev/null | string match -rg '^          (\S+)$'
end

function __zklock_wants
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv[2..]; and test (count (__zklock_operands)) -eq $argv[1]
end

complete -c zklock -f
complete -c zklock -n 'test (count (commandline -opc)) -eq 1' -a '(__zklock_subcommands) help'
complete -c zklock -n 'string match -q -- "-*" (commandline -ct)' -a '(__zklock_options)'
complete -c zklock -n '__zklock_wants 0 run once status revoke break' -a '(__zklock_resources)'
complete -c zklock -n '__zklock_wants 1 revoke break' -a '(__zklock_nodes)'
complete -c zklock -n '__zklock_wants 1 run once' -a '(__fish_complete_command)'
