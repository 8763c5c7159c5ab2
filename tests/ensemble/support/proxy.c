#include "support/proxy.h"

#include "support/scene.h"
#include "support/servers.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* ZooKeeper's own limit is 1 MiB, and no test here comes near it. */
#define FRAME_MAX 1048576

/* A frame: its length, then (but for the handshake) the xid, as 4 bytes each. */
enum { LENGTH_SIZE = 4, XID_SIZE = 4, TYPE_SIZE = 4, TYPE_AT = LENGTH_SIZE + XID_SIZE };

/* An exists: its type, then the path with its length before it, then whether to watch. */
enum { TYPE_EXISTS = 3, TYPE_SASL = 102, PATH_LENGTH_AT = TYPE_AT + TYPE_SIZE, PATH_SIZE = 2048 };

/* Requests of libzookeeper's own accord have these, no others are negative. (A login is known by
 * its type.) */
enum { XID_PING = -2, XID_AUTHENTICATION = -4, XID_SET_WATCHES = -8 };

/* One direction of a connection. */
struct stream {
    int from;
    int to;
    bool greeted; /* its handshake has passed */
    size_t length;
    unsigned char bytes[FRAME_MAX];
};

struct connection {
    struct stream requests;
    struct stream replies;
    int32_t last_sent;     /* the counted request that was forwarded last */
    int32_t last_answered; /* replies come in the order of the requests */
    bool cutting;          /* nothing more of the client's passes */
    enum proxy_fault fault;
    int32_t awaited; /* cutting: the reply with which the connection ends */
    bool over;
};

struct proxy {
    int server;
    int listener;
    int wake; /* an eventfd: look at the fields below again */
    char hosts[32];
    pthread_t thread;
    struct connection connection; /* the thread's own */
    pthread_mutex_t mutex;        /* for all that follows */
    struct proxy_plan plan;
    int cuts_begun; /* the request has come */
    int cuts_made;  /* the client is about to notice */
    int requests;   /* since the plan, or the connection, whichever came last */
    bool away;
    bool told_to_cut;
    bool stopping;
    clientid_t session;
    bool turns_watches_away;
    proxy_watch_hook *hook;
    void *hook_arg;
};

/* ---- The plan ----------------------------------------------------------- */

/* Whether the connection is to be cut at the request that has just come. */
static bool count_request(struct proxy *proxy, enum proxy_fault *fault) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->requests++;
    const struct proxy_cut *next = &proxy->plan.cuts[proxy->cuts_begun % PROXY_CUTS_MAX];
    bool cut = proxy->cuts_begun < proxy->plan.count && proxy->requests == next->request;
    *fault = next->fault;
    proxy->cuts_begun += cut;
    pthread_mutex_unlock(&proxy->mutex);
    return cut;
}

static void note_cut(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->cuts_made++;
    proxy->away = proxy->plan.then_stay_away && proxy->cuts_made == proxy->plan.count;
    pthread_mutex_unlock(&proxy->mutex);
}

static void note_connection(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->requests = 0;
    pthread_mutex_unlock(&proxy->mutex);
}

static bool is_stopping(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    bool stopping = proxy->stopping;
    pthread_mutex_unlock(&proxy->mutex);
    return stopping;
}

static bool is_told_to_cut(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    bool told = proxy->told_to_cut;
    pthread_mutex_unlock(&proxy->mutex);
    return told;
}

static bool is_away(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    bool away = proxy->away;
    pthread_mutex_unlock(&proxy->mutex);
    return away;
}

static void wake(struct proxy *proxy) {
    (void)eventfd_write(proxy->wake, 1);
}

/* ---- Frames ------------------------------------------------------------- */

static uint32_t read_number(const unsigned char *bytes) {
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return ntohl(number);
}

static int32_t xid_of(const unsigned char *frame, size_t size) {
    return size < LENGTH_SIZE + XID_SIZE ? XID_PING : (int32_t)read_number(frame + LENGTH_SIZE);
}

static bool is_counted(const unsigned char *frame, size_t size) {
    int32_t xid = xid_of(frame, size);
    bool is_login = size >= PATH_LENGTH_AT && read_number(frame + TYPE_AT) == TYPE_SASL;
    return xid != XID_PING && xid != XID_AUTHENTICATION && xid != XID_SET_WATCHES && !is_login;
}

