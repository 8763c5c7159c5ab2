#include <stdbool.h>

#include "zklock/zklock.h"

#define STATUS_TEXT(name, value, text) [-(value)] = (text),
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *zkl_strerror(int status) {
    static const char *const texts[] = { ZKL_STATUS_LIST(STATUS_TEXT) };
    bool is_known = status <= 0 && status > -(int)(sizeof(texts) / sizeof(texts[0]));
    return is_known ? texts[-status] : "unknown status";
}

const char *zkl_version(void) {
    return TEXT(ZKL_VERSION_MAJOR) "." TEXT(ZKL_VERSION_MINOR) "." TEXT(ZKL_VERSION_PATCH);
}
