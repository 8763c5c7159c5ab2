/*
 * libzookeeper, which asks nobody: what it was asked is kept, and the test answers in its place.
 * The linker puts these functions in the place of libzookeeper's (--wrap=zoo_acreate2 and so on).
 */
#pragma once

#include <zookeeper/zookeeper.h>

/* The last request, and what libzookeeper is to call. */
typedef struct zoo_request {
    const void *data;
    string_stat_completion_t created;
    strings_completion_t listed;
    stat_completion_t looked;
    data_completion_t got;
    acl_completion_t got_acl;
    void_completion_t transacted;
    const zoo_op_t *operations;
    zoo_op_result_t *results;
} zoo_request;

extern zoo_request asked;
