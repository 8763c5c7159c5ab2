/*
 * The record of a client, as an application gets it: zkl_client_write_record,
 * its options, and what a broken assertion leaves behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "playback.h"
#include "recipe/request.h"
#include "recipe/request_common.h"
#include "support/lock_desk.h"
#include "support/run_stage.h"
#include "telemetry/record_file.h"

/* ---- A directory of the test's own -------------------------------------------------- */

static char directory[64];

static void make_directory(void) {
    snprintf(directory, sizeof(directory), "/tmp/zklock-record-test-XXXXXX");
    EXPECT(mkdtemp(directory) != NULL);
}

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

/* The number of its files; the name of one is stored. */
static int count_files(char name[256]) {
    int count = 0;
    DIR *open = opendir(directory);
    EXPECT(open != NULL);
    if (open == NULL) {
        return -1;
    }
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        if (entry->d_name[0] != '.') {
            snprintf(name, 256, "%s", entry->d_name);
            count++;
        }
    }
    closedir(open);
    return count;
}

static void remove_directory(void) {
    char name[256];
    while (count_files(name) > 0) {
        EXPECT_INT(unlink(path_of(name)), 0);
    }
    EXPECT_INT(rmdir(directory), 0);
}

static const playback_result *play(const char *path) {
    static playback_result result;
    playback_play_file(path, &(playback_options){ .may_be_cut = false }, &result);
    unit_check(result.verdict == PLAYBACK_SAME, __FILE__, __LINE__, "%s: %s", path, result.message);
    return &result;
}

static bool contains(const char *path, const char *text) {
    static char bytes[65536];
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL);
    size_t length = file != NULL ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;
    bytes[length] = '\0';
    if (file != NULL) {
        fclose(file);
    }
    return strstr(bytes, text) != NULL;
}

static void expect_owner_only(const char *path) {
    struct stat file;
    EXPECT_INT(stat(path, &file), 0);
    EXPECT_INT(file.st_mode & 0777, 0600);
}

static void expect_refused(int actual, int status, const char *message, int line) {
    unit_expect_int(actual, status, "the status", __FILE__, line);
    unit_expect_text(zkl_error_message(), message, "the message", __FILE__, line);
}

#define REFUSED(call, status, message) expect_refused((call), (status), (message), __LINE__)

/* A record whose text is as long as several pieces of a file. */
static zkl_recorder *record_much(int32_t events) {
    zkl_recorder *recorder = zkl_recorder_open(events, "much", directory);
    const zkl_session_news news = { .state = ZKL_SESSION_STATE_CONNECTED, .session_id = 1 };
    for (int32_t i = 0; i < events; i++) {
        zkl_recorder_add_news(recorder, 1, i, &news);
    }
    return recorder;
}

/* ---- In which order -------------------------------------------------------------------- */

/* Less than a record, more than the name of a file. */
enum { LARGE = 512 };

static _Thread_local bool snapshot_taken;
static _Thread_local int large_allocations_after;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
zkl_record_snapshot __real_zkl_recorder_take_snapshot(const zkl_recorder *recorder, char *copy);
zkl_record_snapshot __wrap_zkl_recorder_take_snapshot(const zkl_recorder *recorder, char *copy);

void *__wrap_malloc(size_t size) {
    large_allocations_after += snapshot_taken && size >= LARGE ? 1 : 0;
    return __real_malloc(size);
}

zkl_record_snapshot __wrap_zkl_recorder_take_snapshot(const zkl_recorder *recorder, char *copy) {
    snapshot_taken = true;
    return __real_zkl_recorder_take_snapshot(recorder, copy);
}

/* ---- Writing -------------------------------------------------------------------------- */

TEST(written_record_tells_what_the_client_did) {
    make_directory();
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    const char *path = path_of("record");
    REFUSED(zkl_client_write_record(desk->client, path), ZKL_OK, "");
    EXPECT_INT(play(path)->counts.steps, 3);
    EXPECT(contains(path, "session=1 CONNECTED id=0x4d timeout_ms=10000\n"));
    EXPECT(contains(path, " path=/app/locks/stock options.depth=3 session.connected "));
    EXPECT(contains(path, " -> GRANT\n"));
    expect_owner_only(path);
    char name[256];
    EXPECT_INT(count_files(name), 1); /* nothing was left beside it */
    remove_directory();
    desk_close(desk);
}

