/*
 * A model of sets of locks: callers that each want several resources, all or none.
 * All nodes of a caller are created in one transaction; each of them, a member,
 * then waits by the rule of its queue; whoever has all of them holds. Run by
 * tests/spin/run; docs/internals/protocol.md ("The model") maps the steps to functions.
 *
 * What is abstract, and why that loses nothing:
 * - What a single member does on servers that lag is in lock.pml. A member is
 *   granted by a list that shows nobody before it, and stays first for as long
 *   as its node lives, so a list that lags only comes later. Here reads are
 *   answered by the last state; news of a watch still comes late.
 * - A request and its reply are one step. A reply that is lost is a disconnect
 *   before it, and the transaction carried out late (`late`), or a deletion
 *   carried out and asked for again.
 * - The committed write that settles a lost transaction and the lists behind it
 *   are one step: what is deleted in between is found missing by the next list.
 * - A node is the number of its caller: one caller has one node in a queue.
 */

/* ---- Bounds ------------------------------------------------------------ */

#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef RESOURCES
#define RESOURCES 2
#endif
#ifndef READERS     /* how many of the callers, the last ones, read */
#define READERS 0
#endif
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
#ifndef DISCONNECTS
#define DISCONNECTS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef BY_HAND     /* nodes deleted by an administrator */
#define BY_HAND 0
#endif

#define NONE 255
#define SLOTS (2 * CALLERS)

/* Each caller names its resources in an order of its own. */
#ifdef IN_GLOBAL_ORDER
#define NTH(c, n) (n)
#else
#define NTH(c, n) (((c) + (n)) % RESOURCES)
#endif
#ifdef PAIRS        /* A and B, B and C, C and A */
#define WANTS(c, r) ((r) == (c) % RESOURCES || (r) == ((c) + 1) % RESOURCES)
#else
#define WANTS(c, r) true
#endif
#define CONFLICT(one, other) ((one) < CALLERS - READERS || (other) < CALLERS - READERS)

/* ---- The servers ------------------------------------------------------- */

byte queue[RESOURCES * SLOTS]; /* callers plus one, in the order of their sequences; 0: free */
byte length[RESOURCES];
#define SLOT(r, place) ((r) * SLOTS + (place))
#define MEMBER(c, r) ((c) * RESOURCES + (r))
byte nodes[CALLERS * RESOURCES]; /* how many of a caller live in a queue */
#define OWN_NODE_IS_GONE(c, r) (nodes[MEMBER(c, r)] == 0)

/* ---- Callers ----------------------------------------------------------- */

#define CREATING 0
#define JOINED 1
#define HELD 2
#define RESTARTING 3 /* all members are deleted, to begin anew */
#define LEAVING 4    /* the same, to end */
#define ENDED 5

byte phase[CALLERS];
bool unsure[CALLERS];        /* a transaction whose reply was lost may have been carried out */
bool late[CALLERS];          /* an old server may still hand it to the leader */
bool disconnected[CALLERS];
bool expired[CALLERS];       /* the servers have ended the session, the client does not know */
byte ended_count = 0;

/* Members: what a caller knows of its node in a queue. */
#define ABSENT 0
#define QUEUED 1  /* to be listed */
#define ARMING 2  /* exists(blocker, watch) */
#define WAITING 3
#define GRANTED 4

byte member[CALLERS * RESOURCES];
byte blocker[CALLERS * RESOURCES] = NONE;
bool blocker_gone[CALLERS * RESOURCES];

#define CAN_ASK(c) (!disconnected[c] && !expired[c])

byte expiries = EXPIRIES, disconnects = DISCONNECTS, cancels = CANCELS, by_hand = BY_HAND;

hidden byte i, j, k, found, place, next;

/* The properties, as they are named when broken. */
hidden byte no_other_holder, no_orphan, slots_suffice;

/* ---- Transactions ------------------------------------------------------ */

inline append(c, r) {
    slots_suffice = length[r] < SLOTS;
    assert(slots_suffice);
    queue[SLOT(r, length[r])] = c + 1;
    length[r]++;
    nodes[MEMBER(c, r)]++
}

/* The first node of the caller in the queue, or NONE. */
inline find_place(c, r) {
    place = NONE;
    for (i : 0 .. SLOTS - 1) {
        if
        :: queue[SLOT(r, i)] == c + 1 && place == NONE -> place = i
        :: else
        fi
    }
}

