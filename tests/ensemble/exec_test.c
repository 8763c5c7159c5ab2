/* Which descriptors of a client a program inherits that another thread of the application executes.
 */
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>

/* Of a program that is executed now: those whose description in /proc has that text. */
static int count_inherited(const char *what) {
    char line[512];
    int count = 0;
    FILE *list = popen("ls -l /proc/self/fd", "r");
    if (list == NULL) {
        give_up("no ls");
    }
    while (fgets(line, sizeof line, list) != NULL) {
        count += strstr(line, what) != NULL;
    }
    (void)pclose(list);
    return count;
}

/* As both see it; 0: it is connected to none. */
static int server_of(zkl_client *client) {
    zkl_client_information information = client_information(client);
    return information.connected != 0 ? servers_of_session(information.session_id) : 0;
}

static void program_that_is_executed_inherits_no_connection(void) {
    int sockets = count_inherited("socket:");
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    ASSERT_NUMBER(count_inherited("socket:"), sockets);
    int server = server_of(client);
    server_kill(server);
    WAIT_UNTIL(server_of(client) != 0 && server_of(client) != server);
    WAIT_UNTIL(count_inherited("socket:") ==
               sockets); /* the next one neither, once that is known */
    server_start(server);
    client_close(client);
    ASSERT_NUMBER(count_inherited("socket:"), sockets);
}

static void program_that_is_executed_inherits_no_event_descriptor(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER;
    zkl_client *client = NULL;
    int descriptor = -1;
    int events = count_inherited("eventfd");
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    ASSERT_STATUS(zkl_client_event_descriptor(client, &descriptor), ZKL_OK);
    ASSERT_NUMBER(count_inherited("eventfd"), events);
    client_close(client);
}

/* What cannot be helped: libzookeeper tells nobody of the pipe that wakes its thread. */
static void program_that_is_executed_inherits_the_pipe_of_each_session(void) {
    int pipes = count_inherited("pipe:");
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    CU_ASSERT_TRUE(count_inherited("pipe:") <= pipes + 2);
    client_close(client);
    ASSERT_NUMBER(count_inherited("pipe:"), pipes);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(program_that_is_executed_inherits_no_connection),
        TEST_CASE(program_that_is_executed_inherits_no_event_descriptor),
        TEST_CASE(program_that_is_executed_inherits_the_pipe_of_each_session),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
