"""What happens to the servers of a lock, to the way to them, and to clocks."""
import time

from .packets import LostPackets
from .round import LONG_MS, WORK_MS, Round, all_settle, begins_inside, first_sale_s, seconds_until_sale, settles
from .sale import NotSeen

SEVERAL = ("redis-5", "redis-6")


# ---- The lock's servers -------------------------------------------------------------------------------------------

def two_about_a_unit(all_of, fault, clock=None):
    """One is inside, then the fault, then another asks: the last unit is sold once or twice."""
    holder = all_of.buyer(work_ms=LONG_MS * 2 // 3, timeout_ms=LONG_MS)
    other = all_of.buyer(timeout_ms=LONG_MS, clock=clock)
    begins_inside(holder)
    fault()
    other.begin()
    return all_of.outcome(settled=[settles(holder), settles(other, 20)])


def server_restarted(bench, mechanism, fence=False):
    """(d) The lock's one server is killed, and started again as its package configures it."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        def fault():
            own.all[0].kill()
            own.all[0].start()
        return two_about_a_unit(all_of, fault)


def primary_lost(bench, mechanism, fence=False):
    """(d) The primary dies before its replica has heard of the lock, and the replica is promoted."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        own.link.cut()
        return two_about_a_unit(all_of, own.lose_primary)


def leader_killed(bench, mechanism, fence=False):
    """(d) The leader of the quorum is killed while a buyer is inside. How long until the other one sells? On a busy
    machine the servers may take longer to elect another leader than anybody waits elsewhere."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 2, fence, own) as all_of:
        holder = all_of.buyer(work_ms=WORK_MS, timeout_ms=LONG_MS)
        other = all_of.buyer(timeout_ms=LONG_MS)
        begins_inside(holder)
        own.kill_leader()
        killed_at = all_of.sale.database.now_us()
        other.begin()
        waits = (seconds_until_sale(all_of, other, killed_at) for _ in range(4))
        stuck_s = next((seconds for seconds in waits if seconds is not None), None)
        found = all_of.outcome(stuck_s=stuck_s)
        return {**found, "harm": stuck_s is None or found["overlaps"] > 0}


def majority_forgets(bench, mechanism, fence=False):
    """(d) Two of the servers are down while a buyer locks the others; they come back, and of the others so many are
    restarted, and forget their keys, that the forgetful are a majority."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        away = own.all[-2:]
        for one in away:
            one.kill()

        def fault():
            for one in away:
                one.start()
            for one in own.all[:len(own.all) // 2 + 1 - len(away)]:
                one.kill()
                one.start()
        return two_about_a_unit(all_of, fault)


def two_servers_down(bench, mechanism, fence=False):
    """(d) Two of the servers are down. Harm: nobody sells."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 2, fence, own) as all_of:
        for one in own.all[-2:]:
            one.kill()
        one = all_of.buyer(timeout_ms=LONG_MS)
        since_us = all_of.sale.database.now_us()
        one.begin()
        stuck_s = seconds_until_sale(all_of, one, since_us)
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


def redlock_server_slow(bench, mechanism, fence=False):
    """(d) Two of the servers answer nothing for twice the time-out of the lock, and then go on. Harm: nobody sells."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, 2, fence, own) as all_of:
        slow = own.all[-2:]
        one = all_of.buyer()
        for each in slow:
            each.stop()
        since_us = all_of.sale.database.now_us()
        one.begin()
        time.sleep(2 * mechanism.timeout_ms / 1000)
        for each in slow:
            each.resume()
        stuck_s = seconds_until_sale(all_of, one, since_us)
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None)


GRANTS = 50  # before the restart: so many tokens may come again


def tokens(buyer):
    return [number for _, word, number in buyer.steps if word == "granted"]


def counter_goes_back(bench, mechanism, fence=False):
    """(d) Between the grants of one buyer and those of the next one all servers are killed, and started again as
    packaged. Harm: a token is not greater than those before the restart, or nobody sells any more."""
    own = bench.own_servers(mechanism)
    with Round(bench, mechanism, GRANTS + 1, fence, own) as all_of:
        before = all_of.buyer(orders=GRANTS)
        before.begin()
        if not settles(before, 60):
            raise NotSeen("the first buyer has not sold all before the restart")
        own.restart()
        after = all_of.buyer()
        since_us = all_of.sale.database.now_us()
        after.begin()
        stuck_s = seconds_until_sale(all_of, after, since_us)
        goes_back = min(tokens(after), default=0) <= max(tokens(before)) and bool(tokens(after))
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None or goes_back)


# ---- Votes --------------------------------------------------------------------------------------------------------

VOTERS = 6
LONGEST_DELAY_S = 0.01  # of a request: on loopback alone each would come to all servers before the next one


def voter(all_of):
    """Says how every single vote of it went."""
    way = all_of.before_lock()
    for one in way.all:
        one.delay(LONGEST_DELAY_S)
    return all_of.buyer(lock_address=way.address, wait_ms=0, pause_ms=100, random_pauses=1)


def votes_of(buyer):
    """(began, ended, how): the locking of who was granted ends with its release."""
    asked = None
    for at_us, word, _ in buyer.steps:
        if word == "asks":
            asked = at_us
        elif word in ("busy", "unknown", "released"):
            yield asked, at_us, word


def in_vain(votes):
    """Those that a majority answered, and that ended with nobody. Whoever was refused while another one got it, or had
    it, does not count."""
    held = [one for one in votes if one[2] == "released"]
    refused = [one for one in votes if one[2] == "busy"]
    return [one for one in refused if not any(one[0] < other[1] and other[0] < one[1] for other in held)]


