/* SET with NX and PX, and a value that only its owner knows: the lock that Redis' own page shows.
 */
#define _GNU_SOURCE /* getrandom */
#include "old_lock.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { EXPIRES_MS = 30000 };

static redisContext *redis;
static char value[2 * sizeof(uint64_t) + 1];

bool old_lock_open(const char *server) {
    redis = redisConnect("127.0.0.1", (int)strtol(server, NULL, 10));
    return redis != NULL && redis->err == 0;
}

bool old_lock_try(const char *name) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        return false;
    }
    snprintf(value, sizeof value, "%016" PRIx64, random);
    redisReply *reply = redisCommand(redis, "SET %s %s NX PX %d", name, value, EXPIRES_MS);
    bool taken = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return taken;
}

void old_lock_release(const char *name) {
    static const char delete_own[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                     "return redis.call('del', KEYS[1]) else return 0 end";
    freeReplyObject(redisCommand(redis, "EVAL %s 1 %s %s", delete_own, name, value));
}