inline delete_node(c, r) {
    find_place(c, r);
    if
    :: place != NONE ->
        for (i : place .. SLOTS - 2) {
            queue[SLOT(r, i)] = queue[SLOT(r, i + 1)]
        }
        length[r]--;
        nodes[MEMBER(c, r)]--;
        queue[SLOT(r, length[r])] = 0;
        for (i : 0 .. CALLERS - 1) {
            if
            :: blocker[MEMBER(i, r)] == c -> blocker_gone[MEMBER(i, r)] = true
            :: else
            fi
        }
    :: else
    fi
}

inline create_set(c) {
    for (j : 0 .. RESOURCES - 1) {
        if
        :: WANTS(c, NTH(c, j)) -> append(c, NTH(c, j))
        :: else
        fi
    }
}

/* ---- The outcome of a request ------------------------------------------ */

inline forget_blocker(c, r) {
    blocker[MEMBER(c, r)] = NONE;
    blocker_gone[MEMBER(c, r)] = false
}

inline end_request(c) {
    for (j : 0 .. RESOURCES - 1) {
        no_orphan = OWN_NODE_IS_GONE(c, j) && !late[c];
        assert(no_orphan)
    }
    phase[c] = ENDED;
    unsure[c] = false;
    disconnected[c] = false;
    ended_count++
}

inline hold_if_complete(c) {
    found = true;
    for (j : 0 .. RESOURCES - 1) {
        if
        :: WANTS(c, j) && member[MEMBER(c, j)] != GRANTED -> found = false
        :: else
        fi
    }
    if
    :: found -> phase[c] = HELD
    :: else
    fi
}

inline grant_member(c, r) {
    member[MEMBER(c, r)] = GRANTED;
    for (k : 0 .. CALLERS - 1) {
        no_other_holder = !(k != c && CONFLICT(k, c) && member[MEMBER(k, r)] == GRANTED &&
                            !OWN_NODE_IS_GONE(k, r) && phase[k] <= HELD);
        assert(no_other_holder)
    }
    hold_if_complete(c)
}

/* A member's node is gone, and it was not us. */
inline lose_member(c, r) {
    forget_blocker(c, r);
    if
    :: phase[c] == HELD -> member[MEMBER(c, r)] = ABSENT; phase[c] = LEAVING
    :: else ->
#ifdef BREAK_MEMBER_REJOINS_ALONE
        append(c, r);
        member[MEMBER(c, r)] = QUEUED
#else
        member[MEMBER(c, r)] = ABSENT;
        phase[c] = RESTARTING
#endif
    fi
}

/* ---- Joining ----------------------------------------------------------- */

inline take_created(c) {
    create_set(c);
    for (j : 0 .. RESOURCES - 1) {
        if
        :: WANTS(c, j) -> member[MEMBER(c, j)] = QUEUED
        :: else
        fi
    }
    phase[c] = JOINED
}

/* Each in a transaction of its own: all at once, or each when those before it are
 * granted. */
#if defined(BREAK_CREATES_ONE_BY_ONE) || defined(ACQUIRES_ONE_BY_ONE)
#define ONE_BY_ONE
#define IS_BUSY(c, r) \
    (member[MEMBER(c, r)] != ABSENT && member[MEMBER(c, r)] != GRANTED)
#ifndef ACQUIRES_ONE_BY_ONE
#define MAY_CREATE_NEXT(c) true
#elif RESOURCES > 2
#define MAY_CREATE_NEXT(c) (!IS_BUSY(c, 0) && !IS_BUSY(c, 1) && !IS_BUSY(c, 2))
#else
#define MAY_CREATE_NEXT(c) (!IS_BUSY(c, 0) && !IS_BUSY(c, 1))
#endif

inline find_next(c) {
    next = NONE;
    for (j : 0 .. RESOURCES - 1) {
        if
        :: WANTS(c, NTH(c, j)) && next == NONE && member[MEMBER(c, NTH(c, j))] == ABSENT ->
            next = NTH(c, j)
        :: else
        fi
    }
}

inline create_next(c) {
    find_next(c);
    if
    :: next != NONE -> append(c, next); member[MEMBER(c, next)] = QUEUED
    :: else -> phase[c] = JOINED; hold_if_complete(c)
    fi
}
#endif

