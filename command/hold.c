#include "hold.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "exit_status.h"
#include "say.h"

enum {
    BACKGROUND_MS = 1000, /* how often to look whether we have the terminal again */
    MEMORY_DEVICES = 1,   /* the major number of /dev/null, of which the minor is */
    NULL_DEVICE = 3
};

/* Prints the token, the slot of a semaphore, and the node: the last, as it may have spaces. */
static int print_grant(const message *grant) {
    printf("%" PRId64 " ", grant->token);
    if (grant->slot >= 0) {
        printf("%" PRId32 " ", grant->slot);
    }
    puts(grant->node);
    if (fflush(stdout) == 0) {
        return EXIT_DONE;
    }
    say("the standard output: %s", strerror(errno));
    return EXIT_INTERNAL;
}

/* Opens a descriptor of the signals that end this process. Those that were ignored when zklock was
 * started stay ignored: a descriptor would tell of them. */
static int requests_to_end(void) {
    const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction found;
        if (sigaction(numbers[i], NULL, &found) == 0 && found.sa_handler != SIG_IGN) {
            sigaddset(&set, numbers[i]);
        }
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Waits until the line can be written without waiting. False: a request to end came before. */
static bool has_room(int requests) {
    struct pollfd files[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
                              { .fd = requests, .events = POLLIN } };
    while (poll(files, 2, -1) < 0 && errno == EINTR) {
    }
    return files[1].revents == 0;
}

/* Tells whether nobody can end our input: systemd and a script's & give us /dev/null. */
static bool has_no_input(void) {
    struct stat status;
    return fstat(STDIN_FILENO, &status) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == makedev(MEMORY_DEVICES, NULL_DEVICE);
}

/* Takes the terminal if the shell has given it to zklock's group, as with fg: a shell tells only
 * who is stopped. Not in a pipeline, whose other members need it. */
static void take_terminal(void) {
    struct stat output;
    bool is_in_pipeline = fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
    if (!is_in_pipeline && tcgetpgrp(STDIN_FILENO) == getpgid(getppid())) {
        tcsetpgrp(STDIN_FILENO, getpgrp());
    }
}

/* Gives it back: the front does so only if it has given it to us. */
static void give_terminal_back(void) {
    if (tcgetpgrp(STDIN_FILENO) == getpgrp()) {
        tcsetpgrp(STDIN_FILENO, getpgid(getppid()));
    }
}

/* Reads what nobody needs. False: it has ended. A terminal that is not ours, as we are in the
 * background, refuses the read: that is no end. */
static bool reads_on(const struct pollfd *input, bool *in_background) {
    char ignored[4096];
    ssize_t length = read(input->fd, ignored, sizeof(ignored));
    *in_background = length < 0 && errno == EIO && (input->revents & POLLHUP) == 0;
    return length > 0 || *in_background || (length < 0 && (errno == EINTR || errno == EAGAIN));
}

int hold_until_end(const message *grant) {
    struct pollfd files[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                              { .fd = requests_to_end(), .events = POLLIN } };
    int input = has_no_input() ? -1 : STDIN_FILENO;
    bool in_background = false;
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (!has_room(files[1].fd)) {
        return EXIT_DONE;
    }
    int status = print_grant(grant);
    while (status == EXIT_DONE) {
        files[0].fd = in_background ? -1 : input;
        int ready = poll(files, 2, in_background ? BACKGROUND_MS : -1);
        if (in_background) {
            take_terminal();
        }
        in_background = false;
        if (ready > 0 && files[1].revents != 0) {
            break;
        }
        if (ready > 0 && files[0].revents != 0 && !reads_on(&files[0], &in_background)) {
            break;
        }
    }
    give_terminal_back();
    return status;
}