static void forward(struct connection *connection, const struct stream *stream,
                    const unsigned char *frame, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t sent = send(stream->to, frame + done, size - done, MSG_NOSIGNAL);
        if (sent < 0) {
            connection->over = true;
            return;
        }
        done += (size_t)sent;
    }
}

static void begin_cut(struct connection *connection, enum proxy_fault fault, int32_t xid) {
    connection->cutting = true;
    connection->fault = fault;
    connection->awaited = fault == PROXY_REQUEST_LOST ? connection->last_sent : xid;
    connection->over = connection->awaited == connection->last_answered;
}

/* Which node the request asks to watch; false: none. */
static bool read_watched_path(const unsigned char *frame, size_t size, char path[PATH_SIZE]) {
    const size_t path_at = PATH_LENGTH_AT + LENGTH_SIZE;
    if (size <= path_at || read_number(frame + TYPE_AT) != TYPE_EXISTS) {
        return false;
    }
    size_t length = read_number(frame + PATH_LENGTH_AT);
    if (length >= PATH_SIZE || size != path_at + length + 1 || frame[path_at + length] == 0) {
        return false;
    }
    memcpy(path, frame + path_at, length);
    path[length] = '\0';
    return true;
}

static void call_hook(struct proxy *proxy, const unsigned char *frame, size_t size) {
    char path[PATH_SIZE];
    pthread_mutex_lock(&proxy->mutex);
    proxy_watch_hook *hook = proxy->hook;
    void *arg = proxy->hook_arg;
    pthread_mutex_unlock(&proxy->mutex);
    if (hook != NULL && read_watched_path(frame, size, path)) {
        hook(arg, path);
    }
}

static bool is_to_be_turned_away(struct proxy *proxy, int32_t xid) {
    pthread_mutex_lock(&proxy->mutex);
    bool is_it = xid == XID_SET_WATCHES && proxy->turns_watches_away;
    proxy->turns_watches_away = proxy->turns_watches_away && !is_it;
    pthread_mutex_unlock(&proxy->mutex);
    return is_it;
}

/* The header of a reply: its xid, a zxid, the error. */
static void turn_away(struct connection *connection, int32_t xid) {
    enum { WORDS = 5, XID_AT = 1, ERROR_AT = 4 };
    uint32_t reply[WORDS] = { htonl((WORDS - 1) * LENGTH_SIZE) };
    reply[XID_AT] = htonl((uint32_t)xid);
    reply[ERROR_AT] = htonl((uint32_t)ZTHROTTLEDOP);
    forward(connection, &connection->replies, (const unsigned char *)reply, sizeof reply);
}

static void on_request(struct proxy *proxy, const unsigned char *frame, size_t size) {
    struct connection *connection = &proxy->connection;
    int32_t xid = xid_of(frame, size);
    enum proxy_fault fault = PROXY_REQUEST_LOST;
    if (connection->cutting) {
        return;
    }
    if (is_to_be_turned_away(proxy, xid)) {
        turn_away(connection, xid);
        return;
    }
    if (is_counted(frame, size)) {
        bool cut = count_request(proxy, &fault);
        if (cut) {
            begin_cut(connection, fault, xid);
        }
        if (cut && fault == PROXY_REQUEST_LOST) {
            return;
        }
        connection->last_sent = xid;
        call_hook(proxy, frame, size);
    }
    forward(connection, &connection->requests, frame, size);
    connection->over |= connection->cutting && fault == PROXY_LOST_UNDER_WAY;
}

static void on_reply(struct proxy *proxy, const unsigned char *frame, size_t size) {
    struct connection *connection = &proxy->connection;
    int32_t xid = xid_of(frame, size);
    bool last = connection->cutting && xid == connection->awaited;
    if (!connection->cutting || connection->fault == PROXY_REQUEST_LOST ||
        (!last && connection->fault != PROXY_LOST_WHEN_TOLD)) {
        forward(connection, &connection->replies, frame, size);
    }
    if (xid == connection->last_sent) {
        connection->last_answered = xid;
    }
    connection->over |= last && connection->fault != PROXY_LOST_WHEN_TOLD;
}

/* The answer to a handshake: length, protocol, timeout, session, password. An
 * expired session is answered with session 0. */
