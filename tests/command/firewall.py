#!/usr/bin/env python3
"""firewall.py FILE: sets a firewall on a machine with the address 192.0.2.11, and prints as JSON who reaches which port there.

To be run in a network namespace of its own: unshare --net. The other machines are in another one, which
this makes; there it runs as `firewall.py --others`."""

import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

MACHINE = "192.0.2.11"
OTHERS = {"server": "192.0.2.12", "client": "198.51.100.7", "client of the network": "192.0.2.50", "stranger": "203.0.113.5"}
PORTS = [22, 2181, 2888, 3888, 8080]
PATIENCE_S = 1.5


def run(line):
    subprocess.run(line.split(), check=True)


def echo(connection):
    with connection:
        while data := connection.recv(100):
            connection.sendall(data)


def serve(port):
    listening = socket.create_server(("", port))

    def accept():
        while True:
            threading.Thread(target=echo, args=[listening.accept()[0]], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def connect(address, port):
    return socket.create_connection((MACHINE, port), PATIENCE_S, (address, 0))


def is_answered(connection):
    try:
        connection.sendall(b"x")
        return connection.recv(1) == b"x"
    except OSError:
        return False


def reaches(address, port):
    try:
        with connect(address, port) as connection:
            return is_answered(connection)
    except OSError:
        return False


def be_the_others():
    print("in a namespace of our own", flush=True)
    input()
    standing = connect(OTHERS["stranger"], 2181)
    before = is_answered(standing)
    print("connected", flush=True)
    input()
    with ThreadPoolExecutor(30) as pool:
        tried = {(who, port): pool.submit(reaches, address, port) for who, address in OTHERS.items() for port in PORTS}
        still = is_answered(standing)
        found = {who: [port for port in PORTS if tried[who, port].result()] for who in OTHERS}
    print(json.dumps({"ports": found, "stood before": before, "stands": still}), flush=True)


def main():
    if sys.argv[1] == "--others":
        be_the_others()
        return
    with subprocess.Popen(["unshare", "--net", sys.executable, __file__, "--others"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as others:
        others.stdout.readline()
        there = f"nsenter --net=/proc/{others.pid}/ns/net ip"
        run(f"ip link add here type veth peer name there netns {others.pid}")
        run(f"ip address add {MACHINE}/32 dev here")
        run("ip link set here up")
        run("ip route add default dev here")
        for address in OTHERS.values():
            run(f"{there} address add {address}/32 dev there")
        run(f"{there} link set there up")
        run(f"{there} route add default dev there")
        for port in PORTS:
            serve(port)
        others.stdin.write("\n")
        others.stdin.flush()
        others.stdout.readline()
        for _ in range(2):  # it can be set again
            run(f"nft -f {sys.argv[1]}")
        others.stdin.write("\n")
        others.stdin.flush()
        print(others.stdout.readline(), end="")


main()
