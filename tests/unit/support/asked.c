#include "support/asked.h"

zoo_request asked;

int __wrap_zoo_acreate2(zhandle_t *handle, const char *path, const char *value, int value_size,
                        const struct ACL_vector *acl, int mode, string_stat_completion_t done,
                        const void *data);
int __wrap_zoo_awget_children(zhandle_t *handle, const char *path, watcher_fn watcher,
                              void *context, strings_completion_t done, const void *data);
int __wrap_zoo_awexists(zhandle_t *handle, const char *path, watcher_fn watcher, void *context,
                        stat_completion_t done, const void *data);
int __wrap_zoo_aget(zhandle_t *handle, const char *path, int watch, data_completion_t done,
                    const void *data);
int __wrap_zoo_aget_acl(zhandle_t *handle, const char *path, acl_completion_t done,
                        const void *data);
int __wrap_zoo_amulti(zhandle_t *handle, int count, const zoo_op_t *operations,
                      zoo_op_result_t *results, void_completion_t done, const void *data);

int __wrap_zoo_acreate2(zhandle_t *handle, const char *path, const char *value, int value_size,
                        const struct ACL_vector *acl, int mode, string_stat_completion_t done,
                        const void *data) {
    (void)handle, (void)path, (void)value, (void)value_size, (void)acl, (void)mode;
    asked.created = done;
    asked.data = data;
    return ZOK;
}

int __wrap_zoo_awget_children(zhandle_t *handle, const char *path, watcher_fn watcher,
                              void *context, strings_completion_t done, const void *data) {
    (void)handle, (void)path, (void)watcher, (void)context;
    asked.listed = done;
    asked.data = data;
    return ZOK;
}

int __wrap_zoo_awexists(zhandle_t *handle, const char *path, watcher_fn watcher, void *context,
                        stat_completion_t done, const void *data) {
    (void)handle, (void)path, (void)watcher, (void)context;
    asked.looked = done;
    asked.data = data;
    return ZOK;
}

int __wrap_zoo_aget(zhandle_t *handle, const char *path, int watch, data_completion_t done,
                    const void *data) {
    (void)handle, (void)path, (void)watch;
    asked.got = done;
    asked.data = data;
    return ZOK;
}

int __wrap_zoo_aget_acl(zhandle_t *handle, const char *path, acl_completion_t done,
                        const void *data) {
    (void)handle, (void)path;
    asked.got_acl = done;
    asked.data = data;
    return ZOK;
}

int __wrap_zoo_amulti(zhandle_t *handle, int count, const zoo_op_t *operations,
                      zoo_op_result_t *results, void_completion_t done, const void *data) {
    (void)handle, (void)count;
    asked.operations = operations;
    asked.results = results;
    asked.transacted = done;
    asked.data = data;
    return ZOK;
}
