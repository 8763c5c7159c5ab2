#include "doctor_servers.h"

#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "four_letters.h"

enum {
    SERVER_MS = 3000,     /* for one answer of a server */
    LATENCY_MAX_MS = 100, /* on average: each commit of a lock waits as long */
    OUTSTANDING_MAX = 100,
    VALUE_SIZE = 256
};

/* What the servers of the host list are together. */
typedef struct ensemble {
    doctor *doctor;
    int leaders;
    int serving;
    int silent; /* servers that do not say whether they serve */
    int servers;
} ensemble;

/* Judges the release: some have a defect that matters for locks (docs/servers.md). */
static void judge_version(doctor *self, const char *server, const char *text) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    char *end = NULL;
    major = (int)strtol(text, &end, 10);
    minor = *end == '.' ? (int)strtol(end + 1, &end, 10) : 0;
    patch = *end == '.' ? (int)strtol(end + 1, &end, 10) : 0;
    int number = major * 10000 + minor * 100 + patch;
    if (number < 30501) {
        doctor_find(self, LEVEL_BAD, server, "version %d.%d.%d: zklock needs 3.5.1 or later", major,
                    minor, patch);
    } else if (number < 30604 || (number >= 30700 && number < 30702) || number == 30800) {
        doctor_find(self, LEVEL_BAD, server,
                    "version %d.%d.%d: writes can hang for seconds (ZOOKEEPER-4537); update it",
                    major, minor, patch);
    } else if (number < 30900) {
        doctor_find(self, LEVEL_WARNING, server,
                    "version %d.%d.%d: it gets no fixes any more, or few", major, minor, patch);
    } else if (number == 30903) {
        doctor_find(self, LEVEL_WARNING, server,
                    "version %d.%d.%d: it can lose what was committed when the leader changes "
                    "(ZOOKEEPER-4925); update it, or start each server with "
                    "-Dzookeeper.forceSnapshotSync=true, which doctor cannot see",
                    major, minor, patch);
    } else {
        doctor_find(self, LEVEL_OK, server, "version %d.%d.%d", major, minor, patch);
    }
}

/* Judges the line "Latency min/avg/max: 0/0.4/17", and "Outstanding: 1". */
static void judge_latency(doctor *self, const char *server, const char *answer) {
    char value[VALUE_SIZE];
    char outstanding[VALUE_SIZE];
    if (!four_letters_find(answer, "Latency min/avg/max", value, sizeof(value)) ||
        !four_letters_find(answer, "Outstanding", outstanding, sizeof(outstanding))) {
        doctor_find(self, LEVEL_NOT_TESTED, server, "latency: it does not tell it");
        return;
    }
    const char *slash = strchr(value, '/');
    double average = slash != NULL ? strtod(slash + 1, NULL) : 0;
    bool is_slow = average > LATENCY_MAX_MS || strtol(outstanding, NULL, 10) > OUTSTANDING_MAX;
    doctor_find(self, is_slow ? LEVEL_WARNING : LEVEL_OK, server,
                "latency %s ms (shortest/average/longest), %s requests outstanding%s", value,
                outstanding, is_slow ? ": it is overloaded, or its disk is slow" : "");
}

static void judge_role(ensemble *self, const char *server, const char *answer) {
    char value[VALUE_SIZE];
    if (!four_letters_find(answer, "Mode", value, sizeof(value))) {
        self->silent++;
        doctor_find(self->doctor, LEVEL_NOT_TESTED, server, "role: it does not tell it");
        return;
    }
    self->serving++;
    self->leaders += strcmp(value, "leader") == 0 || strcmp(value, "standalone") == 0 ? 1 : 0;
    doctor_find(self->doctor, LEVEL_OK, server, "%s", value);
}

/* Tells whether a word is not in the server's whitelist: the answer says so, or is empty. */
static bool is_closed(const char *answer) {
    return answer[0] == '\0' || strstr(answer, "whitelist") != NULL;
}

