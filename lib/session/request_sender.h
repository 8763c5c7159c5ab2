/* What a request asks of the servers, as operations: all but its lists and watches. */
#ifndef ZKLOCK_ZOOKEEPER_REQUEST_SENDER_H
#define ZKLOCK_ZOOKEEPER_REQUEST_SENDER_H

#include "session/request_runner.h"

/** Its reply has the action as its tag. */
zkl_outcome zkl_request_send(zkl_request_runner *runner, const zkl_action *action,
                             zkl_reply_callback *done);

/** What that reply is to the request. The event is filled but for its kind. */
zkl_event zkl_request_read_reply(zkl_request_runner *runner, const zkl_reply *reply);

#endif
