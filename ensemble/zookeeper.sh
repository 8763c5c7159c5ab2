# shellcheck shell=bash
# What the servers' image and the script on the host share. To be sourced.

# Prints the class path of a server. JARS holds ZooKeeper's own jars; the libraries are Debian's, Netty too,
# which only TLS needs. jute comes first, as other jars may carry an older copy of its classes.
class_path() { # JARS [tls]
    local jar joined='' more=()
    [[ ${2-} != tls ]] || more=(/usr/share/java/{netty-{buffer,codec,common,handler,resolver,transport},jctools-core}.jar)
    for jar in "$1"/{zookeeper-jute,zookeeper}.jar \
        /usr/share/java/{slf4j-api,slf4j-simple,metrics-core,snappy-java}.jar ${more[@]+"${more[@]}"}; do
        if [[ ! -e $jar ]]; then
            printf '%s is missing; run: tools/install-packages ensemble-local\n' "$jar" >&2
            return 1
        fi
        joined+=:$jar
    done
    printf '%s\n' "${joined#:}"
}

# Prints leader or follower. Fails if the server does not serve. It runs in a subshell, because a
# server that ends between the connection and the question would end the shell by SIGPIPE.
server_mode() ( # HOST PORT
    # A server that does not exist, or hangs up, is an answer, and no error worth a message.
    exec 2>/dev/null
    exec {connection}<>"/dev/tcp/$1/$2" || return 1
    printf srvr 1>&"$connection"
    while IFS= read -r -t 1 -u "$connection" line; do
        if [[ $line == 'Mode: '* ]]; then
            printf '%s\n' "${line#Mode: }"
            return 0
        fi
    done
    return 1
)