inline take_list(c, r) {
    find_place(c, r);
    blocker[MEMBER(c, r)] = NONE;
    if
    :: place == NONE -> lose_member(c, r)
    :: else ->
        for (i : 0 .. SLOTS - 1) {
            if
            :: i < place && CONFLICT(queue[SLOT(r, i)] - 1, c) ->
                blocker[MEMBER(c, r)] = queue[SLOT(r, i)] - 1
            :: else
            fi
        }
        if
        :: blocker[MEMBER(c, r)] == NONE -> grant_member(c, r)
        :: else -> member[MEMBER(c, r)] = ARMING
        fi
    fi
}

inline list_again(c, r) {
    forget_blocker(c, r);
    member[MEMBER(c, r)] = QUEUED
}

inline take_watch(c, r) {
    if
    :: blocker_gone[MEMBER(c, r)] -> list_again(c, r)
    :: else -> member[MEMBER(c, r)] = WAITING
    fi
}

/* ---- Lost replies ------------------------------------------------------ */

/* A committed write on the new connection, then the list of each queue. A set
 * of which a part has been deleted meanwhile is given up. */
inline settle(c) {
#ifndef BREAK_NO_BARRIER
    late[c] = false;
#endif
    unsure[c] = false;
    found = 0;
    k = 0;
    for (j : 0 .. RESOURCES - 1) {
        if
        :: WANTS(c, j) ->
            k++;
            find_place(c, j);
#ifdef BREAK_ONE_LIST_SETTLES
            if
            :: k > 1 -> place = (found > 0 -> 0 : NONE)
            :: else
            fi;
#endif
            if
            :: place != NONE -> member[MEMBER(c, j)] = QUEUED; found++
            :: else
            fi
        :: else
        fi
    }
    if
    :: phase[c] == CREATING && found == k -> phase[c] = JOINED
    :: phase[c] == CREATING && found != k && found != 0 -> phase[c] = RESTARTING
    :: else
    fi
}

/* ---- Leaving ----------------------------------------------------------- */

inline find_member(c) {
    next = NONE;
    for (j : 0 .. RESOURCES - 1) {
        if
        :: member[MEMBER(c, j)] != ABSENT && next == NONE -> next = j
        :: else
        fi
    }
}

#ifdef BREAK_DELETES_IN_ONE_TRANSACTION
/* One node that is gone already, and the transaction does nothing at all. */
inline delete_members(c) {
    found = true;
    for (j : 0 .. RESOURCES - 1) {
        find_place(c, j);
        if
        :: member[MEMBER(c, j)] != ABSENT && place == NONE -> found = false
        :: else
        fi
    }
    for (j : 0 .. RESOURCES - 1) {
        if
        :: member[MEMBER(c, j)] != ABSENT && found -> delete_node(c, j)
        :: else
        fi;
        member[MEMBER(c, j)] = ABSENT;
        forget_blocker(c, j)
    }
}
#else
inline delete_members(c) {
    find_member(c);
    if
    :: next != NONE ->
        delete_node(c, next);
        member[MEMBER(c, next)] = ABSENT;
        forget_blocker(c, next)
    :: else
    fi
}
#endif

inline leave(c) {
    delete_members(c);
    find_member(c);
    if
    :: next == NONE && phase[c] == LEAVING -> end_request(c)
    :: next == NONE && phase[c] == RESTARTING -> phase[c] = CREATING
    :: else
    fi
}

inline give_up(c) {
    cancels--;
    find_member(c);
    if
    :: next == NONE && !unsure[c] -> end_request(c)
    :: else -> phase[c] = LEAVING
    fi
}

/* ---- The end of a session ---------------------------------------------- */

inline hear_of_session_end(c) {
    expired[c] = false;
    disconnected[c] = false;
    unsure[c] = false;
    for (j : 0 .. RESOURCES - 1) {
        member[MEMBER(c, j)] = ABSENT;
        forget_blocker(c, j)
    }
    if
    :: phase[c] == HELD || phase[c] == LEAVING -> end_request(c)
    :: else -> phase[c] = CREATING
    fi
}

/* ---- A caller ---------------------------------------------------------- */

#ifdef ONE_BY_ONE
#define MEMBERS_RUN(c) (CAN_ASK(c) && (phase[c] == CREATING || phase[c] == JOINED))
#else
#define MEMBERS_RUN(c) (CAN_ASK(c) && phase[c] == JOINED)
#endif

#define MEMBER_STEPS(c, r) \
    :: d_step { MEMBERS_RUN(c) && member[MEMBER(c, r)] == QUEUED -> take_list(c, r) } \
    :: d_step { MEMBERS_RUN(c) && member[MEMBER(c, r)] == ARMING -> take_watch(c, r) } \
    :: d_step { MEMBERS_RUN(c) && member[MEMBER(c, r)] == WAITING && blocker_gone[MEMBER(c, r)] -> \
           list_again(c, r) } \
    :: d_step { CAN_ASK(c) && (phase[c] == JOINED || phase[c] == HELD) && \
                member[MEMBER(c, r)] == GRANTED && OWN_NODE_IS_GONE(c, r) -> lose_member(c, r) }

