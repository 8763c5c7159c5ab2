#include "base/close_on_exec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_connected_to(int descriptor, const struct sockaddr *peer, socklen_t length) {
    struct sockaddr_storage other = { 0 };
    socklen_t other_length = sizeof(other);
    return getpeername(descriptor, (struct sockaddr *)&other, &other_length) == 0 &&
           other_length == length && memcmp(&other, peer, length) == 0;
}

void zkl_close_on_exec(const struct sockaddr *peer, socklen_t length) {
    DIR *descriptors = opendir("/proc/self/fd");
    if (descriptors == NULL) {
        return;
    }
    for (const struct dirent *one = readdir(descriptors); one != NULL; one = readdir(descriptors)) {
        int descriptor = (int)strtol(one->d_name, NULL, 10); /* "." and ".." are looked at as 0 */
        if (is_connected_to(descriptor, peer, length)) {
            (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        }
    }
    (void)closedir(descriptors);
}
