#include "zklock/zklock.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *zkl_strerror(int status) {
    switch (status) {
#define ZKL_STATUS_CASE(name, value, text)                                                         \
    case name:                                                                                     \
        return text;
        ZKL_STATUS_LIST(ZKL_STATUS_CASE)
#undef ZKL_STATUS_CASE
    default:
        return "unknown status";
    }
}

const char *zkl_version(void) {
    return TEXT(ZKL_VERSION_MAJOR) "." TEXT(ZKL_VERSION_MINOR) "." TEXT(ZKL_VERSION_PATCH);
}
