/* The login by SASL: what libzookeeper is given to answer the questions of Cyrus SASL with. With a
 * libzookeeper that has SASL only; nobody is asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sasl/sasl.h>

#include "connection/transport.h"
#include "support/unit.h"

static const sasl_callback_t *given;
static char name[] = "/tmp/zklock-password-XXXXXX";

zhandle_t *__wrap_zookeeper_init_sasl(const char *hosts, watcher_fn watcher, int timeout_ms,
                                      const clientid_t *session, void *context, int flags,
                                      log_callback_fn log, zoo_sasl_params_t *parameters);
zhandle_t *__wrap_zookeeper_init_sasl(const char *hosts, watcher_fn watcher, int timeout_ms,
                                      const clientid_t *session, void *context, int flags,
                                      log_callback_fn log, zoo_sasl_params_t *parameters) {
    (void)hosts;
    (void)watcher;
    (void)timeout_ms;
    (void)session;
    (void)context;
    (void)flags;
    (void)log;
    given = parameters->callbacks;
    errno = ENOMEM;
    return NULL;
}

static void write_password(const char *text) {
    FILE *file = fopen(name, "we");
    EXPECT(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* As Cyrus SASL asks at each login. */
static void expect_password(const char *expected) {
    sasl_secret_t *secret = NULL;
    const sasl_callback_t *one = given;
    while (one->id != SASL_CB_PASS) {
        one++;
    }
    int (*ask)(sasl_conn_t *, void *, int, sasl_secret_t **) =
        (int (*)(sasl_conn_t *, void *, int, sasl_secret_t **))(void (*)(void))one->proc;
    EXPECT_INT(ask(NULL, one->context, SASL_CB_PASS, &secret), SASL_OK);
    EXPECT_TEXT((const char *)secret->data, expected);
    EXPECT_INT(secret->len, strlen(expected));
}

TEST(password_is_the_first_line_of_its_file_whatever_ends_it) {
    zkl_security options = ZKL_SECURITY_INIT;
    options.sasl_mechanism = "DIGEST-MD5";
    options.sasl_password_file = name;
    zkl_transport way = { .options = &options };
    zhandle_t *handle = NULL;
    int file = mkstemp(name);
    EXPECT(file >= 0 && close(file) == 0);
    write_password("first\n");
    EXPECT_INT(zkl_transport_prepare(&way), ZKL_OK);
    EXPECT_INT(
        zkl_transport_open(&way, &(zkl_transport_call){ .addresses = "127.0.0.1:1" }, &handle),
        ZKL_NO_MEMORY);
    expect_password("first");
    write_password("with a return\r\nand a line\r\n");
    expect_password("with a return");
    write_password("without an end");
    expect_password("without an end");
    zkl_transport_free(&way);
    EXPECT_INT(chmod(name, 0604), 0);
    EXPECT_REFUSED(zkl_transport_check(&options), "sasl_password_file");
    EXPECT(strstr(zkl_error_message(), "may be read by everybody") != NULL);
    EXPECT_INT(unlink(name), 0);
}