static void note_session(struct proxy *proxy, const unsigned char *frame, size_t size) {
    enum { SESSION_AT = LENGTH_SIZE + 4 + 4, PASSWORD_AT = SESSION_AT + 8 + LENGTH_SIZE };
    clientid_t session;
    if (size < PASSWORD_AT + sizeof session.passwd) {
        return;
    }
    session.client_id = (int64_t)((uint64_t)read_number(frame + SESSION_AT) << 32 |
                                  read_number(frame + SESSION_AT + 4));
    memcpy(session.passwd, frame + PASSWORD_AT, sizeof session.passwd);
    if (session.client_id != 0) {
        pthread_mutex_lock(&proxy->mutex);
        proxy->session = session;
        pthread_mutex_unlock(&proxy->mutex);
    }
}

static void on_frame(struct proxy *proxy, struct stream *stream, size_t size) {
    struct connection *connection = &proxy->connection;
    if (!stream->greeted) {
        stream->greeted = true;
        if (stream == &connection->replies) {
            note_session(proxy, stream->bytes, size);
        }
        forward(connection, stream, stream->bytes, size);
    } else if (stream == &connection->requests) {
        on_request(proxy, stream->bytes, size);
    } else {
        on_reply(proxy, stream->bytes, size);
    }
}

/* The size of the frame at the beginning; 0: it is not all there. */
static size_t whole_frame(const struct stream *stream) {
    if (stream->length < LENGTH_SIZE) {
        return 0;
    }
    size_t size = LENGTH_SIZE + (size_t)read_number(stream->bytes);
    if (size > FRAME_MAX) {
        give_up("the proxy met a frame of %zu bytes", size);
    }
    return stream->length < size ? 0 : size;
}

static void receive(struct proxy *proxy, struct stream *stream) {
    ssize_t got = recv(stream->from, stream->bytes + stream->length, FRAME_MAX - stream->length, 0);
    if (got <= 0) {
        proxy->connection.over = true;
        return;
    }
    stream->length += (size_t)got;
    for (size_t size = whole_frame(stream); size > 0 && !proxy->connection.over;
         size = whole_frame(stream)) {
        on_frame(proxy, stream, size);
        stream->length -= size;
        memmove(stream->bytes, stream->bytes + size, stream->length);
    }
}

/* ---- Connections -------------------------------------------------------- */

/* Waits for one of the sockets, of which a negative one is ignored, or for
 * news of ours. False when the proxy is to stop. */
static bool wait_for(struct proxy *proxy, struct pollfd sockets[3]) {
    eventfd_t news;
    if (is_stopping(proxy)) {
        return false; /* the wake-up for it may have been taken by an earlier wait */
    }
    sockets[2] = (struct pollfd){ .fd = proxy->wake, .events = POLLIN };
    (void)poll(sockets, 3, -1);
    if ((sockets[2].revents & POLLIN) != 0) {
        (void)eventfd_read(proxy->wake, &news);
    }
    return !is_stopping(proxy);
}

