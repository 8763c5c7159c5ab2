/*
 * Stands between the clients and the servers, and passes on what it reads after a fixed time, in
 * each direction: servers that are far away. Counts the clients' requests by opcode, which the
 * servers themselves do not tell.
 *
 *     bench_delay_proxy MILLISECONDS HOST:PORT...
 *
 * prints where it listens for each server, HOST:PORT[,...], and then obeys `counts`: what the
 * clients have sent since it was asked last, {"bytes": N, "OPCODE": N, ...}. One thread; it ends
 * with its input.
 */
#include "basics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVERS_MAX = 8, CHUNK_MAX = 65536, OPCODES = 128, EVENTS_MAX = 256, LINE_SIZE = 256 };
/* A request: its length, its xid, its opcode. */
enum { WORD = 4, HEAD_WORDS = 3, XID_PING = -2 };

struct link {
    int fd;
    struct link *other;
    bool from_client;
    bool ended; /* its end was passed on */
    /* Of the clients' requests: where in a frame it is. */
    bool greeted;
    unsigned char head[WORD * HEAD_WORDS];
    size_t head_size;
    size_t frame_left;
};

/* What was read, and is to be passed on; length 0: the end. */
struct chunk {
    struct chunk *next;
    struct link *to;
    int64_t due_ns;
    size_t length;
    unsigned char bytes[];
};

struct server {
    struct sockaddr_in address;
    int listener;
};

static int64_t delay_ns;
static struct server servers[SERVERS_MAX];
static int server_count;
static int poll_fd;
static struct chunk *first; /* all have the same delay: in the order in which they are due */
static struct chunk **last = &first;
static long long requests[OPCODES];
static long long bytes;

/* ---- Requests ----------------------------------------------------------------------------------
 */

static int32_t word_of(const struct link *link, int which) {
    uint32_t word;
    memcpy(&word, link->head + (size_t)which * WORD, sizeof word);
    return (int32_t)ntohl(word);
}

/* The first frame, the handshake, has neither xid nor opcode. */
static void begin_frame(struct link *link) {
    size_t length = (size_t)word_of(link, 0);
    int32_t opcode = word_of(link, 2);
    if (link->greeted && word_of(link, 1) != XID_PING && opcode >= 0 && opcode < OPCODES) {
        requests[opcode]++;
    }
    link->greeted = true;
    link->head_size = 0;
    link->frame_left = length > 2UL * WORD ? length - 2UL * WORD : 0;
}

static void count_requests(struct link *link, const unsigned char *data, size_t length) {
    bytes += (long long)length;
    while (length > 0) {
        bool inside = link->frame_left > 0;
        size_t wanted = inside ? link->frame_left : sizeof link->head - link->head_size;
        size_t taken = wanted < length ? wanted : length;
        if (inside) {
            link->frame_left -= taken;
        } else {
            memcpy(link->head + link->head_size, data, taken);
            link->head_size += taken;
            if (link->head_size == sizeof link->head) {
                begin_frame(link);
            }
        }
        data += taken;
        length -= taken;
    }
}

static void tell_counts(void) {
    printf("{\"bytes\":%lld", bytes);
    for (int opcode = 0; opcode < OPCODES; opcode++) {
        if (requests[opcode] > 0) {
            printf(",\"%d\":%lld", opcode, requests[opcode]);
        }
    }
    printf("}\n");
    (void)fflush(stdout);
    memset(requests, 0, sizeof requests);
    bytes = 0;
}

/* ---- Connections -------------------------------------------------------------------------------
 */

static void watch(int fd, void *who) {
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = who };
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        fail("epoll_ctl: %s", strerror(errno));
    }
}

static struct link *make_link(int fd, bool from_client) {
    int yes = 1;
    struct link *link = allocate(1, sizeof *link);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    link->fd = fd;
    link->from_client = from_client;
    return link;
}

static void admit(struct server *server) {
    int client = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    int there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0 || there < 0 ||
        connect(there, (struct sockaddr *)&server->address, sizeof server->address) != 0) {
        close(client);
        close(there);
        return;
    }
    struct link *from = make_link(client, true);
    struct link *to = make_link(there, false);
    from->other = to;
    to->other = from;
    watch(client, from);
    watch(there, to);
}

static void append(struct link *to, const unsigned char *data, size_t length) {
    struct chunk *chunk = allocate(1, sizeof *chunk + length);
    chunk->to = to;
    chunk->due_ns = now_ns() + delay_ns;
    chunk->length = length;
    memcpy(chunk->bytes, data, length);
    *last = chunk;
    last = &chunk->next;
}

