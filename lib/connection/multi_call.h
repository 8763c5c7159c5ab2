/* A transaction as libzookeeper takes it. */
#pragma once

#include <zookeeper/zookeeper.h>

#include "connection/operations.h"

/** What libzookeeper writes into until it has called the completion. One piece of memory: free it.
 */
typedef struct zkl_multi_call {
    size_t count;
    zoo_op_result_t *results;
    zoo_op_t *prepared;
    zkl_multi_result *told;
} zkl_multi_call;

/** The operation and the ACL must live until the call has been made. NULL: out of memory. */
zkl_multi_call *zkl_multi_call_make(const zkl_operation *operation, const struct ACL_vector *acl);
/** As long as the call. */
zkl_reply zkl_multi_call_reply(const zkl_multi_call *self, int rc);