/* A request and its reply must not wait for an acknowledgement of TCP. */
static void send_at_once(int fd) {
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int connect_to_server(int server) {
    char host[64];
    snprintf(host, sizeof host, "%s", server_host(server));
    char *port = strrchr(host, ':');
    *port++ = '\0';
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        give_up("cannot resolve %s", host);
    }
    int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* Reads until the client has gone: a socket that is closed with something left
 * unread resets the connection, and with it the replies that are to arrive. */
static void drain(struct proxy *proxy, int client) {
    char ignored[512];
    struct pollfd sockets[3] = { { .fd = client, .events = POLLIN }, { .fd = -1 } };
    ssize_t got = 1;
    while (got > 0 && wait_for(proxy, sockets)) {
        if (sockets[0].revents != 0) {
            got = recv(client, ignored, sizeof ignored, 0);
        }
    }
}

static void serve(struct proxy *proxy, int client, int server) {
    struct connection *connection = &proxy->connection;
    memset(connection, 0, sizeof *connection);
    connection->requests.from = connection->replies.to = client;
    connection->requests.to = connection->replies.from = server;
    note_connection(proxy);
    struct pollfd sockets[3] = { { .fd = client, .events = POLLIN },
                                 { .fd = server, .events = POLLIN } };
    while (!connection->over && wait_for(proxy, sockets)) {
        if (sockets[0].revents != 0) {
            receive(proxy, &connection->requests);
        }
        if (sockets[1].revents != 0 && !connection->over) {
            receive(proxy, &connection->replies);
        }
        connection->over |= connection->cutting && connection->fault == PROXY_LOST_WHEN_TOLD &&
                            is_told_to_cut(proxy);
    }
    if (connection->cutting) {
        note_cut(proxy);
    }
}

static void serve_next(struct proxy *proxy, int server_number) {
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = client >= 0 ? connect_to_server(server_number) : -1;
    if (server >= 0) {
        send_at_once(client);
        send_at_once(server);
        serve(proxy, client, server);
        close(server);
        (void)shutdown(client, SHUT_WR);
        drain(proxy, client);
    }
    if (client >= 0) {
        close(client);
    }
}

static void *run(void *arg) {
    struct proxy *proxy = arg;
    struct pollfd sockets[3] = { { .events = POLLIN }, { .fd = -1 } };
    int last = 0;
    do {
        if ((sockets[0].revents & POLLIN) != 0) {
            last = last % SERVERS + 1;
            serve_next(proxy, proxy->server != 0 ? proxy->server : last);
        }
        sockets[0].fd = is_away(proxy) ? -1 : proxy->listener;
        sockets[0].revents = 0;
    } while (wait_for(proxy, sockets));
    return NULL;
}

/* ---- Beginning and end -------------------------------------------------- */

static void listen_at(struct proxy *proxy, const char *address, int port) {
    struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    socklen_t size = sizeof place;
    int yes = 1;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (proxy->listener < 0 || inet_pton(AF_INET, address, &place.sin_addr) != 1 ||
        setsockopt(proxy->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(proxy->listener, (struct sockaddr *)&place, sizeof place) != 0 ||
        listen(proxy->listener, SOMAXCONN) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&place, &size) != 0) {
        give_up("the proxy cannot listen at %s:%d", address, port);
    }
    snprintf(proxy->hosts, sizeof proxy->hosts, "%s:%d", address, ntohs(place.sin_port));
}

struct proxy *proxy_start_at(int server, const char *address, int port) {
    struct proxy *proxy = calloc(1, sizeof *proxy);
    if (proxy == NULL) {
        give_up("out of memory");
    }
    proxy->server = server;
    proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (proxy->wake < 0) {
        give_up("no eventfd");
    }
    listen_at(proxy, address, port);
    pthread_mutex_init(&proxy->mutex, NULL);
    thread_start(&proxy->thread, run, proxy);
    return proxy;
}

/* Not where servers listen: libzookeeper takes all ports of one address for the same server. */
struct proxy *proxy_start(int server) {
    return proxy_start_at(server, "127.0.0.2", 0);
}

void proxy_stop(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->stopping = true;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
    pthread_join(proxy->thread, NULL);
    pthread_mutex_destroy(&proxy->mutex);
    close(proxy->listener);
    close(proxy->wake);
    free(proxy);
}

const char *proxy_hosts(const struct proxy *proxy) {
    return proxy->hosts;
}

void proxy_set_plan(struct proxy *proxy, const struct proxy_plan *plan) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->plan = *plan;
    proxy->cuts_begun = 0;
    proxy->cuts_made = 0;
    proxy->requests = 0;
    proxy->told_to_cut = false;
    pthread_mutex_unlock(&proxy->mutex);
}

void proxy_admit(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->plan.then_stay_away = false;
    proxy->away = false;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
}

void proxy_cut_now(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->told_to_cut = true;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
}

int proxy_cuts_made(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    int cuts_made = proxy->cuts_made;
    pthread_mutex_unlock(&proxy->mutex);
    return cuts_made;
}

int proxy_end_plan(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    int cuts_begun = proxy->cuts_begun;
    proxy->plan.count = 0;
    pthread_mutex_unlock(&proxy->mutex);
    proxy_admit(proxy);
    return cuts_begun;
}

clientid_t proxy_session(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    clientid_t session = proxy->session;
    pthread_mutex_unlock(&proxy->mutex);
    return session;
}

void proxy_before_watch(struct proxy *proxy, proxy_watch_hook *hook, void *arg) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->hook = hook;
    proxy->hook_arg = arg;
    pthread_mutex_unlock(&proxy->mutex);
}

void proxy_turn_watches_away(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    proxy->turns_watches_away = true;
    pthread_mutex_unlock(&proxy->mutex);
}

bool proxy_has_turned_watches_away(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    bool has = !proxy->turns_watches_away;
    pthread_mutex_unlock(&proxy->mutex);
    return has;
}

int proxy_requests(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->mutex);
    int requests = proxy->requests;
    pthread_mutex_unlock(&proxy->mutex);
    return requests;
}
