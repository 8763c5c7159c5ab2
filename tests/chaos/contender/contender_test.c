/* What a contender does without servers: its command line, its history, what it draws. */
#include "chance.h"
#include "history.h"
#include "kinds.h"
#include "options.h"

#include "support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The command line ------------------------------------------------------------------------ */

enum { WORDS_MAX = 32, LINE_MAX_BYTES = 512 };

/* Reads a command line whose words have blanks between them. */
static bool read_line(const char *line, struct options *options, char message[MESSAGE_SIZE]) {
    static char words[LINE_MAX_BYTES];
    char *argv[WORDS_MAX] = { "chaos_contender" };
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        argv[argc++] = word;
    }
    message[0] = '\0';
    return options_read(argc, argv, options, message);
}

TEST(whole_command_line_is_taken) {
    struct options options;
    char message[MESSAGE_SIZE];
    EXPECT(read_line("--hosts a:1,b:2 --history h.jsonl --name c3-1 --host client-0 --seed 7 "
                     "--kinds exclusive,read --handles 3 --session-timeout-ms 5000 "
                     "--lease-tick-ms 500 --pace-ms 9 --store 10.0.0.1:99 --credentials u:p "
                     "--records /tmp",
                     &options, message));
    EXPECT_TEXT(message, "");
    EXPECT_TEXT(options.hosts, "a:1,b:2");
    EXPECT_TEXT(options.history, "h.jsonl");
    EXPECT_TEXT(options.name, "c3-1");
    EXPECT_TEXT(options.host, "client-0");
    EXPECT_INT(options.seed, 7);
    EXPECT_INT(options.handles, 3);
    EXPECT_TEXT(options_kind(&options, 2)->name, "exclusive");
    EXPECT_INT(options.session_timeout_ms, 5000);
    EXPECT_INT(options.lease_tick_ms, 500);
    EXPECT_INT(options.pace_ms, 9);
    EXPECT_TEXT(options.store, "10.0.0.1:99");
    EXPECT_TEXT(options.credentials, "u:p");
    EXPECT_TEXT(options.records, "/tmp");
}

TEST(handles_are_as_many_as_kinds_where_nothing_else_is_said) {
    struct options options;
    char message[MESSAGE_SIZE];
    EXPECT(read_line("--hosts a --history h --name c --kinds read,write,try", &options, message));
    EXPECT_INT(options.handles, 3);
    EXPECT(options.store == NULL);
}

TEST(wrong_command_line_is_refused_with_the_reason) {
    static const struct {
        const char *line;
        const char *says;
    } wrong[] = {
        { "", "are needed" },
        { "--hosts a --history h --name c", "--kinds are needed" },
        { "--kinds exclusive,lock", "there is no kind \"lock\"" },
        { "--kinds exclusive,", "there is no kind \"\"" },
        { "--name C3", "not \"C3\"" },
        { "--name abcdefghijklmnopqrstuvwxyz-0123456789", "--name takes 1 to 32" },
        { "--handles 0", "--handles takes a number from 1 to 256, not \"0\"" },
        { "--handles 2x", "not \"2x\"" },
        { "--seed -1", "--seed takes" },
        { "--seed 99999999999999999999", "--seed takes" },
        { "--session-timeout-ms 1", "--session-timeout-ms takes" },
        { "--lease-tick-ms 999999", "--lease-tick-ms takes" },
        { "--pace-ms x", "--pace-ms takes" },
        { "--store 99", "ADDRESS:PORT" },
        { "--hosts", "--hosts" },
        { "--wat 1", "--wat" },
        { "--seed 1 more", "\"more\" is too much" },
        { "--hosts a --history h --name c --kinds retained", "retained needs --lease-tick-ms" },
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct options options;
        char message[MESSAGE_SIZE];
        unit_check(!read_line(wrong[i].line, &options, message) &&
                       strstr(message, wrong[i].says) != NULL,
                   __FILE__, __LINE__, "%s: %s", wrong[i].line, message);
    }
}

/* ---- The history ----------------------------------------------------------------------------- */

static char path[] = "/tmp/chaos-contender-test-XXXXXX";
static atomic_int writes;

/* Takes the place of the C library's. */
ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count);

ssize_t __wrap_write(int file, const void *bytes, size_t count) {
    atomic_fetch_add(&writes, 1);
    return __real_write(file, bytes, count);
}

static void begin_history(void) {
    int file = mkstemp(path);
    EXPECT(file >= 0);
    close(file);
    EXPECT_INT(history_open(path), 0);
    atomic_store(&writes, 0);
}

