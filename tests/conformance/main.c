/*
 * Holds conversations with ZooKeeper through a connection of the library's, and compares
 * each transcript with the one that real servers gave: tests/conformance/expected. Built
 * twice, for real servers and for the simulated ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conversation.h"
#include "stage.h"
#include "transcript.h"

enum { PATH_SIZE = 1024, TEXT_SIZE = 65536 };

static const conversation *const topics[] = {
    node_conversations, sequence_conversations, watch_conversations,       children_conversations,
    loss_conversations, session_conversations,  transaction_conversations, right_conversations,
};
enum { TOPICS = sizeof(topics) / sizeof(topics[0]) };

static void path_of(char path[PATH_SIZE], const char *directory, const char *name) {
    snprintf(path, PATH_SIZE, "%s/%s.txt", directory, name);
}

static void write_file(const char *directory, const char *name, const char *text) {
    char path[PATH_SIZE];
    path_of(path, directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(EXIT_FAILURE);
    }
}

static bool is_as_expected(const char *name, const char *text) {
    char path[PATH_SIZE];
    char expected[TEXT_SIZE] = "";
    path_of(path, CONFORMANCE_EXPECTED, name);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        expected[fread(expected, 1, sizeof(expected) - 1, file)] = '\0';
        (void)fclose(file);
    }
    return strcmp(text, expected) == 0;
}

static void show_difference(const char *name, const char *text) {
    char expected[PATH_SIZE];
    char actual[PATH_SIZE];
    char command[3 * PATH_SIZE];
    write_file(CONFORMANCE_ACTUAL, name, text);
    path_of(expected, CONFORMANCE_EXPECTED, name);
    path_of(actual, CONFORMANCE_ACTUAL, name);
    snprintf(command, sizeof(command), "diff -u --label expected --label %s '%s' '%s'",
             stage_name(), expected, actual);
    (void)fflush(stdout);
    if (system(command) == 0) {
        printf("(diff sees no difference)\n");
    }
}

static bool hold(const conversation *one, int pass, bool write) {
    transcript_begin();
    stage_begin(pass);
    bool held = one->hold();
    stage_end();
    char *text = transcript_end();
    bool complete = strstr(text, TRANSCRIPT_IN_VAIN) == NULL;
    if (held && write && complete) {
        write_file(CONFORMANCE_EXPECTED, one->name, text);
    }
    bool good = !held || (complete && is_as_expected(one->name, text));
    if (!held) {
        printf("%s: not with these servers\n", one->name);
    } else if (!good) {
        show_difference(one->name, text);
    }
    free(text);
    return good;
}

static bool hold_all_passes(const conversation *one, bool write) {
    int passes = stage_passes();
    for (int pass = 0; pass < passes; pass++) {
        if (!hold(one, pass, write && pass == 0)) {
            printf("%s: differs from what real servers do, in pass %d\n", one->name, pass);
            return false;
        }
    }
    printf("%s: as expected, %d times\n", one->name, passes);
    return true;
}

static int usage(void) {
    fprintf(stderr,
            "usage: conformance_%s [--write] [CONVERSATION...]\n"
            "--write: the transcripts become what is expected (of real servers only)\n",
            stage_name());
    return 2;
}

static bool is_wanted(const char *name, char *const *wanted) {
    bool any = *wanted == NULL;
    for (; *wanted != NULL; wanted++) {
        any |= strcmp(name, *wanted) == 0;
    }
    return any;
}

int main(int argc, char **argv) {
    bool write = argc > 1 && strcmp(argv[1], "--write") == 0;
    char *const *wanted = argv + 1 + (write ? 1 : 0);
    int held = 0;
    int failed = 0;
    if (write && !stage_is_the_measure()) {
        return usage();
    }
    (void)mkdir(CONFORMANCE_ACTUAL, 0777);
    stage_program_begin();
    for (int topic = 0; topic < TOPICS; topic++) {
        for (const conversation *next = topics[topic]; next->name != NULL; next++) {
            if (is_wanted(next->name, wanted)) {
                held++;
                failed += hold_all_passes(next, write) ? 0 : 1;
            }
        }
    }
    printf("%d conversations, %d of them differ\n", held, failed);
    return held > 0 && failed == 0 ? EXIT_SUCCESS : held > 0 ? EXIT_FAILURE : usage();
}
