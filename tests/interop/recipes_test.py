#!/usr/bin/python3
"""What ZooKeeper's own locks and go-zookeeper's do wrong, each shown once: alone, where it does not take zklock.

docs/interoperability.md tells of them. A test of a defect fails when the library no longer has it: then that page is to be changed.
"""
import re
import time
import unittest
import uuid

from kazoo.client import KazooClient

from matrix import servers
from matrix.stage import Side, Stage, wait_until

# Longer than a grant takes; what is waited for in vain is not asked for by a time.
SHORT_MS = 1500
EXISTS, DELETE = 3, 2
CREATES = (1, 15)


def request(opcode, text):
    """The pattern of a request on the wire: its opcode, the length of the path, the path."""
    return re.escape(opcode.to_bytes(4, "big")) + b"...." + re.escape(text.encode())


class Recipe(unittest.TestCase):
    library = None

    def setUp(self):
        # Of the server behind the proxies: what it sees, a contender there sees.
        client = KazooClient(hosts=servers.HOSTS.split(",")[0])
        client.start()
        self.addCleanup(client.close)
        self.addCleanup(client.stop)
        self.client = client
        self.stage = Stage(client, f"/interop-{uuid.uuid4().hex[:8]}/lock", [])
        self.addCleanup(self.stage.close)

    # ---- Who takes part ----

    def theirs(self, kind="lock", **more):
        return self.stage.start(Side("theirs", self.library, kind), **more)

    def theirs_behind_proxy(self):
        return self.stage.start_behind_proxy(Side("theirs", self.library, "lock"))

    def ours(self, kind="exclusive"):
        return self.stage.start(Side("ours", "zklock", kind))

    def make_child(self, name):
        self.client.create(f"{self.stage.path}/{name}", makepath=True)

    # ---- What is seen ----

    def names(self):
        return sorted(self.stage.tree.children(), key=lambda name: name[-10:])

    def await_queue(self, length):
        self.stage.await_queue(length)

    def never_queued(self, seconds=1):
        self.await_queue(0)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.assertEqual(self.names(), [])
            time.sleep(0.02)

    def answers(self, contender, word, status):
        answer = contender.answer(word)
        self.assertEqual(answer.status, status, str(answer))
        return answer.text

    def asked(self, contender, command, status):
        contender.tell(command)
        return self.answers(contender, command.split()[0], status)

    # ---- What several of them do ----

    def wait_behind(self, holder, waiter):
        holder.acquire()
        waiter.begin_acquire()
        self.await_queue(2)
        time.sleep(0.3)  # and its watch is set: nothing tells

    def cancelled_waiter(self):
        """One that has given up, behind a holder that then releases."""
        holder, waiter = self.theirs(), self.theirs()
        self.wait_behind(holder, waiter)
        self.asked(waiter, "cancel", "ok")
        self.answers(waiter, "acquire", "cancelled")
        self.await_queue(1)
        holder.release()
        return waiter

    def too_late_for_its_watch(self):
        """A waiter whose predecessor goes between its list and its request for a watch; and its proxy."""
        holder = self.theirs()
        node = holder.acquire()
        waiter, proxy = self.theirs_behind_proxy()
        proxy.hold(request(EXISTS, node))
        waiter.begin_acquire()
        self.release_meanwhile(holder, proxy)
        return waiter, proxy

    def release_meanwhile(self, holder, proxy):
        """The holder is gone, for the server too, before a request goes on that the proxy is to hold."""
        self.assertTrue(proxy.await_held())
        holder.release()
        self.await_queue(1)
        proxy.let_go()

    def reconnect(self, proxy):
        proxy.cut()
        proxy.mend()
        wait_until(proxy.is_connected, "it is connected again")

    def holder_of_ended_session(self):
        """And a lock of ours that is granted, since the servers have deleted its node."""
        holder, ours = self.theirs(), self.ours()
        holder.acquire()
        ours.begin_acquire()
        self.await_queue(2)
        servers.end_session(holder.session_id)
        ours.granted()
        return holder

    def shows_blocked_by(self, child):
        """A child that is nobody's request, which ours passes over."""
        self.make_child(child)
        ours, theirs = self.ours(), self.theirs()
        ours.acquire()
        ours.release()
        self.asked(theirs, f"acquire {SHORT_MS}", "timeout")

    def shows_numbers_are_compared(self, earlier):
        """An earlier request whose name comes later in the alphabet is waited for."""
        self.client.create(f"{self.stage.path}/{earlier}", ephemeral=True, sequence=True, makepath=True)
        self.asked(self.theirs(), f"acquire {SHORT_MS}", "timeout")


