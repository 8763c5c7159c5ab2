#include "etcd.h"

#include "../../clock.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 2000, CONNECT_MS = 1000, SERVERS_MAX = 8, NAME_SIZE = 128 };

struct etcd {
    CURL *handle;
    char *servers[SERVERS_MAX];
    int count;
    int current;
    int64_t patience_ms;
};

typedef struct body {
    char *text;
    size_t size;
} body;

/* ---- The servers ----------------------------------------------------------------------------- */

static void fail(const char *what) {
    (void)fprintf(stderr, "etcd: %s\n", what);
    exit(2);
}

static void take_servers(etcd *self, const char *servers) {
    char *list = strdup(servers);
    char *rest = NULL;
    if (list == NULL) {
        fail("no memory");
    }
    for (char *one = strtok_r(list, ",", &rest); one != NULL && self->count < SERVERS_MAX;
         one = strtok_r(NULL, ",", &rest)) {
        self->servers[self->count++] = one;
    }
    if (self->count == 0) {
        fail("no servers are named");
    }
}

etcd *etcd_open(const char *servers) {
    etcd *self = calloc(1, sizeof *self);
    if (self == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        fail("no memory");
    }
    self->patience_ms = PATIENCE_MS;
    self->handle = curl_easy_init();
    if (self->handle == NULL) {
        fail("no memory");
    }
    take_servers(self, servers);
    return self;
}

void etcd_limit(etcd *self, int64_t patience_ms) {
    self->patience_ms = patience_ms;
}

/* ---- One request ----------------------------------------------------------------------------- */

static size_t append(char *data, size_t one, size_t count, void *context) {
    body *self = context;
    size_t more = one * count;
    char *larger = realloc(self->text, self->size + more);
    if (larger == NULL) {
        return 0;
    }
    memcpy(larger + self->size, data, more);
    self->text = larger;
    self->size += more;
    return more;
}

/* Ends a wait when the buyer is asked to end. */
static int give_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)context, (void)a, (void)b, (void)c, (void)d;
    return clock_is_over();
}

static void prepare(etcd *self, const char *text, body *answer, int64_t patience_ms, bool waits) {
    curl_easy_reset(self->handle);
    (void)curl_easy_setopt(self->handle, CURLOPT_POSTFIELDS, text);
    (void)curl_easy_setopt(self->handle, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(self->handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(self->handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    (void)curl_easy_setopt(self->handle, CURLOPT_TIMEOUT_MS, (long)patience_ms);
    (void)curl_easy_setopt(self->handle, CURLOPT_WRITEFUNCTION, append);
    (void)curl_easy_setopt(self->handle, CURLOPT_WRITEDATA, answer);
    (void)curl_easy_setopt(self->handle, CURLOPT_NOPROGRESS, waits ? 0L : 1L);
    (void)curl_easy_setopt(self->handle, CURLOPT_XFERINFOFUNCTION, give_up);
}

/* Asks each server until one can be reached. A request that has reached one is not repeated. */
static CURLcode perform(etcd *self, const char *path) {
    CURLcode code = CURLE_COULDNT_CONNECT;
    for (int tried = 0; tried < self->count && code == CURLE_COULDNT_CONNECT; tried++) {
        char url[256];
        (void)snprintf(url, sizeof url, "http://%s/v3/%s", self->servers[self->current], path);
        (void)curl_easy_setopt(self->handle, CURLOPT_URL, url);
        code = curl_easy_perform(self->handle);
        if (code == CURLE_COULDNT_CONNECT) {
            self->current = (self->current + 1) % self->count;
        }
    }
    return code;
}

static json_t *send_request(etcd *self, const char *path, json_t *request, int64_t patience_ms,
                            bool waits) {
    body answer = { NULL, 0 };
    json_t *reply = NULL;
    char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (text == NULL) {
        return NULL;
    }
    prepare(self, text, &answer, patience_ms, waits);
    CURLcode code = perform(self, path);
    long status = 0;
    (void)curl_easy_getinfo(self->handle, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status == 200) {
        reply = json_loadb(answer.text, answer.size, JSON_DISABLE_EOF_CHECK, NULL);
    } else if (!waits) {
        self->current = (self->current + 1) % self->count;
    }
    free(answer.text);
    free(text);
    return reply;
}

json_t *etcd_call(etcd *self, const char *path, json_t *request) {
    return send_request(self, path, request, self->patience_ms, false);
}

json_t *etcd_wait(etcd *self, const char *path, json_t *request, int64_t wait_ms) {
    return send_request(self, path, request, wait_ms > 0 ? wait_ms : 1, true);
}

/* ---- What the gateway reads and writes ------------------------------------------------------- */

static json_t *in_base64(const char *text) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[NAME_SIZE * 2];
    size_t size = strlen(text);
    size_t at = 0;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)(unsigned char)text[i] << 16;
        three |= i + 1 < size ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
        three |= i + 2 < size ? (uint32_t)(unsigned char)text[i + 2] : 0;
        out[at++] = letters[three >> 18];
        out[at++] = letters[three >> 12 & 63];
        out[at++] = i + 1 < size ? letters[three >> 6 & 63] : '=';
        out[at++] = i + 2 < size ? letters[three & 63] : '=';
    }
    return json_stringn(out, at);
}

json_t *etcd_lock_name(const char *product) {
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "lock/%s", product);
    return in_base64(name);
}

int64_t etcd_number(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

int64_t etcd_revision(const json_t *reply) {
    return etcd_number(json_object_get(reply, "header"), "revision");
}
