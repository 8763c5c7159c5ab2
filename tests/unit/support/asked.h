/*
 * A libzookeeper that sends nothing: it keeps what it was asked for, and the test answers. The
 * linker puts these functions in the place of libzookeeper's (--wrap=zoo_acreate2 and so on).
 */
#pragma once

#include <zookeeper/zookeeper.h>

/* The last request, and the completions that the test calls in libzookeeper's place. */
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