/* Else each acquire of the client, and its session, would wait for 8 MB of fresh pages. */
TEST(memory_is_allocated_before_the_clients_mutex_is_taken) {
    make_directory();
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    snapshot_taken = false;
    large_allocations_after = 0;
    EXPECT_INT(zkl_client_write_record(desk->client, path_of("record")), ZKL_OK);
    EXPECT(snapshot_taken);
    EXPECT_INT(large_allocations_after, 0);
    snapshot_taken = false;
    remove_directory();
    desk_close(desk);
}

static void *write_records(void *arg) {
    zkl_client *client = arg;
    char path[sizeof(directory) + 16];
    snprintf(path, sizeof(path), "%s/record", directory);
    intptr_t failures = 0;
    for (int i = 0; i < 20; i++) {
        failures += zkl_client_write_record(client, path) == ZKL_OK ? 0 : 1;
    }
    return (void *)failures;
}

TEST(two_threads_write_one_file_while_the_client_goes_on) {
    enum { THREADS = 2 };
    pthread_t threads[THREADS];
    char name[256];
    make_directory();
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    for (int i = 0; i < THREADS; i++) {
        EXPECT_INT(pthread_create(&threads[i], NULL, write_records, desk->client), 0);
    }
    for (int i = 0; i < 20000; i++) { /* the ring goes round several times */
        desk_enter(desk);
        zkl_recorder_add_news(desk->client->recorder, 1, i,
                              &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED });
        desk_leave(desk);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;
        EXPECT_INT(pthread_join(threads[i], &failures), 0);
        EXPECT(failures == NULL);
    }
    (void)play(path_of("record"));
    EXPECT_INT(count_files(name), 1);
    remove_directory();
    desk_close(desk);
}

TEST(no_data_of_a_node_is_in_the_record) {
    make_directory();
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    EXPECT_INT(zkl_client_write_record(desk->client, path_of("record")), ZKL_OK);
    EXPECT(strstr(desk->fake.data, "pid=") != NULL); /* that was sent to the servers */
    EXPECT(!contains(path_of("record"), "pid="));
    EXPECT(!contains(path_of("record"), "host="));
    remove_directory();
    desk_close(desk);
}

TEST(place_that_cannot_be_written_is_named_and_nothing_is_left) {
    make_directory();
    lock_desk *desk = desk_open(NULL);
    char expected[600];
    snprintf(expected, sizeof(expected), "path \"%s/no/record\": No such file or directory",
             directory);
    char path[256];
    snprintf(path, sizeof(path), "%s/no/record", directory);
    REFUSED(zkl_client_write_record(desk->client, path), ZKL_SYSTEM, expected);
    EXPECT_INT(mkdir(path_of("taken"), 0700), 0); /* a file cannot take its place */
    EXPECT_INT(zkl_client_write_record(desk->client, path_of("taken")), ZKL_SYSTEM);
    char name[256];
    EXPECT_INT(count_files(name), 1);
    EXPECT_TEXT(name, "taken");
    EXPECT_INT(rmdir(path_of("taken")), 0);
    remove_directory();
    desk_close(desk);
}

/* ---- Disks ------------------------------------------------------------------------------ */

/* What happens to a call of write() that is still to come. */
static struct {
    int calls; /* until then; 0: to none */
    int error;
} write_fails;
static bool fsync_fails;

ssize_t __real_write(int file, const void *bytes, size_t length);
ssize_t __wrap_write(int file, const void *bytes, size_t length);
int __real_fsync(int file);
int __wrap_fsync(int file);

/* The others take a part only, as they may. */
ssize_t __wrap_write(int file, const void *bytes, size_t length) {
    if (write_fails.calls == 0) {
        return __real_write(file, bytes, length);
    }
    if (--write_fails.calls == 0) {
        errno = write_fails.error;
        return -1;
    }
    return __real_write(file, bytes, length / 2 + 1);
}

int __wrap_fsync(int file) {
    if (fsync_fails) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(file);
}

/* Also where there is room again for the next piece. */
TEST(file_with_a_piece_that_found_no_room_is_not_left) {
    char name[256];
    char path[PATH_MAX];
    make_directory();
    zkl_recorder *recorder = record_much(256);
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(recorder, NULL);
    bool written = false;
    int call = 0;
    while (!written && call < 1000) {
        write_fails.error = ENOSPC;
        write_fails.calls = ++call;
        errno = 0;
        written = zkl_record_file_write(path_of("record"), &snapshot);
        bool has_failed = write_fails.calls == 0;
        EXPECT(written == !has_failed);
        EXPECT(written || errno == ENOSPC);
        EXPECT_INT(count_files(name), written ? 1 : 0);
        write_fails.calls = has_failed ? call : 0;
        EXPECT(has_failed == !zkl_record_file_dump(recorder, path, sizeof(path)));
        EXPECT_INT(count_files(name), written ? 2 : 0);
    }
    EXPECT(written && call > 10);
    write_fails.calls = 0;
    (void)play(path_of("record"));
    zkl_recorder_close(recorder);
    remove_directory();
}

