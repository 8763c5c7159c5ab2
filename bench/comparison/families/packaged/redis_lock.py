#!/usr/bin/python3
"""Debian's python3-redis: redis.lock.Lock, as its documentation uses it (redis-py, "Lock").

Nothing renews it while the work goes on, and the holder is not told that its time is over.
"""
import sys

import redis
from lines import serve


class OneServer:
    def __init__(self, servers, timeout_s):
        host, port = servers.split(",")[0].split(":")
        self.server = redis.Redis(host=host, port=int(port))
        self.timeout_s = timeout_s
        self.lock = None

    def acquire(self, product, wait_s):
        lock = self.server.lock(f"lock:{product}", timeout=self.timeout_s, blocking_timeout=wait_s)
        try:
            if not lock.acquire():
                return "busy"
        except redis.RedisError:
            return "unknown"
        self.lock = lock
        return "granted -1"

    def release(self):
        try:
            self.lock.release()
        except redis.RedisError:
            pass  # it was not ours any more


SERVERS, _, TIMEOUT_MS, _ = sys.argv[1:]
serve(OneServer(SERVERS, int(TIMEOUT_MS) / 1000))
