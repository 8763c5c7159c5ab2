#include "connection/return_codes.h"

#include <zookeeper/zookeeper.h>

/* What servers say, and not every libzookeeper has a name for. */
enum { SESSION_CLOSED_REQUIRES_SASL_AUTH = -124, QUOTA_EXCEEDED = -125 };

typedef struct meaning {
    int code;
    zkl_outcome outcome;
    int status; /* why an operation of a transaction failed, or the session is over */
} meaning;

/* All others do not prove that nothing was applied, as connection loss. */
static const meaning meanings[] = {
    { ZOK, ZKL_OUTCOME_OK, ZKL_OK },
    { ZNONODE, ZKL_OUTCOME_NO_NODE, ZKL_NO_NODE },
    { ZNOWATCHER, ZKL_OUTCOME_NO_NODE, ZKL_OK }, /* to a removal alone */
    { ZNOTEMPTY, ZKL_OUTCOME_NOT_EMPTY, ZKL_NOT_EMPTY },
    { ZTHROTTLEDOP, ZKL_OUTCOME_NOT_NOW, ZKL_OK },
    { ZNOTREADONLY, ZKL_OUTCOME_NOT_NOW, ZKL_OK },
    { ZSESSIONEXPIRED, ZKL_OUTCOME_SESSION_OVER, ZKL_OK },
    { ZCLOSING, ZKL_OUTCOME_SESSION_OVER, ZKL_OK },
    { ZINVALIDSTATE, ZKL_OUTCOME_SESSION_OVER, ZKL_OK },
    { ZAUTHFAILED, ZKL_OUTCOME_SESSION_OVER, ZKL_OK },
    { SESSION_CLOSED_REQUIRES_SASL_AUTH, ZKL_OUTCOME_SESSION_OVER, ZKL_AUTH_FAILED },
    { ZNOAUTH, ZKL_OUTCOME_REFUSED, ZKL_NO_PERMISSION },
    { ZINVALIDACL, ZKL_OUTCOME_REFUSED, ZKL_NO_PERMISSION },
    { QUOTA_EXCEEDED, ZKL_OUTCOME_REFUSED, ZKL_QUOTA_EXCEEDED },
    { ZNODEEXISTS, ZKL_OUTCOME_REFUSED, ZKL_NODE_EXISTS },
    { ZBADVERSION, ZKL_OUTCOME_REFUSED, ZKL_BAD_VERSION },
    { ZBADARGUMENTS, ZKL_OUTCOME_REFUSED, ZKL_SERVER_REFUSED },
    { ZUNIMPLEMENTED, ZKL_OUTCOME_REFUSED, ZKL_SERVER_REFUSED },
    { ZNOCHILDRENFOREPHEMERALS, ZKL_OUTCOME_REFUSED, ZKL_SERVER_REFUSED },
    { ZEPHEMERALONLOCALSESSION, ZKL_OUTCOME_REFUSED, ZKL_SERVER_REFUSED },
};

static meaning meaning_of(int rc) {
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].code == rc) {
            return meanings[i];
        }
    }
    return (meaning){ rc, ZKL_OUTCOME_UNKNOWN, ZKL_OK };
}

zkl_outcome zkl_outcome_of_code(int rc) {
    return meaning_of(rc).outcome;
}

/* That a node exists, or has another version, is the status of transactions alone. */
zkl_reply zkl_reply_of_code(int rc) {
    meaning found = meaning_of(rc);
    zkl_reply reply = { .outcome = found.outcome, .moved = rc == ZSESSIONMOVED };
    if (rc == ZNODEEXISTS || rc == ZBADVERSION) {
        reply.status = ZKL_SERVER_REFUSED;
    } else if (found.outcome == ZKL_OUTCOME_REFUSED || found.outcome == ZKL_OUTCOME_SESSION_OVER) {
        reply.status = found.status;
    }
    return reply;
}

/* Whether a server has said so about this very operation of a transaction: then nothing was
 * applied. When the connection is lost libzookeeper gives that as each operation's own error
 * (lz-multi-loss); and servers check the session with each, and report it as if that one had
 * failed. */
static bool is_failure(zkl_outcome outcome) {
    return outcome == ZKL_OUTCOME_NO_NODE || outcome == ZKL_OUTCOME_REFUSED ||
           outcome == ZKL_OUTCOME_NOT_EMPTY;
}

zkl_reply zkl_reply_of_results(int rc, zkl_multi_result *results, size_t count) {
    zkl_reply reply = zkl_reply_of_code(rc);
    bool is_decided = rc == ZOK;
    for (size_t i = 0; i < count; i++) {
        meaning found = meaning_of(results[i].status);
        if (rc == ZOK) {
            results[i] = (zkl_multi_result){ .outcome = ZKL_OUTCOME_OK, .path = results[i].path };
        } else if (is_decided || !is_failure(found.outcome)) {
            results[i] = (zkl_multi_result){ .outcome = ZKL_OUTCOME_NOT_NOW };
        } else {
            results[i] = (zkl_multi_result){ .outcome = found.outcome, .status = found.status };
            reply = (zkl_reply){ .outcome = found.outcome, .status = found.status, .failed = i };
            is_decided = true;
        }
    }
    if (is_decided) {
        reply.results = results;
        reply.result_count = count;
    }
    return reply;
}
