#!/usr/bin/python3
"""Debian's python3-etcd3: client.lock(), as its documentation uses it (python-etcd3, "Lock").

Where the lock is taken its acquire() means to wait, but ends with a TypeError: it gives tenacity a function of two
arguments, and Debian's tenacity calls it with one. A buyer has to ask again by itself, as this one does.

It talks to one server. Nothing renews the lease unless the program calls refresh() itself. Each try makes a
lease, and a failed one leaves it behind until it ends.
"""
import math
import sys

import etcd3
import grpc
from lines import serve


class OneServer:
    def __init__(self, servers, timeout_ms):
        host, port = servers.split(",")[0].split(":")
        self.client = etcd3.client(host=host, port=int(port))
        self.ttl_s = math.ceil(timeout_ms / 1000)
        self.lock = None

    def acquire(self, product, wait_s):
        lock = self.client.lock(product, ttl=self.ttl_s)
        try:
            if not lock.acquire(timeout=wait_s):
                return "busy"
        except (etcd3.exceptions.Etcd3Exception, grpc.RpcError, TypeError):
            return "unknown"
        self.lock = lock
        return "granted -1"

    def held(self):
        try:
            return self.lock.is_acquired()
        except (etcd3.exceptions.Etcd3Exception, grpc.RpcError):
            return False

    def release(self):
        try:
            self.lock.release()
        except (etcd3.exceptions.Etcd3Exception, grpc.RpcError):
            pass  # its lease will end


SERVERS, _, TIMEOUT_MS, _ = sys.argv[1:]
serve(OneServer(SERVERS, int(TIMEOUT_MS)))
