/*
 * The settings: where the servers are, and how the command shows who it is. Each is given as an
 * option, in the environment (--lock-root is ZKLOCK_LOCK_ROOT there) or in a file (lock-root =
 * ...); the first of these that has it counts. A secret is never a setting, but the file that has
 * it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zklock/zklock.h>

/* X(NAME, "name", "ARGUMENT", "default, or NULL", "help") */
#define SETTING_LIST(X)                                                                            \
    X(HOSTS, "hosts", "LIST", "127.0.0.1:2181", "the servers: host:port,host:port/chroot")         \
    X(LOCK_ROOT, "lock-root", "PATH", "/locks", "the node above all resources")                    \
    X(LABEL, "label", "TEXT", NULL, "who this is, for people that look at the queue")              \
    X(SESSION_TIMEOUT, "session-timeout", "TIME", "30s",                                           \
      "a lock of a crashed holder passes on after this long")                                      \
    X(TICK_TIME, "tick-time", "TIME", "2s", "tickTime of the servers, or longer")                  \
    X(CONNECT_TIMEOUT, "connect-timeout", "TIME", "15s", "how long to wait for a connection")      \
    X(LOG, "log", "FILE", "none", "lines of JSON, appended; or: journal, syslog, none")            \
    X(CREDENTIALS_FILE, "credentials-file", "FILE", NULL,                                          \
      "lines SCHEME:SECRET, as digest:user:password")                                              \
    X(NODE_ACL, "node-acl", "ACL", NULL, "of the nodes of locks")                                  \
    X(PARENT_ACL, "parent-acl", "ACL", NULL, "of the nodes of resources")                          \
    X(TLS_CA_FILE, "tls-ca-file", "FILE", NULL, "TLS: the authorities to be trusted")              \
    X(TLS_CERTIFICATE_FILE, "tls-certificate-file", "FILE", NULL, "TLS: our certificate")          \
    X(TLS_KEY_FILE, "tls-key-file", "FILE", NULL, "TLS: its key")                                  \
    X(TLS_KEY_PASSWORD_FILE, "tls-key-password-file", "FILE", NULL,                                \
      "TLS: the first line is the key's password")                                                 \
    X(TLS_SERVER_NAMES, "tls-server-names", "LIST", NULL, "TLS: names that servers may have")      \
    X(SASL_MECHANISM, "sasl-mechanism", "NAME", NULL, "SASL: such as DIGEST-MD5")                  \
    X(SASL_USER, "sasl-user", "NAME", NULL, "SASL: who we are")                                    \
    X(SASL_PASSWORD_FILE, "sasl-password-file", "FILE", NULL,                                      \
      "SASL: the first line is the password")                                                      \
    X(SASL_SERVICE, "sasl-service", "NAME", NULL, "SASL: what the servers call themselves")        \
    X(SASL_HOST, "sasl-host", "NAME", NULL, "SASL: the host name of the servers")

typedef enum setting {
#define SETTING_ENUM(name, text, argument, initial, help) SETTING_##name,
    SETTING_LIST(SETTING_ENUM)
#undef SETTING_ENUM
        SETTING_COUNT
} setting;

typedef struct setting_description {
    const char *name;
    const char *argument;
    const char *initial;
    const char *help;
} setting_description;

extern const setting_description setting_descriptions[SETTING_COUNT];

typedef struct settings {
    const char *values[SETTING_COUNT]; /* from the options at first; after settings_complete from
                                          everywhere */
    const char *file;                  /* the file of --config; NULL: see settings_complete */
    int64_t session_timeout_ms;
    int64_t tick_time_ms;
    int64_t connect_timeout_ms;
    bool silent; /* says nothing if a client cannot be opened */
} settings;

/**
 * Adds what the environment, the file and the defaults have. The file is that of --config, else of
 * ZKLOCK_CONFIG, else the first of these that exists: $XDG_CONFIG_HOME/zklock/config (or
 * ~/.config/zklock/config), /etc/zklock/config. False: something is wrong, and it has said what.
 */
bool settings_complete(settings *self);

/** Opens a client. Returns ZKL_OK; or another status, and has said why. */
int settings_open_client(const settings *self, const zkl_client_options *options,
                         zkl_client **client);
