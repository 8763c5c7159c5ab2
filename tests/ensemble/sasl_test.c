/*
 * SASL, on servers that require a login: ensemble/ensemble --local --require sasl run (tests/run
 * secure).
 */
#include "support/basics.h"
#include "support/servers.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSION_MS = 6000, PATH_SIZE = 256, COMMAND_SIZE = 1024 };

static char password_file[PATH_SIZE];
static char user[64];
static char password[128];

static void read_line(const char *name, char *line, size_t size) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", getenv("ZKLOCK_KEYS"), name);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, (int)size, file) == NULL) {
        give_up("cannot read %s", path);
    }
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

static zkl_security security; /* of the options that were made last */

static zkl_client_options good_options(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    security = (zkl_security)ZKL_SECURITY_INIT;
    options.security = &security;
    options.session_timeout_ms = SESSION_MS;
    options.connect_timeout_ms = PATIENCE_MS;
    security.sasl_mechanism = "DIGEST-MD5";
    security.sasl_user = user;
    security.sasl_password = password;
    return options;
}

static bool says(const char *part) {
    bool said = strstr(zkl_error_message(), part) != NULL;
    if (!said) {
        printf("message: %s\n", zkl_error_message());
    }
    return said;
}

static zkl_lock *hold(zkl_client *client) {
    zkl_lock *lock = NULL;
    ASSERT_STATUS(zkl_lock_open(client, "sasl", NULL, &lock), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    return lock;
}

static void expect_accepted(const zkl_client_options *options) {
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), options, &client), ZKL_OK);
    zkl_lock_close(hold(client));
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
}

static void expect_refused(const zkl_client_options *options) {
    zkl_client *client = NULL;
    int64_t began_ms = now_ms();
    ASSERT_STATUS(zkl_client_open(servers_hosts(), options, &client), ZKL_AUTH_FAILED);
    CU_ASSERT(says("the servers refused the SASL login"));
    CU_ASSERT(now_ms() - began_ms < SESSION_MS);
}

static void right_password_is_accepted(void) {
    zkl_client_options options = good_options();
    expect_accepted(&options);
    security.sasl_password = NULL;
    security.sasl_password_file = password_file;
    expect_accepted(&options);
}

static void wrong_password_is_told(void) {
    zkl_client_options options = good_options();
    security.sasl_password = "wrong";
    expect_refused(&options);
}

static void unknown_user_is_told(void) {
    zkl_client_options options = good_options();
    security.sasl_user = "nobody";
    expect_refused(&options);
}

static void password_file_that_is_missing_is_named(void) {
    zkl_client_options options = good_options();
    zkl_client *client = NULL;
    security.sasl_password = NULL;
    security.sasl_password_file = "/nowhere/password";
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_INVALID_ARGUMENT);
    CU_ASSERT(says("sasl_password_file \"/nowhere/password\": cannot be read: No such file"));
}

/* It is connected, and its first request refused. */
static void client_without_a_login_is_told(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    ASSERT_STATUS(zkl_lock_open(client, "sasl", NULL, &lock), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_AUTH_FAILED);
    CU_ASSERT(says("the servers require an authentication"));
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_AUTH_FAILED);
    CU_ASSERT(says("the servers require an authentication"));
    zkl_lock_close(lock);
    (void)zkl_client_close(client, PATIENCE_MS);
}

static void session_survives_its_server(void) {
    zkl_client_options options = good_options();
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    zkl_lock *lock = hold(client);
    ASSERT_STATUS(zkl_client_info(client, &information), ZKL_OK);
    server_kill(servers_of_session(information.session_id));
    WAIT_UNTIL(zkl_lock_verify(lock, PATIENCE_MS) == ZKL_OK);
    zkl_lock_close(lock);
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
}

static void session_that_shows_other_credentials_logs_in_again(void) {
    zkl_client_options options = good_options();
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    zkl_lock *lock = hold(client);
    for (int i = 0; i < 5; i++) {
        ASSERT_STATUS(zkl_client_set_credentials(client, NULL, 0), ZKL_OK);
        WAIT_UNTIL(zkl_lock_verify(lock, PATIENCE_MS) == ZKL_OK);
    }
    zkl_lock_close(lock);
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
}

static void change_passwords(const char *from, const char *to) {
    char command[COMMAND_SIZE];
    snprintf(command, sizeof command, "sed -i 's/%s/%s/' '%s/jaas.conf'", from, to,
             getenv("ZKLOCK_KEYS"));
    servers_kill();
    if (system(command) != 0) {
        give_up("failed: %s", command);
    }
    servers_start();
}

/* libzookeeper tells nobody. */
static void login_that_is_refused_later_is_told(void) {
    zkl_client_options options = good_options();
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    zkl_lock *lock = hold(client);
    change_passwords(password, "changed");
    WAIT_UNTIL(zkl_lock_check(lock, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_AUTH_FAILED);
    CU_ASSERT(says("the servers refused the SASL login"));
    zkl_lock_close(lock);
    (void)zkl_client_close(client, PATIENCE_MS);
    change_passwords("changed", password);
    expect_accepted(&options);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(right_password_is_accepted),
        TEST_CASE(wrong_password_is_told),
        TEST_CASE(unknown_user_is_told),
        TEST_CASE(password_file_that_is_missing_is_named),
        TEST_CASE(client_without_a_login_is_told),
        TEST_CASE(session_survives_its_server),
        TEST_CASE(session_that_shows_other_credentials_logs_in_again),
        TEST_CASE(login_that_is_refused_later_is_told),
    };
    if (getenv("ZKLOCK_KEYS") == NULL) {
        give_up("run this as: ensemble/ensemble --local --require sasl run COMMAND");
    }
    read_line("user", user, sizeof user);
    read_line("password", password, sizeof password);
    snprintf(password_file, sizeof password_file, "%s/password", getenv("ZKLOCK_KEYS"));
    unsetenv("ZKLOCK_SECURE"); /* it is about its own options */
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
