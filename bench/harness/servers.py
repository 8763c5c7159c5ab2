"""What the servers themselves count."""
import socket

# Of `mntr`; summed over all servers.
KEYS = {"reads": ["zk_cnt_readlatency"], "writes": ["zk_cnt_updatelatency"], "bytes": ["zk_bytes_received_count"],
        "fired": ["zk_sum_node_deleted_watch_count", "zk_sum_node_changed_watch_count",
                  "zk_sum_node_children_watch_count", "zk_sum_node_created_watch_count"]}


def read_mntr(host):
    address, port = host.rsplit(":", 1)
    with socket.create_connection((address, int(port)), timeout=30) as connection:
        connection.sendall(b"mntr")
        text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)


def counters(hosts):
    answers = [read_mntr(host) for host in hosts]
    return {name: sum(float(answer[key]) for answer in answers for key in keys) for name, keys in KEYS.items()}


def since(before, hosts):
    after = counters(hosts)
    return {name: after[name] - before[name] for name in after}
