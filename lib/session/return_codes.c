#include "session/return_codes.h"

#include <zookeeper/zookeeper.h>

/* What servers say, and not every libzookeeper has a name for. */
enum { SESSION_CLOSED_REQUIRES_SASL_AUTH = -124, QUOTA_EXCEEDED = -125 };

static int status_of_refusal(int rc) {
    switch (rc) {
    case ZNOAUTH:
    case ZINVALIDACL:
        return ZKL_NO_PERMISSION;
    case QUOTA_EXCEEDED:
        return ZKL_QUOTA_EXCEEDED;
    default:
        return ZKL_SERVER_REFUSED;
    }
}

zkl_outcome zkl_outcome_of_code(int rc) {
    switch (rc) {
    case ZOK:
        return ZKL_OUTCOME_OK;
    case ZNONODE:
        return ZKL_OUTCOME_NO_NODE;
    case ZTHROTTLEDOP:
    case ZNOTREADONLY:
        return ZKL_OUTCOME_NOT_NOW;
    case ZSESSIONEXPIRED:
    case ZCLOSING:
    case ZINVALIDSTATE:
    case ZAUTHFAILED:
    case SESSION_CLOSED_REQUIRES_SASL_AUTH:
        return ZKL_OUTCOME_SESSION_OVER;
    case ZNOAUTH:
    case ZINVALIDACL:
    case ZBADARGUMENTS:
    case ZUNIMPLEMENTED:
    case ZNOCHILDRENFOREPHEMERALS:
    case ZEPHEMERALONLOCALSESSION:
    case ZNODEEXISTS:
    case ZBADVERSION:
    case QUOTA_EXCEEDED:
        return ZKL_OUTCOME_REFUSED;
    case ZNOTEMPTY:
        return ZKL_OUTCOME_NOT_EMPTY;
    default:
        /* Connection loss, and all that does not prove that nothing was applied. */
        return ZKL_OUTCOME_UNKNOWN;
    }
}

zkl_reply zkl_reply_of_code(int rc) {
    zkl_reply reply = { .outcome = zkl_outcome_of_code(rc) };
    if (reply.outcome == ZKL_OUTCOME_REFUSED) {
        reply.status = status_of_refusal(rc);
    } else if (rc == SESSION_CLOSED_REQUIRES_SASL_AUTH) {
        reply.status = ZKL_AUTH_FAILED;
    }
    return reply;
}

int zkl_status_of_failure(int rc) {
    switch (rc) {
    case ZNONODE:
        return ZKL_NO_NODE;
    case ZNODEEXISTS:
        return ZKL_NODE_EXISTS;
    case ZBADVERSION:
        return ZKL_BAD_VERSION;
    case ZNOTEMPTY:
        return ZKL_NOT_EMPTY;
    default:
        return status_of_refusal(rc);
    }
}

bool zkl_is_failure(int rc) {
    zkl_outcome outcome = zkl_outcome_of_code(rc);
    return outcome == ZKL_OUTCOME_NO_NODE || outcome == ZKL_OUTCOME_REFUSED ||
           outcome == ZKL_OUTCOME_NOT_EMPTY;
}
