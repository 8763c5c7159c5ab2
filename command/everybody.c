#include "everybody.h"

#include <string.h>

bool everybody_may(const char *acl, const char *permissions) {
    static const char everybody[] = "world:anyone:";
    for (const char *found = strstr(acl, everybody); found != NULL;
         found = strstr(found, everybody)) {
        found += strlen(everybody);
        if (strcspn(found, permissions) < strspn(found, "cdrwa")) {
            return true;
        }
    }
    return false;
}