/* Judges tick-time, which must not be shorter than the servers' tickTime: leases rely on it. */
static void judge_tick(doctor *self, const char *server) {
    char answer[ANSWER_SIZE];
    char value[VALUE_SIZE];
    char ours[DURATION_TEXT_SIZE];
    int64_t tick_ms = self->settings->tick_time_ms;
    duration_write(ours, tick_ms);
    if (!four_letters_ask(server, "conf", SERVER_MS, answer) ||
        !four_letters_find(answer, "tickTime", value, sizeof(value))) {
        doctor_find(
            self, LEVEL_NOT_TESTED, server,
            "tickTime: %s. tick-time, %s here, must not be shorter than tickTime in its zoo.cfg "
            "(3 s if there is none)",
            is_closed(answer) ? "conf is not in 4lw.commands.whitelist" : "it does not tell it",
            ours);
        return;
    }
    bool is_longer = strtoll(value, NULL, 10) > tick_ms;
    doctor_find(self, is_longer ? LEVEL_BAD : LEVEL_OK, server, "tickTime %s ms, tick-time %s%s",
                value, ours,
                is_longer
                    ? ": a lease can outlast its lock. All clients need that tick-time, or longer"
                    : "");
}

static void judge_server(ensemble *self, const char *server) {
    char answer[ANSWER_SIZE];
    char value[VALUE_SIZE];
    self->servers++;
    if (!four_letters_ask(server, "srvr", SERVER_MS, answer)) {
        doctor_find(self->doctor, LEVEL_BAD, server, "does not answer: %s", answer);
        return;
    }
    if (four_letters_find(answer, "Zookeeper version", value, sizeof(value))) {
        judge_version(self->doctor, server, value);
        judge_latency(self->doctor, server, answer);
        judge_role(self, server, answer);
    } else if (is_closed(answer)) {
        self->silent++;
        doctor_find(self->doctor, LEVEL_NOT_TESTED, server,
                    "version, latency, role: srvr is not in 4lw.commands.whitelist");
    } else {
        doctor_find(self->doctor, LEVEL_BAD, server,
                    "is not serving requests: it has no quorum, or is just starting");
    }
    judge_tick(self->doctor, server);
}

static void judge_quorum(ensemble *self) {
    int most = self->serving + self->silent;
    if (most * 2 <= self->servers) {
        doctor_find(self->doctor, LEVEL_BAD, "ensemble",
                    "%d of %d servers serve: that is no quorum", most, self->servers);
    } else if (self->leaders > 1) {
        doctor_find(self->doctor, LEVEL_BAD, "ensemble",
                    "%d of the servers lead: the host list has those of more than one ensemble",
                    self->leaders);
    } else if (self->servers < 3) {
        doctor_find(self->doctor, LEVEL_WARNING, "ensemble",
                    "%d server%s in the host list: three survive the loss of one", self->servers,
                    self->servers == 1 ? "" : "s");
    } else if (self->serving * 2 <= self->servers) {
        doctor_find(self->doctor, LEVEL_NOT_TESTED, "ensemble",
                    "%d of %d servers do not say whether they serve", self->silent, self->servers);
    } else {
        doctor_find(self->doctor, LEVEL_OK, "ensemble", "%d of %d servers serve", self->serving,
                    self->servers);
    }
}

void doctor_judge_servers(doctor *self) {
    const char *hosts = self->settings->values[SETTING_HOSTS];
    char server[SERVER_NAME_SIZE];
    ensemble all = { .doctor = self };
    if (self->settings->values[SETTING_TLS_CA_FILE] != NULL) {
        doctor_find(
            self, LEVEL_NOT_TESTED, "servers",
            "version, latency, role, tickTime: the four-letter words are for ports without TLS");
        return;
    }
    while (four_letters_next(&hosts, server)) {
        judge_server(&all, server);
    }
    judge_quorum(&all);
}
