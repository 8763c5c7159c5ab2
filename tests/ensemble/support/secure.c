#include "support/secure.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_SIZE = 1024 };

static struct {
    char ca[FILE_SIZE], certificate[FILE_SIZE], key[FILE_SIZE], password[FILE_SIZE];
} files;

static bool wants(const char *what) {
    const char *wanted = getenv("ZKLOCK_SECURE");
    return wanted != NULL && strcmp(wanted, what) == 0;
}

static void name_file(char file[FILE_SIZE], const char *name) {
    snprintf(file, FILE_SIZE, "%s/%s", getenv("ZKLOCK_KEYS"), name);
}

static void name_all(void) {
    name_file(files.ca, "ca.pem");
    name_file(files.certificate, "client.pem");
    name_file(files.key, "client.key");
    name_file(files.password, "password");
}

/* Threads open clients side by side. */
static void name_files(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, name_all);
}

/* The server at the same place of the other list. False: it is none of them, a proxy perhaps. */
static bool translate(const char *server, size_t length, char *to, size_t size) {
    const char *clear = getenv("ZKLOCK_HOSTS");
    const char *secure = getenv("ZKLOCK_SECURE_HOSTS");
    if (clear == NULL || secure == NULL) {
        return false;
    }
    while (strncmp(clear, server, length) != 0 || strchr(",", clear[length]) == NULL) {
        clear = strchr(clear, ',');
        secure = strchr(secure, ',');
        if (clear == NULL || secure == NULL) {
            return false;
        }
        clear++;
        secure++;
    }
    snprintf(to + strlen(to), size - strlen(to), "%s%.*s", to[0] != '\0' ? "," : "",
             (int)strcspn(secure, ","), secure);
    return true;
}

static bool translate_all(const char *hosts, char *to, size_t size) {
    size_t end = strcspn(hosts, "/");
    to[0] = '\0';
    for (size_t at = 0; at < end;) {
        size_t length = strcspn(hosts + at, ",/");
        if (!translate(hosts + at, length, to, size)) {
            return false;
        }
        at += length + (hosts[at + length] == ',');
    }
    snprintf(to + strlen(to), size - strlen(to), "%s", hosts + end);
    return true;
}

const char *secure_options(const char *hosts, char *room, size_t size, zkl_security *security) {
    if (wants("sasl")) {
        name_files();
        security->sasl_mechanism = "DIGEST-MD5";
        security->sasl_user = "zklock";
        security->sasl_password_file = files.password;
    } else if (wants("tls") && hosts != NULL && translate_all(hosts, room, size)) {
        name_files();
        security->tls_ca_file = files.ca;
        security->tls_certificate_file = files.certificate;
        security->tls_key_file = files.key;
        return room;
    }
    return hosts;
}

#ifdef ZKL_HAS_SASL
zhandle_t *secure_raw(const char *hosts, int timeout_ms, const clientid_t *session) {
    zoo_sasl_params_t parameters = { .service = "zookeeper",
                                     .host = "zk-sasl-md5",
                                     .mechlist = "DIGEST-MD5" };
    if (!wants("sasl")) {
        return zookeeper_init(hosts, NULL, timeout_ms, session, NULL, 0);
    }
    sasl_client_init(NULL);
    name_files();
    parameters.callbacks = zoo_sasl_make_basic_callbacks("zklock", NULL, files.password);
    return zookeeper_init_sasl(hosts, NULL, timeout_ms, session, NULL, 0, NULL, &parameters);
}
#else
zhandle_t *secure_raw(const char *hosts, int timeout_ms, const clientid_t *session) {
    return zookeeper_init(hosts, NULL, timeout_ms, session, NULL, 0);
}
#endif