class ZkrLock(Recipe):
    library = "zkr_lock"

    def test_alone_a_waiter_that_has_given_up_takes_the_lock(self):
        waiter = self.cancelled_waiter()
        self.await_queue(1)
        wait_until(lambda: waiter.ask("held").status == "ok", "it owns the lock that nobody waits for")

    def test_alone_a_reconnect_takes_the_lock_unasked(self):
        waiter, proxy = self.too_late_for_its_watch()
        waiter.granted()
        waiter.release()
        self.never_queued()
        self.reconnect(proxy)
        wait_until(lambda: waiter.ask("held").status == "ok", "it owns a lock that nobody has asked for")
        self.await_queue(1)

    def test_alone_a_waiter_loses_its_place_when_its_predecessor_has_just_left(self):
        waiter, _ = self.too_late_for_its_watch()
        self.assertTrue(waiter.granted().endswith("-0000000002"))  # and was 1

    def test_the_holder_of_an_ended_session_says_that_it_owns(self):
        holder = self.holder_of_ended_session()
        time.sleep(1)
        self.assertEqual(holder.ask("held").status, "ok")  # and ours holds
        self.asked(holder, "release", "failed")
        self.asked(holder, f"acquire {SHORT_MS}", "timeout")  # zkr_lock_lock has returned 0
        self.assertEqual(holder.ask("held").status, "ok")

    def test_alone_a_waiter_of_an_ended_session_is_not_told(self):
        holder, waiter = self.theirs(), self.theirs()
        self.wait_behind(holder, waiter)
        servers.end_session(waiter.session_id)
        self.await_queue(1)
        holder.release()
        self.never_queued()
        self.assertFalse(waiter.has_answered("acquire"))

    def test_alone_two_locks_of_a_session_are_both_granted(self):
        self.theirs("twice").acquire()
        self.await_queue(1)

    def test_alone_a_child_without_a_dash_ends_the_process(self):
        for child in ("config", f"{uuid.uuid4().hex}__lock__0000000000"):
            with self.subTest(child):
                self.make_child(child)
                theirs = self.theirs()
                theirs.begin_acquire()
                self.assertEqual(theirs.process.wait(30), -11)
                self.client.delete(f"{self.stage.path}/{child}")
                wait_until(lambda: not self.names(), "its session has timed out")

    def test_beside_kazoos_lock_the_process_ends(self):
        kazoo = self.stage.start(Side("kazoo", "kazoo", "lock"))
        kazoo.acquire()
        theirs = self.theirs()
        theirs.begin_acquire()
        self.assertEqual(theirs.process.wait(30), -11)

    def test_is_blocked_by_the_first_stripe(self):
        self.shows_blocked_by("stripe-0000")

    def test_compares_numbers_not_sessions(self):
        """ZOOKEEPER-3162, mended."""
        self.shows_numbers_are_compared("x-ffffffffffffffff-")


