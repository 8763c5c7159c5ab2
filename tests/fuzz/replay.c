/* Runs a fuzz target on files, without libFuzzer: the seeds as a unit test, with any compiler. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 16, PATH_SIZE = 4096 };

static int run_file(const char *path) {
    static uint8_t data[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout); /* known when the target aborts */
    return LLVMFuzzerTestOneInput(data, size);
}

/* How many inputs were run; -1: one could not be read. */
static int run_directory(const char *path) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    int done = 0;
    for (int i = 0; i < count; i++) {
        char file[PATH_SIZE];
        snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && done >= 0) {
            done = run_file(file) == 0 ? done + 1 : -1;
        }
        free(entries[i]);
    }
    free(entries);
    return done;
}

int main(int argc, char **argv) {
    int done = argc == 2 ? run_directory(argv[1]) : 0;
    if (done <= 0) {
        fprintf(stderr, "usage: %s DIRECTORY, with at least one input in it\n", argv[0]);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