static void end_history(void) {
    EXPECT_INT(unlink(path), 0);
    snprintf(path + strlen(path) - 6, 7, "XXXXXX");
}

/* Reads the one line that the history has, from its first field after the stamp. */
static const char *only_line(char *text, size_t size) {
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL && fgets(text, (int)size, file) != NULL && fgetc(file) == EOF);
    if (file != NULL) {
        fclose(file);
    }
    const char *who = strstr(text, "\"who\"");
    return who != NULL ? who : "";
}

TEST(line_of_the_history_has_its_fields_and_escapes_its_texts) {
    begin_history();
    history_line line;
    history_begin(&line, "c1-h0", "return");
    history_text(&line, "message", "a \"quoted\" \\ text,\n\ttwo lines");
    history_token(&line, 4294967302, 2);
    history_session(&line, (int64_t)0x80002cf036600000);
    history_true(&line, "async");
    history_texts(&line, "resources", (const char *const[]){ "/a", "/b\"" }, 2);
    history_begin_object(&line, "options");
    history_number(&line, "lease_tick_ms", -1);
    history_end_object(&line);
    history_write(&line);
    char text[HISTORY_LINE_SIZE];
    char expected[HISTORY_LINE_SIZE];
    snprintf(expected, sizeof expected,
             "\"who\":\"c1-h0\",\"process\":%d,\"event\":\"return\","
             "\"message\":\"a \\\"quoted\\\" \\\\ text,\\u000a\\u0009two lines\","
             "\"token\":[4294967302,2],\"session\":\"0x80002cf036600000\",\"async\":true,"
             "\"resources\":[\"/a\",\"/b\\\"\"],\"options\":{\"lease_tick_ms\":-1}}\n",
             (int)getpid());
    EXPECT_TEXT(only_line(text, sizeof text), expected);
    EXPECT(strncmp(text, "{\"at\":", 6) == 0);
    EXPECT_INT(atomic_load(&writes), 1);
    end_history();
}

enum { THREADS = 4, LINES = 200 };

static void *write_lines(void *arg) {
    for (int i = 0; i < LINES; i++) {
        history_line line;
        history_begin(&line, arg, "call");
        history_number(&line, "call", i);
        history_write(&line);
    }
    return NULL;
}

/* Counts the lines that are whole. */
static int whole_lines(void) {
    FILE *file = fopen(path, "r");
    char text[HISTORY_LINE_SIZE];
    int count = 0;
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        size_t length = strlen(text);
        count += strncmp(text, "{\"at\":", 6) == 0 && strcmp(text + length - 2, "}\n") == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

TEST(lines_of_several_threads_are_whole_and_a_write_each) {
    begin_history();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        EXPECT_INT(pthread_create(&threads[i], NULL, write_lines, "c1-h0"), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        EXPECT_INT(pthread_join(threads[i], NULL), 0);
    }
    EXPECT_INT(whole_lines(), THREADS * LINES);
    EXPECT_INT(atomic_load(&writes), THREADS * LINES);
    end_history();
}

static void write_without_room(void) {
    if (freopen("/dev/null", "w", stderr) == NULL) {
        _exit(0);
    }
    history_line line;
    history_begin(&line, "c1", "start");
    history_write(&line);
}

TEST(history_without_room_ends_the_process) {
    EXPECT_INT(history_open("/dev/full"), 0);
    pid_t child = fork();
    if (child == 0) {
        write_without_room();
        _exit(0);
    }
    int status = 0;
    EXPECT_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status));
    EXPECT_INT(WEXITSTATUS(status), HISTORY_FAILED);
}

/* ---- What it draws --------------------------------------------------------------------------- */

TEST(same_seed_draws_the_same_and_its_neighbour_something_else) {
    struct chance first = chance_begin(7, 1);
    struct chance same = chance_begin(7, 1);
    struct chance other = chance_begin(7, 2);
    int equal = 0;
    for (int i = 0; i < 100; i++) {
        int64_t number = chance_between(&first, -5, 1000000);
        EXPECT(number >= -5 && number <= 1000000);
        EXPECT_INT(chance_between(&same, -5, 1000000), number);
        equal += chance_between(&other, -5, 1000000) == number;
    }
    EXPECT(equal < 3);
}

TEST(kind_is_found_by_its_whole_name) {
    EXPECT_TEXT(kind_of_name("read,write", 4)->name, "read");
    EXPECT(kind_of_name("rea", 3) == NULL);
    EXPECT(kind_of_name("reader", 6) == NULL);
}