class WriteLock(Recipe):
    library = "write_lock"

    def test_alone_a_waiter_is_never_granted_when_its_predecessor_has_just_left(self):
        waiter, _ = self.too_late_for_its_watch()
        behind = self.ours()
        behind.begin_acquire()
        self.await_queue(2)
        time.sleep(SHORT_MS / 1000)
        self.assertFalse(waiter.has_answered("acquire"))
        self.assertFalse(behind.has_answered("acquire"))  # who is behind it waits as well
        self.asked(waiter, "cancel", "ok")
        behind.granted()

    def test_alone_asking_again_and_again_gets_it(self):
        """The way round the last one, if it is a new lock each time: the matrix shows it a thousand times."""
        holder = self.theirs("polled")
        node = holder.acquire()
        waiter, proxy = self.stage.start_behind_proxy(Side("theirs", self.library, "polled"))
        proxy.hold(request(EXISTS, node))
        waiter.begin_acquire()
        self.release_meanwhile(holder, proxy)
        waiter.granted()

    def test_alone_asking_again_and_again_takes_it_once_more_after_its_release(self):
        """With one and the same lock: each lock() has left a watch, and they fire one after the other."""
        holder, waiter = self.theirs("repeated"), self.theirs("repeated")
        for _ in range(10):  # if all have fired before the release, nothing happens
            holder.acquire()
            waiter.begin_acquire()
            time.sleep(2)
            holder.release()
            waiter.granted()
            waiter.release()
            time.sleep(0.5)
            if waiter.ask("held").status == "ok":
                return
        self.fail("nobody owns a lock that nobody has asked for")

    def test_alone_a_waiter_that_has_given_up_takes_the_lock(self):
        waiter = self.cancelled_waiter()
        self.await_queue(1)
        wait_until(lambda: waiter.ask("held").status == "ok", "it owns the lock that nobody waits for")

    def test_alone_a_reconnect_takes_the_lock_unasked(self):
        waiter, proxy = self.too_late_for_its_watch()
        self.asked(waiter, "cancel", "ok")
        self.never_queued()
        self.reconnect(proxy)
        wait_until(lambda: waiter.ask("held").status == "ok", "it owns a lock that nobody has asked for")
        self.await_queue(1)

    def test_alone_a_lost_reply_of_a_create_blocks_all_until_its_session_ends(self):
        theirs, proxy = self.theirs_behind_proxy()
        proxy.lose_reply(b"|".join(request(opcode, f"{self.stage.path}/x-") for opcode in CREATES))
        theirs.begin_acquire()
        wait_until(lambda: proxy.lost == 1, "the reply is lost")
        wait_until(proxy.is_connected, "it is connected again")
        self.await_queue(1)
        ours = self.ours()
        ours.begin_acquire()
        self.await_queue(2)
        time.sleep(SHORT_MS / 1000)
        self.assertFalse(theirs.has_answered("acquire"))  # it is the first, and waits for itself
        self.asked(theirs, "cancel", "failed")  # it has forgotten the beginning of its node's path
        self.await_queue(2)
        self.assertFalse(ours.has_answered("acquire"))
        servers.end_session(theirs.session_id)
        ours.granted()

    def test_alone_a_release_without_a_connection_leaves_the_lock_held(self):
        theirs, proxy = self.theirs_behind_proxy()
        node = theirs.acquire()
        proxy.hold(request(DELETE, node))
        theirs.tell("release")
        self.assertTrue(proxy.await_held())
        proxy.cut()
        proxy.let_go()
        time.sleep(0.1)
        proxy.mend()
        self.answers(theirs, "release", "failed")
        wait_until(proxy.is_connected, "it is connected again")
        self.assertEqual(theirs.ask("held").status, "lost")
        self.asked(theirs, "release", "ok")  # which does nothing: it has forgotten its node
        time.sleep(SHORT_MS / 1000)
        self.await_queue(1)

    def test_the_holder_of_an_ended_session_says_that_it_owns(self):
        holder = self.holder_of_ended_session()
        time.sleep(1)
        self.assertEqual(holder.ask("held").status, "ok")  # and ours holds

    def test_alone_a_second_lock_of_a_session_waits_for_itself(self):
        theirs = self.theirs("twice")
        theirs.tell(f"acquire {SHORT_MS}")
        self.assertIn("Path must start with /", self.answers(theirs, "acquire", "failed"))
        self.await_queue(1)

    def test_alone_a_waiter_whose_node_was_deleted_by_hand_waits_for_ever(self):
        holder, waiter = self.theirs(), self.theirs()
        self.wait_behind(holder, waiter)
        self.client.delete(f"{self.stage.path}/{self.names()[1]}")
        later = self.ours()
        later.begin_acquire()
        self.await_queue(2)
        holder.release()
        later.granted()
        time.sleep(SHORT_MS / 1000)  # else it would find nobody, and join again
        later.release()
        self.never_queued()
        self.assertFalse(waiter.has_answered("acquire"))

    def test_is_blocked_by_a_stripe(self):
        self.shows_blocked_by("stripe-0001")

    def test_passes_over_children_without_a_number(self):
        self.make_child("config")
        self.make_child(f"{uuid.uuid4().hex}__lock__0000000000")
        self.theirs().acquire()

    def test_compares_numbers_not_sessions(self):
        """ZOOKEEPER-2931, mended."""
        self.shows_numbers_are_compared("x-9-")


