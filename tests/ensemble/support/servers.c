#include "support/servers.h"

#include "support/test.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* `wchp` of 20,000 waiters is the longest. */
#define ANSWER_SIZE 8388608

static const char *all_hosts;
static const char *ensemble_command;
static char hosts[SERVERS + 1][64];
static bool hurt[SERVERS + 1];
static bool cut[SERVERS + 1];
static bool disks_are_slow;

/* ---- Four-letter words ------------------------------------------------- */

int server_connect(int server) {
    char address[sizeof hosts[0]];
    snprintf(address, sizeof address, "%s", hosts[server]);
    char *port = strrchr(address, ':');
    *port++ = '\0';
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (getaddrinfo(address, port, &hints, &found) != 0) {
        give_up("cannot resolve %s", hosts[server]);
    }
    int fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    struct timeval patience = { .tv_sec = 5 };
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* Empty when the server does not answer. */
static char *ask(int server, const char *word) {
    char *answer = malloc(ANSWER_SIZE);
    if (answer == NULL) {
        give_up("out of memory");
    }
    size_t length = 0;
    int fd = server_connect(server);
    if (fd >= 0) {
        ssize_t got = send(fd, word, strlen(word), MSG_NOSIGNAL);
        while (got > 0 && length < ANSWER_SIZE - 1) {
            got = recv(fd, answer + length, ANSWER_SIZE - 1 - length, 0);
            length += got > 0 ? (size_t)got : 0;
        }
        close(fd);
    }
    answer[length] = '\0';
    return answer;
}

/* The number that follows `key` at the beginning of a line. */
static bool find_number(const char *answer, const char *key, int base, int64_t *number) {
    size_t length = strlen(key);
    for (const char *line = answer; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0) {
            *number = strtoll(line + length, NULL, base);
            return true;
        }
    }
    return false;
}

int64_t servers_sum(const char *key) {
    char line_start[128];
    snprintf(line_start, sizeof line_start, "%s\t", key);
    int64_t sum = 0;
    for (int server = 1; server <= SERVERS; server++) {
        char *answer = ask(server, "mntr");
        int64_t number;
        if (!find_number(answer, line_start, 10, &number)) {
            give_up("server %d has no %s in its mntr", server, key);
        }
        sum += number;
        free(answer);
    }
    return sum;
}

static bool is_at_or_below(const char *node, const char *path) {
    size_t length = strlen(path);
    return strncmp(node, path, length) == 0 && strchr("/", node[length]) != NULL;
}

/* `wchp` gives each path on a line, then each watching session on an indented one. */
static void visit_answer(char *answer, const char *path, watch_visitor *visit, void *arg) {
    const char *node = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(answer, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '/') {
            node = is_at_or_below(line, path) ? line : NULL;
        } else if (node != NULL && strncmp(line, "\t0x", 3) == 0) {
            visit(arg, node, (int64_t)strtoull(line + 1, NULL, 16));
        }
    }
}

void servers_visit_watches(const char *path, watch_visitor *visit, void *arg) {
    for (int server = 1; server <= SERVERS; server++) {
        char *answer = ask(server, "wchp");
        visit_answer(answer, path, visit, arg);
        free(answer);
    }
}

static void count_watch(void *arg, const char *node, int64_t session_id) {
    (void)node;
    (void)session_id;
    ++*(int *)arg;
}

int servers_watches(const char *path) {
    int count = 0;
    servers_visit_watches(path, count_watch, &count);
    return count;
}

static bool mode_is(int server, const char *mode) {
    char line[32];
    snprintf(line, sizeof line, "\nMode: %s\n", mode);
    char *answer = ask(server, "srvr");
    bool is = strstr(answer, line) != NULL;
    free(answer);
    return is;
}

static bool serves(int server) {
    return mode_is(server, "leader") || mode_is(server, "follower");
}

int servers_leader(void) {
    for (int server = 1; server <= SERVERS; server++) {
        if (mode_is(server, "leader")) {
            return server;
        }
    }
    return 0;
}

int servers_follower(void) {
    for (int server = 1; server <= SERVERS; server++) {
        if (mode_is(server, "follower")) {
            return server;
        }
    }
    give_up("no server follows");
}

int64_t servers_epoch(void) {
    return servers_last_zxid() >> 32;
}

int64_t servers_last_zxid(void) {
    int leader = servers_leader();
    int64_t zxid = 0;
    if (leader != 0) {
        char *answer = ask(leader, "srvr");
        (void)find_number(answer, "Zxid: ", 16, &zxid);
        free(answer);
    }
    return zxid;
}

/* Each kind of port tells of its own connections only. */
static bool has_secure_session(int server, const char *sid) {
    const char *keys = getenv("ZKLOCK_KEYS");
    const char *host = getenv("ZKLOCK_SECURE_HOSTS");
    char command[4096];
    for (int i = 1; i < server && host != NULL; i++) {
        host = strchr(host, ',');
        host += host != NULL;
    }
    if (host == NULL) {
        return false;
    }
    snprintf(command, sizeof command,
             "printf cons | openssl s_client -quiet -connect %.*s -CAfile '%s/ca.pem' "
             "-cert '%s/client.pem' -key '%s/client.key' 2>&1 | grep -q %s",
             (int)strcspn(host, ","), host, keys, keys, keys, sid);
    return system(command) == 0;
}

bool server_has_session(int server, int64_t session_id) {
    char sid[40];
    snprintf(sid, sizeof sid, "sid=0x%" PRIx64 ",", (uint64_t)session_id);
    char *answer = ask(server, "cons");
    bool has = strstr(answer, sid) != NULL;
    free(answer);
    return has || has_secure_session(server, sid);
}