def split_votes(bench, mechanism, fence=False):
    """(d) Six ask for one product at the same moment, and their requests come to each server in another order. Whoever
    has no majority asks again after a pause by chance. Harm: nobody sells."""
    with Round(bench, mechanism, VOTERS, fence, bench.own_servers(mechanism)) as all_of:
        crowd = [voter(all_of) for _ in range(VOTERS)]
        since_us = all_of.sale.database.now_us()
        settled = all_settle(crowd)
        all_of.end_buyers()
        votes = [vote for one in crowd for vote in votes_of(one)]
        grants, unanswered = (sum(one[2] == how for one in votes) for how in ("released", "unknown"))
        if unanswered > len(votes) / 2:
            raise NotSeen(f"{unanswered} of {len(votes)} votes were not answered in time: the proxies were too slow")
        measures = {"votes_in_vain_per_grant": len(in_vain(votes)) / grants,
                    "votes_unanswered_per_grant": unanswered / grants} if grants else {}
        stuck_s = first_sale_s(all_of, since_us)
        return all_of.outcome(stuck_s=stuck_s, harm=stuck_s is None, settled=settled, measures=measures)


# ---- The network --------------------------------------------------------------------------------------------------

LOST_PERCENT = 20


def packets_lost(bench, mechanism, fence=False):
    """(d) A share of the packets between the buyers and the lock's servers is lost; those of the stock's database are
    not. The work takes 85 % of the time-out: little is left for a reply that comes late. Harm: oversold, or
    nobody sells."""
    with Round(bench, mechanism, 5, fence) as all_of:
        way = all_of.before_lock()
        crowd = [all_of.buyer(lock_address=way.address, work_ms=mechanism.timeout_ms * 17 // 20) for _ in range(6)]
        lost = all_of.added(LostPackets([one.port for one in way.all], LOST_PERCENT))
        since_us = all_of.sale.database.now_us()
        settled = all_settle(crowd)
        dropped = lost.count()
        if dropped == 0:
            raise NotSeen("no packet was lost")
        found = all_of.outcome(settled=settled, measures={"packets_lost": dropped})
        stuck_s = first_sale_s(all_of, since_us)
        return {**found, "stuck_s": stuck_s, "harm": found["harm"] or stuck_s is None}


def minority_partition(bench, mechanism, fence=False):
    """(d) The holder of the last unit sees only a minority of the servers, and the next one only the others, while the
    work takes longer than the time-out. The holder loses those to which it is connected."""
    with Round(bench, mechanism, 1, fence) as all_of:
        holders_way, others_way = all_of.before_lock(), all_of.before_lock()
        holder = all_of.buyer(lock_address=holders_way.address, work_ms=mechanism.timeout_ms * 5 // 2)
        begins_inside(holder)
        ways = sorted(zip(holders_way.all, others_way.all), key=lambda pair: not pair[0].is_connected())
        majority = len(ways) // 2 + 1
        for way, _ in ways[:majority]:
            way.cut()
        for _, way in ways[majority:]:
            way.cut()
        other = all_of.buyer(lock_address=others_way.address)
        other.begin()
        return all_of.outcome(settled=[settles(holder, 20), settles(other, 20)])


# ---- Clocks -------------------------------------------------------------------------------------------------------

STEP_S = 20


def servers_clock(bench, mechanism, fence=False):
    """(e) The clocks of a majority of the lock's servers are stepped by 20 s while a buyer is inside."""
    clocks = []
    own = bench.own_redis(mechanism, clocks)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        def fault():
            for one in clocks[:len(clocks) // 2 + 1]:
                one.step(STEP_S)
        return two_about_a_unit(all_of, fault)


def one_clock(bench, mechanism, fence=False):
    """(e) Two of the servers are down while a buyer locks the others; one of these has its clock stepped by 20 s, and
    the two come back."""
    clocks = []
    own = bench.own_redis(mechanism, clocks)
    with Round(bench, mechanism, 1, fence, own) as all_of:
        away = own.all[-2:]
        for one in away:
            one.kill()

        def fault():
            clocks[0].step(STEP_S)
            for one in away:
                one.start()
        return two_about_a_unit(all_of, fault)


def buyers_clock(bench, mechanism, fence=False):
    """(e) The clock of who waits is 20 s ahead."""
    with Round(bench, mechanism, 1, fence) as all_of:
        clock = bench.new_clock("buyer")
        return two_about_a_unit(all_of, lambda: clock.step(STEP_S), clock)


EXPERIMENTS = {
    "server-restarted": server_restarted, "primary-lost": primary_lost, "leader-killed": leader_killed,
    "majority-forgets": majority_forgets, "two-servers-down": two_servers_down,
    "redlock-server-slow": redlock_server_slow, "counter-goes-back": counter_goes_back, "split-votes": split_votes,
    "packets-lost": packets_lost, "minority-partition": minority_partition, "servers-clock": servers_clock,
    "one-clock": one_clock, "buyers-clock": buyers_clock,
}


def wants(mechanism):
    """By experiment, whether the lock has what the fault meets; one that is not named meets every lock."""
    several, quorum = mechanism.servers in SEVERAL, mechanism.servers in ("etcd", "zookeeper")
    one_redis = mechanism.servers in ("redis", "redis-durable")
    return {"server-restarted": one_redis, "primary-lost": mechanism.servers == "redis-promoted",
            "leader-killed": quorum, "majority-forgets": several, "two-servers-down": several,
            "redlock-server-slow": several, "counter-goes-back": mechanism.token, "split-votes": several,
            "packets-lost": mechanism.servers != "none", "minority-partition": several or quorum,
            "servers-clock": several or one_redis, "one-clock": several}