TEST(signal_does_not_end_the_writing_of_a_file) {
    make_directory();
    zkl_recorder *recorder = record_much(256);
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(recorder, NULL);
    for (int call = 1; call <= 5; call++) {
        write_fails.error = EINTR;
        write_fails.calls = call;
        EXPECT(zkl_record_file_write(path_of("record"), &snapshot));
        EXPECT_INT(write_fails.calls, 0);
        (void)play(path_of("record"));
    }
    zkl_recorder_close(recorder);
    remove_directory();
}

TEST(file_that_the_disk_does_not_take_replaces_nothing) {
    char name[256];
    make_directory();
    zkl_recorder *recorder = record_much(64);
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(recorder, NULL);
    EXPECT(zkl_record_file_write(path_of("record"), &snapshot));
    zkl_recorder_add_news(recorder, 2, 0,
                          &(zkl_session_news){ .state = ZKL_SESSION_STATE_EXPIRED });
    const zkl_record_snapshot later = zkl_recorder_take_snapshot(recorder, NULL);
    fsync_fails = true;
    EXPECT(!zkl_record_file_write(path_of("record"), &later));
    EXPECT_INT(errno, EIO);
    fsync_fails = false;
    EXPECT_INT(count_files(name), 1);
    EXPECT(!contains(path_of("record"), "session=2"));
    zkl_recorder_close(recorder);
    remove_directory();
}

/* The child may write no larger file. */
static void fill_the_disk_at(rlim_t bytes) {
    struct rlimit limit = { bytes, bytes };
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        _exit(2);
    }
}

TEST(file_may_have_the_longest_name) {
    char name[NAME_MAX + 1];
    char found[256];
    make_directory();
    zkl_recorder *recorder = zkl_recorder_open(ZKL_RECORDED_EVENTS_MIN, "new", NULL);
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(recorder, NULL);
    for (size_t length = NAME_MAX - 8; length <= NAME_MAX; length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        EXPECT(zkl_record_file_write(path_of(name), &snapshot));
        EXPECT(contains(path_of(name), " label=new "));
        EXPECT_INT(count_files(found), 1);
        EXPECT_TEXT(found, name);
        EXPECT_INT(unlink(path_of(name)), 0);
    }
    zkl_recorder_close(recorder);
    remove_directory();
}

TEST(bad_arguments_are_named) {
    char long_path[ZKL_FILE_NAME_MAX + 2];
    memset(long_path, 'p', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    lock_desk *desk = desk_open(NULL);
    REFUSED(zkl_client_write_record(NULL, "p"), ZKL_INVALID_ARGUMENT, "client: must not be NULL");
    REFUSED(zkl_client_write_record(desk->client, NULL), ZKL_INVALID_ARGUMENT,
            "path: must not be NULL");
    REFUSED(zkl_client_write_record(desk->client, ""), ZKL_INVALID_ARGUMENT,
            "path \"\": 0 bytes, must be from 1 to 1024");
    EXPECT_INT(zkl_client_write_record(desk->client, long_path), ZKL_INVALID_ARGUMENT);
    long_path[ZKL_FILE_NAME_MAX] = '\0'; /* of a good length, but too long for a file's name */
    EXPECT_INT(zkl_client_write_record(desk->client, long_path), ZKL_SYSTEM);
    desk_close(desk);
}

/* ---- Options ------------------------------------------------------------------------------ */

static int open_with(int32_t events, const char *place, zkl_client **client) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.recorded_events = events;
    options.record_directory = place;
    return zkl_client_open("h:1", &options, client);
}

TEST(number_of_events_has_its_range) {
    static const int32_t refused[] = { -2, 1, 63, 65537, INT32_MIN, INT32_MAX };
    static const int32_t accepted[] = { 0, 64, 1024, 65536 };
    zkl_client *client = NULL;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        EXPECT_INT(open_with(refused[i], NULL, &client), ZKL_INVALID_ARGUMENT);
        EXPECT(strstr(zkl_error_message(), ": must be from 64 to 65536") != NULL);
    }
    for (size_t i = 0; i < COUNT_OF(accepted); i++) {
        lock_desk *desk = desk_open(NULL); /* lends its sessions */
        EXPECT_INT(open_with(accepted[i], NULL, &client), ZKL_OK);
        EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
        desk_close(desk);
    }
}

