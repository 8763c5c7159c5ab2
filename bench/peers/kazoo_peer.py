#!/usr/bin/python3
"""kazoo's Lock, ReadLock, WriteLock and Semaphore: see driver.py. It is Debian's, so it runs in Debian's python3."""
import logging

from kazoo.client import KazooClient

import driver


class Contender:
    def __init__(self, client, path, permits):
        if permits > 0:
            locks = [client.Semaphore(path, max_leases=permits)] * 3
        else:
            locks = [client.Lock(path), client.ReadLock(path), client.WriteLock(path)]
        self.locks = locks
        self.held = None

    def acquire(self, mode):
        self.held = self.locks[mode]
        self.held.acquire()

    def release(self):
        self.held.release()

    def try_acquire(self):
        if not self.locks[driver.EXCLUSIVE].acquire(blocking=False):
            return False
        self.locks[driver.EXCLUSIVE].release()
        return True


class Peer:
    def session_open(self, hosts):
        client = KazooClient(hosts=hosts, timeout=driver.SESSION_TIMEOUT_S)
        client.start(timeout=driver.SESSION_TIMEOUT_S)
        return client

    def session_close(self, client):
        client.stop()
        client.close()

    def contender_open(self, client, resource, permits):
        return Contender(client, driver.ROOT + resource, permits)


logging.disable(logging.CRITICAL)
driver.main(Peer())
