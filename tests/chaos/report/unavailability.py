"""How long nobody may be granted anything while a fault lasts: what each kind of fault may cost, by the timeouts that are
set. Where servers or connections are taken away for as long as the fault lasts, that time is part of it."""
LASTS = "lasts"
# Of what is set, by name: the timeouts in milliseconds (`settings` of what is published).
SESSION, TICK, SILENCE, JOIN = "session_ms", "tick_ms", "silence_ms", "join_ms"

# name: (how long in milliseconds, in words, why). `LASTS` is what was measured, of the kind.
TERMS = {
    LASTS: (None, "from its beginning to its end, as measured",
            "What is gone comes back when the fault ends."),
    "round": (lambda settings: 2000, "2 s",
              "Somebody holds, and somebody pauses; and a machine with few processors has to get round to it."),
    "start": (lambda settings: 15000, "15 s", "Java starts, and loads the data. An assumption, and no timeout."),
    "silence": (lambda settings: settings[SILENCE], "`syncLimit` ticks",
                "The servers give up one of them that is silent, and stays connected."),
    "election": (lambda settings: settings[JOIN], "`initLimit` ticks",
                 "So long a new leader waits for the others to have what it has. The vote itself takes a fraction of that."),
    "reconnect": (lambda settings: settings[SESSION], "a session timeout",
                  "A client notices after two thirds of it that nobody answers, and has tried all servers when it is over."),
    "expiry": (lambda settings: settings[SESSION] + settings[TICK], "a session timeout and a tick",
               "Who is gone, or has a new session, stands in the way until its old session ends. A new leader gives each"
               " session its timeout anew."),
}

LEADERLESS = ("election", "reconnect", "round")
NO_QUORUM = (LASTS, "start", *LEADERLESS, "expiry")
CUT_OFF = (LASTS, "reconnect", "expiry", "round")
ANOTHER_SERVER = ("reconnect", "round")
DIED = ("expiry", "round")
UNHURT = ("round",)

KINDS = {
    "leader killed": LEADERLESS, "follower killed": ANOTHER_SERVER, "observer killed": ANOTHER_SERVER,
    "two of three killed": NO_QUORUM, "all killed": NO_QUORUM,
    "leader stopped": ("silence", *LEADERLESS), "follower stopped": ANOTHER_SERVER, "observer stopped": ANOTHER_SERVER,
    "two of three stopped": (LASTS, "silence", *LEADERLESS, "expiry"), "all stopped": (LASTS, "silence", *LEADERLESS, "expiry"),
    "leader restarted": LEADERLESS, "follower restarted": ANOTHER_SERVER, "observer restarted": ANOTHER_SERVER,
    "two of three restarted": NO_QUORUM, "all restarted": NO_QUORUM,
    "rolling restart": LEADERLESS, "leader moved every 2 s": (LASTS, *LEADERLESS),
    "server's disk full": ("silence", *LEADERLESS), "server's disk slow": ("silence", *LEADERLESS),
    "server's data lost": ANOTHER_SERVER,
    # All is restarted once more, with another epoch, when the sessions of the copy are over.
    "old snapshot restored": (LASTS, "start", "election", "expiry", "start", *LEADERLESS, "expiry"),
    "reconfigured 3 to 5 to 3": LEADERLESS,
    "client cut from one server": ANOTHER_SERVER, "client cut from all servers": CUT_OFF, "client cut one way": CUT_OFF,
    "client cut and mended every 100 ms": CUT_OFF, "client's answers lost": CUT_OFF,
    "client without a route": CUT_OFF, "client far away": ANOTHER_SERVER,
    "half-open connections": ("expiry", "reconnect", "round"),
    "servers in two halves": ("silence", *LEADERLESS), "servers cut one way": ("silence", *LEADERLESS),
    "servers cut and mended every 100 ms": (LASTS, "silence", *LEADERLESS),
    "1 % of packets lost": ANOTHER_SERVER, "10 % of packets lost": (LASTS, "silence", *LEADERLESS),
    "30 % of packets lost": (LASTS, "silence", *LEADERLESS, "expiry"),
    "client killed": DIED, "client stopped beyond its session": DIED, "client out of its group's memory": DIED,
    "instance of the shop killed": DIED, "instance of the shop stopped beyond its session": DIED,
    "client's memory limited": DIED, "client's descriptors used up": DIED, "session closed by another": DIED,
    "client's clock stepped by an hour": UNHURT, "client forked": UNHURT,
    "client's disk full": UNHURT, "client's disk slow": UNHURT,
    "client's credentials rotated": ANOTHER_SERVER,
}


def bound_ms(kind, settings, lasts_ms):
    """None: nothing is said of this kind."""
    terms = KINDS.get(kind)
    return terms and sum(lasts_ms if one == LASTS else TERMS[one][0](settings) for one in terms)