TEST(client_that_records_nothing_says_so) {
    lock_desk *desk = desk_open(NULL);
    zkl_client *client = NULL;
    EXPECT_INT(open_with(ZKL_NONE, NULL, &client), ZKL_OK);
    REFUSED(zkl_client_write_record(client, "/nowhere/record"), ZKL_INVALID_ARGUMENT,
            "client: keeps no record: its recorded_events is ZKL_NONE");
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    desk_close(desk);
}

TEST(directory_for_records_has_a_name_of_its_own) {
    zkl_client *client = NULL;
    REFUSED(open_with(1024, "", &client), ZKL_INVALID_ARGUMENT,
            "record_directory \"\": 0 bytes, must be from 1 to 1024");
    EXPECT(client == NULL);
}

typedef struct closing_desk {
    lock_desk *desk;
    sem_t told;
    int status;
} lossy_desk;

/* ---- Broken assertions -------------------------------------------------------------------- */

typedef void child_function(void);

/* What a child says on stderr before it is aborted. */
static void expect_aborted(child_function *function, char *said, size_t size) {
    int pipe_ends[2];
    EXPECT_INT(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        alarm(20);
        function();
        _exit(0);
    }
    close(pipe_ends[1]);
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0) {
        got = read(pipe_ends[0], said + length, size - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    said[length] = '\0';
    close(pipe_ends[0]);
    int status = 0;
    EXPECT_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static zkl_client *open_client_of_child(const char *place) {
    lock_desk *desk = desk_open(NULL);
    zkl_client *client = NULL;
    if (open_with(64, place, &client) != ZKL_OK) {
        _exit(1);
    }
    (void)desk;
    return client;
}

/* As everywhere in the library: with the mutex held. */
static void break_assertion(void) {
    zkl_client *client = open_client_of_child(directory);
    pthread_mutex_lock(&client->mutex);
    zkl_assert(client->recorder, client->references == 99);
}

TEST(broken_assertion_names_itself_and_leaves_the_record) {
    make_directory();
    static char said[8192];
    char name[256];
    expect_aborted(break_assertion, said, sizeof(said));
    EXPECT_INT(count_files(name), 1);
    EXPECT(strncmp(name, "zklock-", 7) == 0);
    (void)play(path_of(name));
    EXPECT(contains(path_of(name), "session=1 CONNECTED"));
    EXPECT(strncmp(said, "zklock: broken assertion: client->references == 99 (", 52) == 0);
    EXPECT(strstr(said, "client_record_test.c:") != NULL);
    EXPECT(strstr(said, path_of(name)) != NULL);
    EXPECT(strchr(said, '\n') == said + strlen(said) - 1); /* one line */
    expect_owner_only(path_of(name));
    remove_directory();
}

static void *assert_in_thread(void *recorder) {
    zkl_assert(recorder, directory[0] == '\0');
    return NULL;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SMALL_STACK = 256 * 1024 }; /* sanitizers take most of it */
#else
enum { SMALL_STACK = 20 * 1024 }; /* less than a message and names and pieces of files need */
#endif

static void break_assertion_on_a_small_stack(void) {
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, SMALL_STACK) == 0 &&
        pthread_create(&thread, &small, assert_in_thread, record_much(64)) == 0) {
        pthread_join(thread, NULL);
    }
}

TEST(broken_assertion_on_a_small_stack_leaves_the_record) {
    static char said[8192];
    char name[256];
    make_directory();
    expect_aborted(break_assertion_on_a_small_stack, said, sizeof(said));
    EXPECT_INT(count_files(name), 1);
    (void)play(path_of(name));
    EXPECT(strstr(said, "; what led to it is in /") != NULL);
    remove_directory();
}

/* Of several clients, which have a mutex each. */
static void break_several_assertions(void) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    zkl_recorder *recorder = record_much(ZKL_RECORDED_EVENTS_MAX);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&threads[i], NULL, assert_in_thread, recorder);
    }
    (void)pthread_join(threads[0], NULL);
}

TEST(of_several_broken_assertions_one_leaves_its_record_whole) {
    static char said[8192];
    char name[256];
    make_directory();
    expect_aborted(break_several_assertions, said, sizeof(said));
    EXPECT_INT(count_files(name), 1);
    (void)play(path_of(name));
    EXPECT(strchr(said, '\n') == said + strlen(said) - 1);
    remove_directory();
}

static void break_assertion_where_stderr_is_closed(void) {
    int pipe_ends[2];
    if (pipe(pipe_ends) == 0 && dup2(pipe_ends[1], STDERR_FILENO) >= 0) {
        close(pipe_ends[0]);
        break_assertion();
    }
}