proctype caller(byte c) {
    do
    MEMBER_STEPS(c, 0)
    MEMBER_STEPS(c, 1)
#if RESOURCES > 2
    MEMBER_STEPS(c, 2)
#endif
#ifdef ONE_BY_ONE
    :: d_step { phase[c] == CREATING && CAN_ASK(c) && MAY_CREATE_NEXT(c) -> create_next(c) }
#else
    :: d_step { phase[c] == CREATING && !unsure[c] && CAN_ASK(c) -> take_created(c) }
#endif
    :: d_step { unsure[c] && CAN_ASK(c) -> settle(c) }
    :: d_step { phase[c] == HELD && CAN_ASK(c) -> phase[c] = LEAVING; leave(c) }
    :: d_step { (phase[c] == LEAVING || phase[c] == RESTARTING) && !unsure[c] && CAN_ASK(c) -> leave(c) }
    :: d_step { disconnected[c] && !expired[c] -> disconnected[c] = false }
    :: d_step { expired[c] -> hear_of_session_end(c) }
    :: atomic { phase[c] == ENDED -> break }
    od
}

/* ---- Faults ------------------------------------------------------------ */

#define IS_WORKING(c) (phase[c] != ENDED && !expired[c])

inline end_session(c) {
    expiries--;
    expired[c] = true;
    late[c] = false;
    for (j : 0 .. RESOURCES - 1) {
        for (k : 1 .. 2) {
            delete_node(c, j)
        }
    }
    j = 0
}

/* The deletion that may have been under way: carried out, or not. */
inline disconnect(c, sent) {
    disconnects--;
    disconnected[c] = true;
    if
    :: phase[c] == CREATING && sent -> unsure[c] = true; late[c] = true
    :: (phase[c] == LEAVING || phase[c] == RESTARTING || phase[c] == HELD) && sent ->
        if
        :: phase[c] == HELD -> phase[c] = LEAVING
        :: else
        fi;
        find_member(c);
        if
        :: next != NONE -> delete_node(c, next)
        :: else
        fi
    :: else ->
        for (j : 0 .. RESOURCES - 1) {
            if
            :: member[MEMBER(c, j)] == ARMING -> list_again(c, j)
            :: else
            fi
        }
    fi;
    j = 0
}

inline apply_late_transaction(c) {
    no_orphan = phase[c] != ENDED;
    assert(no_orphan);
    create_set(c);
    late[c] = false
}

#define DELETED_BY_HAND(c, r) \
    :: d_step { by_hand > 0 && !OWN_NODE_IS_GONE(c, r) -> by_hand--; delete_node(c, r) }

proctype faults(byte c) {
end_of_faults:
    do
#if EXPIRIES > 0
    :: d_step { expiries > 0 && IS_WORKING(c) -> end_session(c) }
#endif
#if DISCONNECTS > 0
    :: d_step { disconnects > 0 && IS_WORKING(c) && !disconnected[c] -> disconnect(c, false) }
    :: d_step { disconnects > 0 && IS_WORKING(c) && !disconnected[c] && !unsure[c] &&
                phase[c] != JOINED -> disconnect(c, true) }
    :: d_step { late[c] -> apply_late_transaction(c) }
#endif
#if CANCELS > 0
    :: d_step { cancels > 0 && IS_WORKING(c) &&
                (phase[c] == CREATING || phase[c] == JOINED || phase[c] == RESTARTING) -> give_up(c) }
#endif
#if BY_HAND > 0
    DELETED_BY_HAND(c, 0)
    DELETED_BY_HAND(c, 1)
#if RESOURCES > 2
    DELETED_BY_HAND(c, 2)
#endif
#endif
    :: false -> skip
    od
}

#ifdef LIVENESS
active proctype peace() {
    atomic { expiries = 0; disconnects = 0; cancels = 0; by_hand = 0 }
}
#endif

init {
    atomic {
        byte c;
        for (c : 0 .. CALLERS - 1) {
            run caller(c);
            run faults(c)
        }
        c = 0
    }
}

#ifdef LIVENESS
ltl each_request_ends { <> (ended_count == CALLERS) }
#endif