int servers_of_session(int64_t session_id) {
    for (int server = 1; server <= SERVERS; server++) {
        if (server_has_session(server, session_id)) {
            return server;
        }
    }
    return 0;
}

int64_t servers_tick_ms(void) {
    char *answer = ask(1, "conf");
    int64_t tick;
    if (!find_number(answer, "tickTime=", 10, &tick)) {
        give_up("server 1 does not tell its tickTime");
    }
    free(answer);
    return tick;
}

/* ---- The script -------------------------------------------------------- */

static int run_ensemble(const char *arguments) {
    char command[4096];
    snprintf(command, sizeof command, "%s %s >/dev/null", ensemble_command, arguments);
    return system(command);
}

static int ensemble(const char *verb, int server) {
    char arguments[64];
    snprintf(arguments, sizeof arguments, "%s %d", verb, server);
    return run_ensemble(arguments);
}

static void require_run(const char *arguments) {
    int status = run_ensemble(arguments);
    if (status != 0) {
        give_up("'%s %s' ended with status %d", ensemble_command, arguments, status);
    }
}

static void require_ensemble(const char *verb, int server) {
    char arguments[64];
    snprintf(arguments, sizeof arguments, "%s %d", verb, server);
    require_run(arguments);
}

static bool listens(int server) {
    int fd = server_connect(server);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* A test of a death that did not happen would pass. A killed process's last
 * threads may keep its sockets open for a moment. */
void server_kill(int server) {
    hurt[server] = true;
    require_ensemble("kill", server);
    int64_t end = now_ms() + PATIENCE_MS;
    while (listens(server)) {
        if (now_ms() >= end) {
            give_up("server %d was killed and still listens", server);
        }
        nap();
    }
}

void server_start(int server) {
    require_ensemble("start", server);
    hurt[server] = false;
}

void server_pause(int server) {
    hurt[server] = true;
    require_ensemble("pause", server);
}

void server_resume(int server) {
    require_ensemble("resume", server);
    hurt[server] = false;
}

static void note_hurt(bool are_hurt) {
    for (int server = 1; server <= SERVERS; server++) {
        hurt[server] = are_hurt;
    }
}

void servers_kill(void) {
    note_hurt(true);
    require_run("kill 1 2 3");
}

void servers_start(void) {
    require_run("start 1 2 3");
    note_hurt(false);
}

void servers_pause(void) {
    note_hurt(true);
    require_run("pause 1 2 3");
}

void server_slow_disk(int server, int ms) {
    char arguments[64];
    snprintf(arguments, sizeof arguments, "slow-disk %d %d", server, ms);
    disks_are_slow = true;
    require_run(arguments);
}

void servers_normal_disk(void) {
    require_run("normal-disk");
    disks_are_slow = false;
}

bool servers_can_cut(void) {
    return run_ensemble("can cut") == 0;
}

void server_cut(int server) {
    cut[server] = true;
    require_ensemble("cut", server);
}

void server_mend(int server) {
    require_ensemble("mend", server);
    cut[server] = false;
    int64_t end = now_ms() + PATIENCE_MS;
    while (!serves(server)) {
        if (now_ms() >= end) {
            give_up("server %d is mended and does not serve", server);
        }
        nap();
    }
}

bool servers_can_age(void) {
    return run_ensemble("can age") == 0;
}

void servers_age(const struct age *ages, int count) {
    char arguments[3072] = "age";
    for (int i = 0; i < count; i++) {
        size_t length = strlen(arguments);
        snprintf(arguments + length, sizeof arguments - length, " '%s' %" PRId64, ages[i].path,
                 ages[i].creates);
    }
    note_hurt(true);
    require_run(arguments);
    note_hurt(false);
}

void servers_empty(void) {
    note_hurt(true);
    require_run("empty");
    note_hurt(false);
}

/* Of the verbs those that do not fit fail. The start is one of all, as a server
 * alone never serves. What is still ill is met by the next test, or program, at
 * its beginning. */
void servers_heal(void) {
    bool any = false;
    for (int server = 1; server <= SERVERS; server++) {
        if (hurt[server]) {
            (void)ensemble("resume", server);
            any = true;
        }
        if (cut[server]) {
            (void)ensemble("mend", server);
            cut[server] = false;
        }
    }
    if (disks_are_slow) {
        (void)run_ensemble("normal-disk");
        disks_are_slow = false;
    }
    if (any) {
        (void)run_ensemble("start 1 2 3");
        note_hurt(false);
    }
}

/* ---- The environment --------------------------------------------------- */

static const char *require_environment(const char *name) {
    const char *value = getenv(name);
    if (value == NULL || value[0] == '\0') {
        give_up("%s is not set; run this as: ensemble/ensemble run COMMAND", name);
    }
    return value;
}

static void split_hosts(void) {
    const char *rest = all_hosts;
    for (int server = 1; server <= SERVERS; server++) {
        size_t length = strcspn(rest, ",");
        if (length == 0 || length >= sizeof hosts[0] || memchr(rest, ':', length) == NULL) {
            give_up("ZKLOCK_HOSTS '%s' does not name %d servers", all_hosts, SERVERS);
        }
        memcpy(hosts[server], rest, length);
        rest += length + (rest[length] == ',');
    }
}

void servers_begin(void) {
    all_hosts = require_environment("ZKLOCK_HOSTS");
    ensemble_command = require_environment("ZKLOCK_ENSEMBLE");
    split_hosts();
    /* A test that gives up must leave a whole ensemble as well. */
    (void)atexit(servers_heal);
    for (int server = 1; server <= SERVERS; server++) {
        if (!serves(server)) {
            give_up("server %d (%s) does not serve", server, hosts[server]);
        }
    }
}

const char *servers_hosts(void) {
    return all_hosts;
}

const char *server_host(int server) {
    return hosts[server];
}
