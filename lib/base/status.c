#include <stdbool.h>

#include "zklock/zklock.h"

#define STATUS_TEXT(name, value, text) [-(value)] = (text),
#define STATUS_NAME(name, value, text) [-(value)] = #name,
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const char *const texts[] = { ZKL_STATUS_LIST(STATUS_TEXT) };
static const char *const names[] = { ZKL_STATUS_LIST(STATUS_NAME) };

static bool is_known(int status) {
    return status <= 0 && status > -(int)(sizeof(texts) / sizeof(texts[0]));
}

const char *zkl_strerror(int status) {
    return is_known(status) ? texts[-status] : "unknown status";
}

const char *zkl_status_name(int status) {
    return is_known(status) ? names[-status] : "unknown";
}

const char *zkl_version(void) {
    return TEXT(ZKL_VERSION_MAJOR) "." TEXT(ZKL_VERSION_MINOR) "." TEXT(ZKL_VERSION_PATCH);
}
