# shellcheck shell=bash
# Just enough of ZooKeeper's protocol to write and read a node, with nothing but bash and od, so that the
# test of the script needs no client library. To be sourced.

hex_of_bytes() {
    od -An -v -tx1 | tr -d ' \n'
}

hex_string() { # TEXT
    printf '%08x' "${#1}"
    printf '%s' "$1" | hex_of_bytes
}

send_packet() { # HEX
    local packet
    packet=$(printf '%08x' $((${#1} / 2)))$1
    # shellcheck disable=SC2059 # the format is the packet, byte by byte
    printf "$(sed 's/../\\x&/g' <<<"$packet")" >&"$connection"
}

receive_packet() {
    local length
    length=$(timeout 5 head -c 4 <&"$connection" | hex_of_bytes)
    [[ -n $length ]] || return 1
    timeout 5 head -c $((16#$length)) <&"$connection" | hex_of_bytes
}

# Sends one request in a session of its own; prints what follows the reply's header. Fails on any error.
request() ( # PORT HEX
    exec 2>/dev/null
    exec {connection}<>"/dev/tcp/127.0.0.1/$1" || return 1
    # protocol 0, nothing seen, 10 s, no session yet, a password of 16 zero bytes
    send_packet "00000000""0000000000000000""00002710""0000000000000000""00000010""$(printf '%032d' 0)"
    receive_packet >/dev/null || return 1
    # Both requests of one go: their numbers are 1 and 2; the second closes the session.
    send_packet "00000001$2"
    reply=$(receive_packet) || return 1
    send_packet "00000002fffffff5"
    receive_packet >/dev/null
    # number, zxid, error
    [[ ${reply:24:8} == 00000000 ]] || return 1
    printf '%s' "${reply:32}"
)

create_node() { # PORT PATH VALUE
    # one access rule: everything for world:anyone; no flags
    request "$1" "00000001$(hex_string "$2")$(hex_string "$3")00000001""0000001f""$(hex_string world)$(hex_string anyone)00000000" >/dev/null
}

# Prints the path that the server gave it, with a sequence number after it.
create_sequential() { # PORT PATH
    local reply
    reply=$(request "$1" "00000001$(hex_string "$2")$(hex_string '')00000001""0000001f""$(hex_string world)$(hex_string anyone)00000002") || return 1
    # shellcheck disable=SC2059 # the format is the path, byte by byte
    printf "$(sed 's/../\\x&/g' <<<"${reply:8}")"
}

node_is() { # PORT PATH VALUE
    local value
    value=$(request "$1" "00000004$(hex_string "$2")00") || return 1
    [[ $value == "$(hex_string "$3")"* ]]
}

# Prints a server's answer to one of its four-letter words.
four_letters() ( # PORT WORD
    exec 2>/dev/null
    exec {connection}<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf '%s' "$2" >&"$connection"
    timeout 2 cat <&"$connection"
)
