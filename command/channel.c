#include "channel.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

enum { SECOND_MS = 1000, MILLISECOND_NS = 1000000 };

bool channel_open(channel *front, channel *holder) {
    int ends[2];
    void *memory =
        mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    *front = (channel){ .shared = memory, .socket = ends[0] };
    *holder = (channel){ .shared = memory, .socket = ends[1] };
    return true;
}

void channel_send(const channel *self, const message *what) {
    while (send(self->socket, what, sizeof(*what), MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

bool channel_receive(const channel *self, message *what, bool *closed) {
    ssize_t length = recv(self->socket, what, sizeof(*what), MSG_DONTWAIT);
    *closed = length == 0 || (length < 0 && errno == ECONNRESET);
    return length == sizeof(*what);
}

int64_t channel_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * SECOND_MS + now.tv_nsec / MILLISECOND_NS;
}

int64_t channel_kill_at(const channel *self, int64_t now_ms) {
    const shared *both = self->shared;
    int64_t latest_ms = both->safe_until_ms - both->margin_ms;
    int64_t by_grace_ms = now_ms + both->grace_ms;
    return by_grace_ms < latest_ms ? by_grace_ms : latest_ms;
}

int64_t channel_last_kill_at(const channel *self) {
    return self->shared->safe_until_ms - self->shared->margin_ms / 2;
}

void channel_signal_group(const channel *self, int number) {
    pid_t group = self->shared->group;
    if (group > 1) {
        kill(-group, number);
    }
}
