/* The end of a process while TLS connects. With a libzookeeper that has TLS only. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/tls_front.h"
#include "support/unit.h"

extern char **environ;

enum { AT_A_TIME = 6, ROUNDS = 15, STEP_US = 4000, EXIT_US = 400000 };

static pid_t start_and_exit(const tls_front *front, const char *directory, int at_us,
                            const char *when) {
    char microseconds[16];
    char program[] = TLS_EXIT_PROGRAM;
    char *arguments[] = { program,      (char *)front->hosts, (char *)directory,
                          microseconds, (char *)when,         NULL };
    pid_t process = -1;
    snprintf(microseconds, sizeof(microseconds), "%d", at_us);
    EXPECT_INT(posix_spawn(&process, program, NULL, NULL, arguments, environ), 0);
    return process;
}

static void expect_ends(const tls_front *front, const char *directory, const char *when) {
    for (int round = 0; round < ROUNDS; round++) {
        pid_t processes[AT_A_TIME];
        for (int i = 0; i < AT_A_TIME; i++) {
            processes[i] =
                start_and_exit(front, directory, (round * AT_A_TIME + i) * STEP_US, when);
        }
        for (int i = 0; i < AT_A_TIME; i++) {
            int status = -1;
            EXPECT_INT(waitpid(processes[i], &status, 0), processes[i]);
            EXPECT_INT(status, 0); /* 139: it has crashed */
        }
    }
}

TEST(exit_while_tls_connects_crashes_no_process) {
    const char *directory = tls_keys_begin();
    tls_front refused;
    tls_front good;
    tls_front_begin(&refused, "elsewhere", "DNS:elsewhere");
    tls_front_begin(&good, "server", "IP:127.0.0.1");
    expect_ends(&refused, directory, "first");
    expect_ends(&refused, directory, "later");
    expect_ends(&good, directory, "closes");
    tls_front_end(&good);
    tls_front_end(&refused);
    tls_keys_end();
}

/* The file of the authorities is a pipe: the client stays in OpenSSL until its other end is closed.
 */
TEST(exit_waits_until_openssl_is_left) {
    const char *directory = tls_keys_begin();
    tls_front front = { .hosts = "127.0.0.1:1" };
    int status = -1;
    EXPECT_INT(unlink(tls_file("ca.pem")), 0);
    EXPECT_INT(mkfifo(tls_file("ca.pem"), 0600), 0);
    pid_t process = start_and_exit(&front, directory, EXIT_US, "first");
    int file = open(tls_file("ca.pem"), O_WRONLY | O_CLOEXEC); /* when the client has opened it */
    (void)usleep(2 * EXIT_US);
    EXPECT_INT(waitpid(process, &status, WNOHANG), 0);
    EXPECT_INT(close(file), 0);
    EXPECT_INT(waitpid(process, &status, 0), process);
    EXPECT_INT(status, 0);
    tls_keys_end();
}