class GoZookeeper(Recipe):
    library = "go_zookeeper"

    def test_alone_any_child_without_a_number_fails_it_and_leaves_its_node_for_the_session(self):
        for child in ("config", f"{uuid.uuid4().hex}__lock__0000000000", "_c_x-__WRIT__0000000000"):
            with self.subTest(child):
                self.make_child(child)
                theirs = self.theirs()
                theirs.begin_acquire()
                self.assertIn("strconv.Atoi", self.answers(theirs, "acquire", "failed"))
                self.client.delete(f"{self.stage.path}/{child}")
                self.await_queue(1)
                self.assertIn("not locked", self.asked(theirs, "release", "failed"))
                time.sleep(SHORT_MS / 1000)
                self.await_queue(1)
                theirs.end()
                wait_until(lambda: not self.names(), "its session has ended")

    def test_beside_our_reader_it_fails_and_blocks_our_writer(self):
        reader, writer, theirs = self.ours("read"), self.ours("write"), self.theirs()
        reader.acquire()
        theirs.begin_acquire()
        self.answers(theirs, "acquire", "failed")
        reader.release()
        writer.begin_acquire()
        self.await_queue(2)
        time.sleep(SHORT_MS / 1000)
        self.assertFalse(writer.has_answered("acquire"))
        theirs.end()
        writer.granted()

    def test_a_waiter_whose_node_was_deleted_by_hand_is_granted_beside_ours(self):
        holder, theirs, ours = self.ours(), self.theirs(), self.ours()
        self.wait_behind(holder, theirs)
        self.client.delete(f"{self.stage.path}/{self.names()[1]}")
        ours.begin_acquire()
        self.await_queue(2)
        holder.release()
        ours.granted()
        theirs.granted()
        self.assertEqual(ours.ask("held").status, "ok")

    def test_the_lock_of_an_ended_session_can_never_be_used_again(self):
        holder = self.holder_of_ended_session()
        wait_until(lambda: "node does not exist" in holder.ask("release").text, "it has a session again")
        self.assertIn("twice", self.asked(holder, f"acquire {SHORT_MS}", "failed"))

    def test_alone_a_lost_reply_of_a_create_is_found_again(self):
        theirs, proxy = self.theirs_behind_proxy()
        proxy.lose_reply(b"-lock-")
        theirs.acquire()
        self.assertEqual(proxy.lost, 1)
        self.await_queue(1)

    def test_alone_a_waiter_is_granted_when_its_predecessor_has_just_left(self):
        holder = self.ours()
        node = holder.acquire()
        waiter, proxy = self.theirs_behind_proxy()
        proxy.hold(re.escape(node.encode()))
        waiter.begin_acquire()
        self.release_meanwhile(holder, proxy)
        waiter.granted()

    def test_alone_a_second_lock_of_a_session_waits(self):
        self.asked(self.theirs("twice"), f"acquire {SHORT_MS}", "timeout")

    def test_is_blocked_by_a_stripe(self):
        self.shows_blocked_by("stripe-0001")


if __name__ == "__main__":
    unittest.main()