/* Not by SIGPIPE, which supervisors take for a good end. */
TEST(broken_assertion_aborts_a_program_whose_stderr_is_closed) {
    static char said[8192];
    char name[256];
    make_directory();
    expect_aborted(break_assertion_where_stderr_is_closed, said, sizeof(said));
    EXPECT_INT(count_files(name), 1);
    remove_directory();
}

/* Of two in one millisecond the second finds its name taken, perhaps by a link
 * that somebody has put there, and leaves it alone. */
TEST(record_of_a_broken_assertion_replaces_nothing) {
    enum { DUMPS = 200 };
    char path[4096];
    char name[256];
    int written = 0;
    make_directory();
    zkl_recorder *recorder = zkl_recorder_open(ZKL_RECORDED_EVENTS_MIN, "", directory);
    for (int i = 0; i < DUMPS; i++) {
        written += zkl_record_file_dump(recorder, path, sizeof(path)) ? 1 : 0;
    }
    EXPECT_INT(count_files(name), written);
    EXPECT(written > 0);
    EXPECT(!zkl_record_file_dump(recorder, path, 10)); /* no room for the name */
    zkl_recorder_close(recorder);
    remove_directory();
}

static void break_assertion_on_a_full_disk(void) {
    zkl_client *client = open_client_of_child(directory);
    fill_the_disk_at(100);
    pthread_mutex_lock(&client->mutex);
    zkl_assert(client->recorder, client->references == 99);
}

static void *give_up_waiting(void *arg) {
    (void)arg;
    sleep(30);
    _exit(3);
}

static void fill_pipe(int end) {
    static const char bytes[1024];
    EXPECT_INT(fcntl(end, F_SETFL, O_NONBLOCK), 0);
    while (write(end, bytes, sizeof(bytes)) > 0) {
    }
    EXPECT_INT(fcntl(end, F_SETFL, 0), 0);
}

/* Of a program that wants to hear nothing of SIGALRM. */
static void break_assertion_where_nobody_listens(int stderr_end) {
    sigset_t alarms;
    pthread_t watchdog;
    signal(SIGALRM, SIG_IGN);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    if (pthread_create(&watchdog, NULL, give_up_waiting, NULL) == 0) {
        dup2(stderr_end, STDERR_FILENO);
        zkl_assert(NULL, directory[0] == '\0');
    }
    _exit(2);
}

TEST(broken_assertion_ends_a_program_whose_stderr_is_stuck) {
    int pipe_ends[2];
    EXPECT_INT(pipe(pipe_ends), 0);
    fill_pipe(pipe_ends[1]);
    pid_t child = fork();
    if (child == 0) {
        break_assertion_where_nobody_listens(pipe_ends[1]);
    }
    int status = 0;
    EXPECT_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

TEST(half_a_record_of_a_broken_assertion_is_not_left) {
    static char said[8192];
    char name[256];
    make_directory();
    expect_aborted(break_assertion_on_a_full_disk, said, sizeof(said));
    EXPECT(strstr(said, "; it left no record\n") != NULL);
    EXPECT_INT(count_files(name), 0);
    remove_directory();
}

static bool recipe_asks_for_too_much;
void __real_zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions);
void __wrap_zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions);

void __wrap_zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    __real_zkl_request_step(request, event, actions);
    for (int i = 0; recipe_asks_for_too_much && i < 10 * ZKL_ACTIONS_MAX; i++) {
        zkl_actions_add(actions, &(zkl_action){ .kind = ZKL_ACTION_LIST });
    }
}

static void ask_for_too_many_actions(void) {
    setenv("TMPDIR", directory, 1);
    run_stage *stage = stage_open();
    recipe_asks_for_too_much = true;
    (void)stage_start(stage, &stage->a, "/r", TIMEOUT_MS);
}

/* With the event that broke it, and no memory beyond the array written to. */
TEST(recipe_that_asks_for_too_much_aborts_and_leaves_the_record) {
    static char said[8192];
    char name[256];
    make_directory();
    expect_aborted(ask_for_too_many_actions, said, sizeof(said));
    EXPECT(strstr(said, "!actions.overflowed") != NULL);
    EXPECT_INT(count_files(name), 1);
    EXPECT(contains(path_of(name), " START -> CREATE "));
    remove_directory();
}

TEST(release_is_recorded_without_a_status) {
    lock_desk *desk = desk_open(NULL);
    make_directory();
    desk_hold(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    EXPECT_INT(zkl_client_write_record(desk->client, path_of("record")), ZKL_OK);
    EXPECT(contains(path_of("record"), " RELEASED -> "));
    remove_directory();
    desk_answer_remove(desk);
    desk_close(desk);
}
