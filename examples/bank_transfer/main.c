/* bank_transfer: many threads of several processes transfer between few accounts, to and fro. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coordinator.h"
#include "report.h"
#include "store.h"

enum { EXIT_USAGE = 2, TIMEOUT_MAX_S = 3600, KILLS_MAX = 100, PATH_SIZE = 256 };

static const char help_text[] =
    "Usage: bank_transfer [OPTION...]\n"
    "\n"
    "Transfers money between four accounts of an SQLite database, from A to B and from B\n"
    "to A at once, with both accounts locked by one set, while processes are killed.\n"
    "\n"
    "  --hosts HOSTS          ZooKeeper servers, host:port[,host:port...][/chroot];\n"
    "                         the default is the environment variable ZKLOCK_HOSTS\n"
    "  --processes N          1 to 16 (default 4)\n"
    "  --threads N            of each, 1 to 16 (default 6)\n"
    "  --transfers N          of each thread, 1 to 200 (default 20)\n"
    "  --kills N              of processes that hold locks, 0 to 100 (default 4)\n"
    "  --one-after-the-other  two locks in the caller's order: must deadlock\n"
    "  --timeout SECONDS      end a run that takes longer, 1 to 3600 (default 120)\n"
    "  --help                 show this text\n"
    "\n"
    "Exit status: 0 if every rule was kept; 1 if not; 2 if the arguments are wrong.\n";

static bool parse_number(const char *option, const char *text, int least, int most, int *number) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        (void)fprintf(stderr, "bank_transfer: --%s %s: must be a whole number from %d to %d\n",
                      option, text, least, most);
        return false;
    }
    *number = (int)value;
    return true;
}

static bool parse_option(struct bank *bank, int option, bool *help) {
    switch (option) {
    case 'H':
        bank->hosts = optarg;
        return true;
    case 'p':
        return parse_number("processes", optarg, 1, PROCESSES_MAX, &bank->processes);
    case 't':
        return parse_number("threads", optarg, 1, THREADS_MAX, &bank->threads);
    case 'n':
        return parse_number("transfers", optarg, 1, TRANSFERS_PER_THREAD_MAX, &bank->transfers);
    case 'k':
        return parse_number("kills", optarg, 0, KILLS_MAX, &bank->kills);
    case 's':
        return parse_number("timeout", optarg, 1, TIMEOUT_MAX_S, &bank->timeout_s);
    case 'o':
        bank->one_after_the_other = true;
        return true;
    case 'h':
        *help = true;
        return true;
    default:
        return false; /* getopt_long has named the input and the rule */
    }
}

static bool parse(struct bank *bank, int argc, char **argv, bool *help) {
    static const struct option options[] = {
        { "hosts", required_argument, NULL, 'H' },
        { "processes", required_argument, NULL, 'p' },
        { "threads", required_argument, NULL, 't' },
        { "transfers", required_argument, NULL, 'n' },
        { "kills", required_argument, NULL, 'k' },
        { "timeout", required_argument, NULL, 's' },
        { "one-after-the-other", no_argument, NULL, 'o' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!parse_option(bank, option, help)) {
            return false;
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "bank_transfer: %s: there must be options only\n", argv[optind]);
        return false;
    }
    if (!*help && (bank->hosts == NULL || bank->hosts[0] == '\0')) {
        (void)fputs("bank_transfer: --hosts: must name the ZooKeeper servers when ZKLOCK_HOSTS "
                    "does not\n",
                    stderr);
        return false;
    }
    return true;
}

static void name_resources(struct bank *bank) {
    for (int i = 0; i < ACCOUNTS; i++) {
        (void)snprintf(bank->resources[i], sizeof(bank->resources[i]), "bank-%ld-account-%d",
                       (long)getpid(), i);
    }
}

static bool transfer_all(const struct bank *bank) {
    struct board *board = board_make();
    if (board == NULL || store_create(bank->database, ACCOUNTS, FIRST_BALANCE) != STORE_OK) {
        (void)fprintf(stderr, "bank_transfer: %s: cannot make the database\n", bank->database);
        return false;
    }
    struct course course;
    coordinator_run(bank, board, &course);
    return report(bank, board, &course);
}

static void remove_directory(const char *directory) {
    static const char *const files[] = { "bank.sqlite", "bank.sqlite-wal", "bank.sqlite-shm" };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

int main(int argc, char **argv) {
    struct bank bank = { .hosts = getenv("ZKLOCK_HOSTS"),
                         .processes = 4,
                         .threads = 6,
                         .transfers = 20,
                         .kills = 4,
                         .timeout_s = 120 };
    bool help = false;
    if (!parse(&bank, argc, argv, &help)) {
        (void)fputs("Try 'bank_transfer --help'.\n", stderr);
        return EXIT_USAGE;
    }
    if (help) {
        (void)fputs(help_text, stdout);
        return EXIT_SUCCESS;
    }
    char directory[] = "/tmp/zklock-bank-XXXXXX";
    if (mkdtemp(directory) == NULL) {
        (void)fprintf(stderr, "bank_transfer: %s: %s\n", directory, strerror(errno));
        return EXIT_FAILURE;
    }
    char database[PATH_SIZE];
    (void)snprintf(database, sizeof(database), "%s/bank.sqlite", directory);
    bank.database = database;
    name_resources(&bank);
    bool right = transfer_all(&bank);
    remove_directory(directory);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
