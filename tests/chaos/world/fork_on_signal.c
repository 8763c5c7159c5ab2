/*
 * A program that is started with this before the C library (LD_PRELOAD) forks when it gets SIGUSR2,
 * whatever it is doing. Who is forked keeps the descriptors open that it has inherited, for some
 * time, and ends. It is a grandchild, so that the program has no child that it knows nothing of.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVES_S = 3 };

static void fork_once(int number) {
    (void)number;
    int saved = errno;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            sleep(LIVES_S);
        }
        _exit(0);
    }
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
    errno = saved;
}

__attribute__((constructor)) static void prepare(void) {
    struct sigaction action = { .sa_handler = fork_once, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
}
