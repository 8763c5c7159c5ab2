#include "support/scripted_server.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/unit.h"

/* Numbers are big-endian, and each packet begins with its length. */
enum { NUMBER_SIZE = 4, PACKET_MAX = 4096, PASSWORD_SIZE = 16, PING_XID = -2, AUTH_XID = -4 };
enum { TIMEOUT_OFFSET = 12 }; /* in a greeting: behind the protocol's version and the last zxid */
enum { CREATE_TYPE = 15, MULTI_TYPE = 14, CLOSE_TYPE = -11 };

typedef struct packet {
    uint32_t size;
    unsigned char bytes[PACKET_MAX];
} packet;

static uint32_t number_at(const unsigned char *bytes) {
    uint32_t wire = 0;
    memcpy(&wire, bytes, sizeof(wire));
    return ntohl(wire);
}

static void add_number(packet *to, uint32_t number) {
    uint32_t wire = htonl(number);
    memcpy(to->bytes + to->size, &wire, sizeof(wire));
    to->size += NUMBER_SIZE;
}

static bool receive(int socket_of_client, void *bytes, size_t size) {
    return recv(socket_of_client, bytes, size, MSG_WAITALL) == (ssize_t)size;
}

static bool receive_packet(int socket_of_client, packet *from) {
    unsigned char length[NUMBER_SIZE];
    if (!receive(socket_of_client, length, sizeof(length))) {
        return false;
    }
    from->size = number_at(length);
    return from->size <= PACKET_MAX && receive(socket_of_client, from->bytes, from->size);
}

static bool send_packet(int socket_of_client, const packet *from) {
    uint32_t length = htonl(from->size);
    return send(socket_of_client, &length, sizeof(length), MSG_NOSIGNAL) == sizeof(length) &&
           send(socket_of_client, from->bytes, from->size, MSG_NOSIGNAL) == (ssize_t)from->size;
}

static bool greet(const scripted_server *self, int socket_of_client) {
    packet hello;
    packet reply = { .size = 0 };
    if (!receive_packet(socket_of_client, &hello)) {
        return false;
    }
    add_number(&reply, 0); /* the protocol's version */
    add_number(&reply, number_at(hello.bytes + TIMEOUT_OFFSET));
    add_number(&reply, 0); /* the session */
    add_number(&reply, 7 + (self->gives_new_sessions ? (uint32_t)self->connections : 0));
    add_number(&reply, PASSWORD_SIZE);
    memset(reply.bytes + reply.size, self->gives_no_password ? 0 : 'p', PASSWORD_SIZE);
    reply.bytes[reply.size + PASSWORD_SIZE] = 0; /* the session is not read-only */
    reply.size += PASSWORD_SIZE + 1;
    return send_packet(socket_of_client, &reply);
}

static bool answer(int socket_of_client, uint32_t xid, int32_t error) {
    packet reply = { .size = 0 };
    add_number(&reply, xid);
    add_number(&reply, 0); /* the zxid */
    add_number(&reply, 1);
    add_number(&reply, (uint32_t)error);
    return send_packet(socket_of_client, &reply);
}

/* Serves one request. False: the connection is over. */
static bool serve_request(scripted_server *self, int socket_of_client) {
    packet request;
    if (!receive_packet(socket_of_client, &request)) {
        return false;
    }
    uint32_t xid = number_at(request.bytes);
    int32_t type = (int32_t)number_at(request.bytes + NUMBER_SIZE);
    if ((int32_t)xid == PING_XID || (int32_t)xid == AUTH_XID || type == CLOSE_TYPE) {
        return answer(socket_of_client, xid, 0) && type != CLOSE_TYPE;
    }
    atomic_fetch_add(&self->requests, 1);
    int error = type == CREATE_TYPE || type == MULTI_TYPE ? self->error_of_creates : self->error;
    return error == SCRIPTED_MUTE || (answer(socket_of_client, xid, error) && !self->hangs_up);
}

static void *serve(void *arg) {
    scripted_server *self = arg;
    int socket_of_client = -1;
    while ((socket_of_client = accept(self->listener, NULL, NULL)) >= 0) {
        atomic_fetch_add(&self->connections, 1);
        bool goes_on = greet(self, socket_of_client);
        while (goes_on) {
            goes_on = serve_request(self, socket_of_client);
        }
        (void)close(socket_of_client);
    }
    return NULL;
}

void scripted_server_begin(scripted_server *self) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof(address);
    *self = (scripted_server){ .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_INT(bind(self->listener, (struct sockaddr *)&address, size), 0);
    EXPECT_INT(listen(self->listener, SOMAXCONN), 0);
    EXPECT_INT(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(self->hosts, sizeof(self->hosts), "127.0.0.1:%d", ntohs(address.sin_port));
    EXPECT_INT(pthread_create(&self->thread, NULL, serve, self), 0);
}

void scripted_server_end(scripted_server *self) {
    (void)shutdown(self->listener, SHUT_RDWR);
    (void)pthread_join(self->thread, NULL);
    (void)close(self->listener);
}