static void receive(struct link *link) {
    static unsigned char data[CHUNK_MAX];
    ssize_t got = recv(link->fd, data, sizeof data, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        (void)epoll_ctl(poll_fd, EPOLL_CTL_DEL, link->fd, NULL);
        got = 0;
    }
    if (link->from_client) {
        count_requests(link, data, (size_t)got);
    }
    append(link->other, data, (size_t)got);
}

/* When both directions have ended nothing that is on its way can concern them any more. */
static void end_link(struct link *link) {
    (void)shutdown(link->fd, SHUT_WR);
    link->ended = true;
    if (link->other->ended) {
        close(link->fd);
        close(link->other->fd);
        free(link->other);
        free(link);
    }
}

static void pass_on(struct chunk *chunk) {
    for (size_t done = 0; done < chunk->length;) {
        ssize_t sent = send(chunk->to->fd, chunk->bytes + done, chunk->length - done, MSG_NOSIGNAL);
        if (sent < 0) {
            break; /* its own end will be read */
        }
        done += (size_t)sent;
    }
    if (chunk->length == 0) {
        end_link(chunk->to);
    }
}

static void pass_on_what_is_due(void) {
    while (first != NULL && first->due_ns <= now_ns()) {
        struct chunk *chunk = first;
        pass_on(chunk);
        first = chunk->next;
        last = first == NULL ? &first : last;
        free(chunk);
    }
}

static int wait_for_events(struct epoll_event *events) {
    int64_t left_ns = first == NULL ? 0 : first->due_ns - now_ns();
    left_ns = left_ns > 0 ? left_ns : 0;
    struct timespec left = { .tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000 };
    return epoll_pwait2(poll_fd, events, EVENTS_MAX, first == NULL ? NULL : &left, NULL);
}

static void on_input(void) {
    char line[LINE_SIZE];
    if (fgets(line, sizeof line, stdin) == NULL) {
        exit(EXIT_SUCCESS);
    }
    tell_counts();
}

static void on_event(void *who) {
    for (int i = 0; i < server_count; i++) {
        if (who == &servers[i]) {
            admit(&servers[i]);
            return;
        }
    }
    if (who == NULL) {
        on_input();
    } else {
        receive(who);
    }
}

/* ---- Beginning ---------------------------------------------------------------------------------
 */

static void parse_address(struct sockaddr_in *address, char *text) {
    char *port = strrchr(text, ':');
    if (port != NULL) {
        *port++ = '\0';
    }
    address->sin_family = AF_INET;
    if (port == NULL || inet_pton(AF_INET, text, &address->sin_addr) != 1) {
        fail("'%s' is not IPV4:PORT", text);
    }
    address->sin_port = htons((uint16_t)strtol(port, NULL, 10));
}

/* Each server has an address of its own: libzookeeper takes all ports of one address for one
 * server. */
static void listen_for(struct server *server, int number) {
    char host[INET_ADDRSTRLEN];
    struct sockaddr_in own = { .sin_family = AF_INET };
    socklen_t size = sizeof own;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)number);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 || bind(server->listener, (struct sockaddr *)&own, sizeof own) != 0 ||
        listen(server->listener, SOMAXCONN) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&own, &size) != 0) {
        fail("cannot listen: %s", strerror(errno));
    }
    (void)inet_ntop(AF_INET, &own.sin_addr, host, sizeof host);
    printf("%s%s:%d", number == 0 ? "" : ",", host, ntohs(own.sin_port));
    watch(server->listener, server);
}

int main(int argc, char **argv) {
    struct epoll_event events[EVENTS_MAX];
    if (argc < 3 || argc - 2 > SERVERS_MAX) {
        fail("usage: bench_delay_proxy MILLISECONDS HOST:PORT...");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    delay_ns = (int64_t)(strtod(argv[1], NULL) * 1e6);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    server_count = argc - 2;
    for (int i = 0; i < server_count; i++) {
        parse_address(&servers[i].address, argv[i + 2]);
        listen_for(&servers[i], i);
    }
    printf("\n");
    (void)fflush(stdout);
    watch(STDIN_FILENO, NULL);
    for (;;) {
        int count = wait_for_events(events);
        for (int i = 0; i < count; i++) {
            on_event(events[i].data.ptr);
        }
        pass_on_what_is_due();
    }
}
