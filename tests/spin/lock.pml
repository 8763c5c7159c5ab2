/*
 * A model of zklock's queue: requests for one resource, the servers that they
 * queue on, and everything that can go wrong in between. Written from
 * docs/internals/protocol.md ("The model" there maps each step to the function that
 * implements it); run by tests/spin/run, which sets the bounds below. Whom a request waits for is
 * in predecessor.pml, or semaphore.pml.
 *
 * What is abstract, and why that loses nothing:
 * - The servers are one order of transactions. A transaction's position in it
 *   is its zxid; `now_at` is the last one. A server that lags is a smaller
 *   position, so a read is answered at any position between what its session
 *   has seen and now. A reply that is late says no more than a server that lags.
 * - A node's place in the arrays is its sequence number.
 * - A request and its reply are one step. A reply that is lost after the request
 *   was carried out is a disconnect before it, and the request carried out late;
 *   that is a step of its own (`late`, and the deletes in `disconnect`).
 * - A read that is lost is a read that is made after the reconnect.
 * - The committed write that settles a lost create and the list behind it are one
 *   step: only creates of the same request could make a difference in between.
 * - The inspection of a node found by its GUID is part of the list that finds it:
 *   a GUID is never used by two.
 * - Time: a session is expired only if its client was silent for the whole
 *   timeout. So a client that hears old events of an expired session is not
 *   fresh; one that is not expired may be fresh or not. With CUT_OFF sessions
 *   also end while their clients are heard: the server is cut off from the
 *   leader, or an administrator ends them.
 * - After each step positions and places that nobody can tell apart any more are
 *   made equal (`forget_the_past`), and contenders of one kind start in the order
 *   of their numbers: fewer states, the same behaviour.
 *
 * Not in it: try, lease, hold limit, parents that vanish, copied names, refusals,
 * pauses, the watch table. Sequence numbers near their end are in drain.pml.
 */

/* ---- Bounds ------------------------------------------------------------ */

#ifndef CONTENDERS
#define CONTENDERS 3
#endif
#ifndef READERS       /* how many of them, the last ones, read */
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
/* PERMITS, where defined: a semaphore of so many, in the place of the lock. */
#ifndef BY_HAND       /* deletions and changes of nodes by an administrator */
#define BY_HAND 0
#endif

/* TELLS, where defined: all nodes but Curator's are protected, and a release says so. */

#ifdef PERMITS
#define PLACES 8
#else
#define PLACES (CONTENDERS + EXPIRIES + 2 * DISCONNECTS + BY_HAND + 2)
#endif
#define NONE 255

/* ---- The servers ------------------------------------------------------- */

#define EXCLUSIVE 0
#define WRITE 1
#define READ 2

#define CURATOR_OWNER CONTENDERS

byte now_at = 1;
byte node_count = 0;
byte born[PLACES], gone[PLACES]; /* positions; gone 0: lives */
byte owner[PLACES], kind[PLACES];
#ifdef TELLS
bool told[PLACES]; /* the one transaction that deleted it told that its holder released it */
#define IS_TOLD_OF(n) told[n]
#else
#define IS_TOLD_OF(n) false
#endif

#define LIVES(n) (gone[n] == 0)
#define LIVED(n, at) (born[n] <= (at) && (gone[n] == 0 || gone[n] > (at)))
#define CONFLICT(one, other) (!((one) == READ && (other) == READ))

/* ---- Sessions ---------------------------------------------------------- */

#ifdef SHARED_SESSION /* the first two contenders are of one client */
#define SESSION(c) ((c) == 1 -> 0 : (c))
#define ALIKE(c) ((c) != 2)
#else
#define SESSION(c) (c)
#define ALIKE(c) true
#endif

byte seen[CONTENDERS] = 1;   /* the last position that the client knows of */
byte ended_at[CONTENDERS];   /* where the servers ended it, not yet known to the client */
bool connected[CONTENDERS] = true;

/* ---- Contenders -------------------------------------------------------- */

#define IDLE 0             /* nothing sent yet */
#define CREATING 1         /* create and list are on their way */
#define CREATING_TO_LEAVE 2 /* the same, and cancelled */
#define QUEUED 3           /* the node is known, a list is to be answered */
#define SURPLUS 4          /* of two nodes one is to be deleted */
#define ARMING 5           /* exists(blocker, watch) */
#define ARMING_OWN 6       /* the blocker is watched; exists(own node, watch) */
#define WAITING 7
#define HELD 8
#define LEAVING 9
#define ENDED 10

#ifdef READ_WRITE
#define KIND(c) ((c) >= CONTENDERS - READERS -> READ : WRITE)
#else
#define KIND(c) ((c) >= CONTENDERS - READERS -> READ : EXCLUSIVE)
#endif

byte phase[CONTENDERS];
byte own[CONTENDERS] = NONE, surplus[CONTENDERS] = NONE;
bool own_watch[CONTENDERS];
bool unsure[CONTENDERS]; /* a lost create may have left a node */
byte late[CONTENDERS];   /* creates that an old server may still hand to the leader */
byte ended_count = 0;

#define MAY_START(c) \
    ((c) == 0 || KIND(c) != KIND((c) - 1) || !ALIKE(c) || phase[(c) - 1] != IDLE)
#define IS_CREATING(c) \
    ((phase[c] == IDLE && MAY_START(c)) || phase[c] == CREATING || phase[c] == CREATING_TO_LEAVE)
#define READS(c) (phase[c] == QUEUED || phase[c] == ARMING || phase[c] == ARMING_OWN || phase[c] == WAITING)
#define CAN_WRITE(c) (connected[SESSION(c)] && ended_at[SESSION(c)] == 0)
#define FIRED(n, at) (gone[n] != 0 && gone[n] <= (at))

/* On one connection news come in the order of what happened; what happened
 * before a reconnect is told in any order. */
#define CAN_HEAR_OF(n, c) \
    (connected[SESSION(c)] && gone[n] != 0 && \
     (ended_at[SESSION(c)] == 0 || gone[n] <= ended_at[SESSION(c)]) && \
     (gone[n] <= seen[SESSION(c)] || !NEWS_BEFORE(c, gone[n] - 1)))

#define HEARD_OF(n, c) (gone[n] > seen[SESSION(c)] -> gone[n] : seen[SESSION(c)])

#ifdef PERMITS
#define HOLDERS PERMITS
#include "semaphore.pml"
#else
#define HOLDERS 1
#include "predecessor.pml"
#endif

/* ---- Bounds that are used up ------------------------------------------- */

byte expiries = EXPIRIES, disconnects = DISCONNECTS, cancels = CANCELS, by_hand = BY_HAND;

/* Highest places that were granted, plus one: tokens must not fall below. */
byte top_alone = 0, top_read = 0;

byte at;     /* the position of the read that is being answered */
byte chosen; /* 0 between steps, as is `at` */

hidden byte i, j, oldest, found, earlier, others, session;

/* The properties, as they are named when broken. */
hidden byte grant_is_justified, hand_off_is_fresh, list_is_fresh, token_order, no_other_holder, no_orphan,
    one_is_woken, few_are_woken, no_wake_up_is_lost,
    places_suffice;

/* ---- The past ---------------------------------------------------------- */

#define SHIFTED(x) ((x) == 0 -> 0 : ((x) <= oldest -> 1 : (x) - oldest + 1))

inline drop_reference(reference) {
    if
    :: reference != NONE && reference > j -> reference--
    :: else
    fi
}

inline is_referred_to() {
    found = false;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: own[i] == j || surplus[i] == j || WAITS_FOR(i, j) -> found = true
        :: else
        fi
    }
}

inline remove_place() {
    for (i : j + 1 .. node_count - 1) {
        born[i - 1] = born[i];
        gone[i - 1] = gone[i];
        owner[i - 1] = owner[i];
        kind[i - 1] = kind[i];
#ifdef TELLS
        told[i - 1] = told[i]
#endif
    }
    node_count--;
#ifdef TELLS
    told[node_count] = false;
#endif
    born[node_count] = 0;
    gone[node_count] = 0;
    owner[node_count] = 0;
    kind[node_count] = 0;
    for (i : 0 .. CONTENDERS - 1) {
        drop_reference(own[i]);
        drop_reference(surplus[i]);
        drop_from_blockers(i)
    }
    if
    :: top_alone > j -> top_alone--
    :: else
    fi;
    if
    :: top_read > j -> top_read--
    :: else
    fi
}

/* What lies before the oldest position that a session can still read is the
 * same for all. */
inline forget_the_past() {
    oldest = now_at;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: READS(i) && seen[SESSION(i)] < oldest -> oldest = seen[SESSION(i)]
        :: else
        fi
    }
    for (i : 0 .. CONTENDERS - 1) {
        seen[i] = SHIFTED(seen[i]);
        ended_at[i] = SHIFTED(ended_at[i])
    }
    for (i : 0 .. CONTENDERS - 1) {
        session = SESSION(i);
        found = false;
        for (j : 0 .. CONTENDERS - 1) {
            if
            :: SESSION(j) == session && READS(j) -> found = true
            :: else
            fi
        }
        if
        :: !found -> seen[session] = 1
        :: else
        fi
    }
    now_at = SHIFTED(now_at);
    for (i : 0 .. PLACES - 1) {
        if
        :: i < node_count ->
            born[i] = SHIFTED(born[i]);
            gone[i] = SHIFTED(gone[i]);
            if
            :: gone[i] == 1 -> born[i] = 1; owner[i] = 0; kind[i] = 0
            :: else
            fi
        :: else
        fi
    }
    j = 0;
    do
    :: j < node_count ->
        is_referred_to();
        if
        :: gone[j] == 1 && !found -> remove_place()
        :: else -> j++
        fi
    :: else -> break
    od;
#ifdef PERMITS
    check_wake_ups();
#endif
    at = 0;
    chosen = 0;
    i = 0;
    j = 0
}

/* ---- Transactions ------------------------------------------------------ */

inline commit_node(c, its_kind) {
    places_suffice = node_count < PLACES;
    assert(places_suffice);
    now_at++;
    born[node_count] = now_at;
    gone[node_count] = 0;
    owner[node_count] = c;
    kind[node_count] = its_kind;
    node_count++
}

inline commit_deletion(node) {
    if
    :: LIVES(node) -> now_at++; gone[node] = now_at
    :: else
    fi
}

#ifdef BREAK_WAITER_TELLS
#define TELLS_NOW(c) (KIND(c) != READ)
#elif defined(BREAK_READER_TELLS)
#define TELLS_NOW(c) (phase[c] == HELD)
#else
#define TELLS_NOW(c) (phase[c] == HELD && KIND(c) != READ)
#endif

inline commit_release(c) {
#ifdef TELLS
    if
    :: LIVES(own[c]) -> told[own[c]] = TELLS_NOW(c)
    :: else
    fi;
#endif
    commit_deletion(own[c])
}

/* The leader takes no more requests of a session from its old server once it
 * has taken one from the new. */
inline rule_out_late_creates(c) {
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: SESSION(i) == SESSION(c) -> late[i] = 0
        :: else
        fi
    }
}

/* ---- The outcome of a request ------------------------------------------ */

inline end_request(c) {
    no_orphan = true;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < node_count && LIVES(i) && owner[i] == c -> no_orphan = false
        :: else
        fi
    }
    assert(no_orphan);
    forget_watches(c);
    own[c] = NONE;
    surplus[c] = NONE;
    unsure[c] = false;
    phase[c] = ENDED;
    ended_count++
}

/* At its position the grant is always right. Whoever the servers have not ended
 * is also alone now, and has the highest token. */
inline grant(c, handed_over) {
    earlier = 0;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < own[c] && LIVED(i, at) && CONFLICT(kind[i], KIND(c)) -> earlier++
        :: else
        fi
    }
    grant_is_justified = LIVED(own[c], at) && earlier < HOLDERS;
    assert(grant_is_justified);
#ifndef CUT_OFF
    hand_off_is_fresh = !(handed_over && ended_at[SESSION(c)] != 0);
    assert(hand_off_is_fresh);
#endif
#ifdef LISTS_MUST_BE_FRESH
    list_is_fresh = handed_over || ended_at[SESSION(c)] == 0;
    assert(list_is_fresh);
#endif
    if
    :: LIVES(own[c]) ->
#if HOLDERS == 1
        token_order = own[c] >= top_alone && (KIND(c) == READ || own[c] >= top_read);
        assert(token_order);
#endif
        others = 0;
        for (i : 0 .. CONTENDERS - 1) {
            if
            :: i != c && phase[i] == HELD && CONFLICT(KIND(i), KIND(c)) &&
               ended_at[SESSION(i)] == 0 && (BY_HAND == 0 || LIVES(own[i])) ->
                others++
            :: else
            fi
        }
        no_other_holder = others < HOLDERS;
        assert(no_other_holder)
    :: else
    fi;
#if HOLDERS == 1
    if
    :: KIND(c) == READ && own[c] >= top_read -> top_read = own[c] + 1
    :: KIND(c) != READ && own[c] >= top_alone -> top_alone = own[c] + 1
    :: else
    fi;
#endif
    forget_watches(c);
    phase[c] = HELD
}

inline lose_place(c) {
    forget_watches(c);
    own[c] = NONE;
    phase[c] = CREATING
}

/* ---- Reads ------------------------------------------------------------- */

/* News that a client must hear before it hears of anything at this position. */
#define NEWS_FOR(d, c, position) \
    (SESSION(d) == SESSION(c) && \
     ((own_watch[d] && FIRED(own[d], position)) || WATCH_FIRED(d, position)))
#ifdef SHARED_SESSION
#define NEWS_BEFORE(c, position) (NEWS_FOR(0, c, position) || NEWS_FOR(1, c, position) || NEWS_FOR(c, c, position))
#else
#define NEWS_BEFORE(c, position) NEWS_FOR(c, c, position)
#endif

/* A session reads its own writes. */
#define FIRST_POSITION(c) \
    (born[own[c]] > seen[SESSION(c)] -> born[own[c]] : seen[SESSION(c)])
#define LAST_POSITION(c) (ended_at[SESSION(c)] != 0 -> ended_at[SESSION(c)] - 1 : now_at)
#define CAN_READ(c) \
    (connected[SESSION(c)] && FIRST_POSITION(c) <= LAST_POSITION(c) && \
     !NEWS_BEFORE(c, FIRST_POSITION(c)))

inline choose_position(c) {
    at = FIRST_POSITION(c);
    do
    :: at < LAST_POSITION(c) && !NEWS_BEFORE(c, at + 1) -> at++
    :: break
    od
}

inline find_twin(c) {
    found = NONE;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < node_count && LIVED(i, at) && owner[i] == c && i != own[c] -> found = i
        :: else
        fi
    }
}

inline keep_the_lower(c) {
    if
    :: own[c] == NONE || found < own[c] -> surplus[c] = own[c]; own[c] = found
    :: else -> surplus[c] = found
    fi
}

inline take_list(c) {
    seen[SESSION(c)] = at;
#ifdef BREAK_BLIND_SECOND_CREATE
    unsure[c] = false;
#endif
    found = NONE;
    if
    :: unsure[c] -> find_twin(c)
    :: else
    fi;
    if
    :: found != NONE -> keep_the_lower(c); phase[c] = SURPLUS
    :: else -> unsure[c] = false; judge_queue(c)
    fi
}

/* ---- Leaving ----------------------------------------------------------- */

inline settle(c) {
#ifdef BREAK_NO_BARRIER
    at = chosen;
#else
    rule_out_late_creates(c);
    at = now_at;
#endif
    find_twin(c);
    if
    :: found != NONE -> own[c] = found
    :: else -> unsure[c] = false
    fi
}

inline leave(c) {
    if
    :: surplus[c] != NONE -> commit_deletion(surplus[c]); rule_out_late_creates(c); surplus[c] = NONE
    :: surplus[c] == NONE && own[c] != NONE ->
        commit_release(c);
        rule_out_late_creates(c);
        own[c] = NONE
    :: else -> settle(c)
    fi;
    if
    :: own[c] == NONE && surplus[c] == NONE && !unsure[c] -> end_request(c)
    :: else -> phase[c] = LEAVING
    fi
}

inline give_up(c) {
    forget_watches(c);
    if
    :: phase[c] == CREATING && connected[SESSION(c)] -> phase[c] = CREATING_TO_LEAVE
    :: phase[c] == CREATING && !connected[SESSION(c)] && !unsure[c] -> end_request(c)
    :: else ->
#ifdef BREAK_NO_DELETE_ON_TIMEOUT
        end_request(c)
#else
        phase[c] = LEAVING
#endif
    fi
}

/* ---- The end of a session ---------------------------------------------- */

inline hear_of_session_end(c) {
    session = SESSION(c);
    ended_at[session] = 0;
    connected[session] = true;
    for (j : 0 .. CONTENDERS - 1) {
        if
        :: SESSION(j) == session && phase[j] != IDLE && phase[j] != ENDED ->
            if
            :: phase[j] == LEAVING || phase[j] == CREATING_TO_LEAVE -> end_request(j)
            :: phase[j] == HELD ->
#ifndef BREAK_HOLDER_IGNORES_EXPIRY
                end_request(j)
#else
                skip
#endif
            :: else ->
#ifdef BREAK_WAITER_IGNORES_EXPIRY
                if
                :: WATCHES(j) -> forget_watches(j)
                :: else -> lose_place(j)
                fi
#else
                lose_place(j);
                surplus[j] = NONE;
                unsure[j] = false
#endif
            fi
        :: else
        fi
    }
}

/* ---- A contender ------------------------------------------------------- */

inline take_created(c) {
    commit_node(c, KIND(c));
    rule_out_late_creates(c);
    own[c] = node_count - 1;
    phase[c] = (phase[c] == CREATING_TO_LEAVE -> LEAVING : QUEUED);
    found = false;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: i != c && SESSION(i) == SESSION(c) && READS(i) -> found = true
        :: else
        fi
    }
    if
    :: !found -> seen[SESSION(c)] = now_at
    :: else
    fi
}

inline delete_surplus(c) {
    commit_deletion(surplus[c]);
    rule_out_late_creates(c);
    surplus[c] = NONE;
    seen[SESSION(c)] = now_at;
    phase[c] = QUEUED
}

inline reconnect(c) {
    chosen = seen[SESSION(c)];
    do
    :: READS(c) && chosen < now_at -> chosen++
    :: break
    od
}

proctype contender(byte c) {
    do
    :: atomic { IS_CREATING(c) && CAN_WRITE(c) -> d_step { take_created(c); forget_the_past() } }
    :: atomic { phase[c] == QUEUED && CAN_READ(c) ->
           choose_position(c);
           d_step { take_list(c); forget_the_past() } }
    :: atomic { phase[c] == SURPLUS && CAN_WRITE(c) ->
           d_step { delete_surplus(c); forget_the_past() } }
    :: atomic { phase[c] == ARMING && CAN_READ(c) ->
           choose_position(c);
           choose_freshness(c);
           d_step { take_watch(c); forget_the_past() } }
#ifndef PERMITS
    :: atomic { phase[c] == ARMING_OWN && CAN_READ(c) ->
           choose_position(c);
           choose_freshness(c);
           d_step { take_own_watch(c); forget_the_past() } }
    :: atomic { HEARS_OF_BLOCKER(c) && HANDED_OVER(c) ->
           d_step { choose_news(c); seen[SESSION(c)] = at; grant(c, true); forget_the_past() } }
#endif
    :: atomic { HEARS_OF_BLOCKER(c) ->
           d_step { choose_news(c); seen[SESSION(c)] = at; take_news(c); forget_the_past() } }
    :: atomic { READS(c) && own_watch[c] && CAN_HEAR_OF(own[c], c) ->
           at = HEARD_OF(own[c], c);
           d_step { seen[SESSION(c)] = at; lose_place(c); forget_the_past() } }
    :: atomic { phase[c] == HELD && CAN_WRITE(c) -> d_step { leave(c); forget_the_past() } }
    :: atomic { phase[c] == LEAVING && CAN_WRITE(c) ->
           chosen = seen[SESSION(c)];
           do
#ifdef BREAK_NO_BARRIER
           :: chosen < now_at -> chosen++
#endif
           :: break
           od;
           d_step { leave(c); forget_the_past() } }
    :: atomic { phase[c] != IDLE && phase[c] != ENDED && !connected[SESSION(c)] &&
                ended_at[SESSION(c)] == 0 ->
           reconnect(c);
           d_step { seen[SESSION(c)] = chosen; connected[SESSION(c)] = true; forget_the_past() } }
    :: atomic { phase[c] != ENDED && ended_at[SESSION(c)] != 0 ->
           d_step { hear_of_session_end(c); forget_the_past() } }
    :: atomic { phase[c] == ENDED -> break }
    od
}

/* ---- Faults ------------------------------------------------------------ */

#define IS_WORKING(c) (phase[c] != IDLE && phase[c] != ENDED)
#define LOSES_ITS_SESSION(c) \
    (expiries > 0 && IS_WORKING(c) && ended_at[SESSION(c)] == 0)
#define LOSES_ITS_CONNECTION(c) \
    (disconnects > 0 && (IS_WORKING(c) || (phase[c] == IDLE && MAY_START(c))) && CAN_WRITE(c))
#define CAN_GIVE_UP(c) \
    (cancels > 0 && \
     (phase[c] == CREATING || phase[c] == SURPLUS || READS(c) || (phase[c] == IDLE && MAY_START(c))))
#ifdef TELLS /* nobody can change what a release is told by */
#define HEARS_OF_CHANGE(c) (by_hand > 0 && WATCHES(c) && CAN_WRITE(c) && !is_told[c])
#else
#define HEARS_OF_CHANGE(c) (by_hand > 0 && WATCHES(c) && CAN_WRITE(c))
#endif

inline end_session(c) {
    expiries--;
    now_at++;
    ended_at[SESSION(c)] = now_at;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < node_count && LIVES(i) && owner[i] != CURATOR_OWNER &&
           SESSION(owner[i]) == SESSION(c) -> gone[i] = now_at
        :: else
        fi
    }
    rule_out_late_creates(c)
}

/* The connection of a session breaks. `sent`: the create or the delete that its
 * contender may have had on its way was on its way; `carried_out`: the delete
 * has reached the leader. */
inline disconnect(c, sent, carried_out) {
    disconnects--;
    connected[SESSION(c)] = false;
    doubt_hand_off(c);
    if
    :: (phase[c] == IDLE || phase[c] == CREATING) && sent ->
        late[c]++;
        unsure[c] = true;
        phase[c] = CREATING
    :: phase[c] == CREATING_TO_LEAVE -> late[c]++; unsure[c] = true; phase[c] = LEAVING
    :: (phase[c] == HELD || phase[c] == LEAVING) && own[c] != NONE && sent ->
        if
        :: carried_out -> commit_release(c)
        :: else
        fi;
#ifdef BREAK_DELETE_NOT_RETRIED
        end_request(c)
#else
        phase[c] = LEAVING
#endif
    :: phase[c] == ARMING -> forget_blockers(c); phase[c] = QUEUED
    :: phase[c] == ARMING_OWN -> phase[c] = (WAITS_FOR_NOBODY(c) -> QUEUED : WAITING)
#ifdef BREAK_WATCH_LOST_AT_RECONNECT
    :: phase[c] == WAITING -> forget_blockers(c)
#endif
    :: else
    fi
}

/* An old create reaches the leader. Of two, each sent over a connection of its
 * own, the first has come before the second or never will. */
inline apply_late_create(c, is_first) {
    no_orphan = phase[c] != ENDED;
    assert(no_orphan);
    commit_node(c, KIND(c));
    late[c] = (is_first -> late[c] - 1 : 0)
}

inline hear_of_change(c) {
    by_hand--;
#ifdef BREAK_GRANT_ON_ANY_EVENT
    at = seen[SESSION(c)];
    grant(c, false)
#else
    stop_waiting(c)
#endif
}

proctype faults(byte c) {
end_of_faults:
    do
#if EXPIRIES > 0
    :: atomic { LOSES_ITS_SESSION(c) -> d_step { end_session(c); forget_the_past() } }
#endif
#if DISCONNECTS > 0
    :: atomic { LOSES_ITS_CONNECTION(c) ->
           if
           :: phase[c] != IDLE -> d_step { disconnect(c, false, false); forget_the_past() }
           :: phase[c] == IDLE || phase[c] == CREATING || phase[c] == HELD || phase[c] == LEAVING ->
               d_step { disconnect(c, true, false); forget_the_past() }
           :: phase[c] == HELD || phase[c] == LEAVING ->
               d_step { disconnect(c, true, true); forget_the_past() }
           fi }
    :: atomic { late[c] > 0 -> d_step { apply_late_create(c, true); forget_the_past() } }
    :: atomic { late[c] > 1 -> d_step { apply_late_create(c, false); forget_the_past() } }
#endif
#if CANCELS > 0
    :: atomic { CAN_GIVE_UP(c) -> d_step { cancels--; give_up(c); forget_the_past() } }
#endif
#if BY_HAND > 0
    :: atomic { by_hand > 0 && own[c] != NONE && LIVES(own[c]) ->
           d_step { by_hand--; commit_deletion(own[c]); forget_the_past() } }
    :: atomic { HEARS_OF_CHANGE(c) -> d_step { hear_of_change(c); forget_the_past() } }
#endif
    :: false -> skip /* where all bounds are 0 */
    od
}

#ifdef LIVENESS
/* Faults come to an end; they need not come at all. */
active proctype peace() {
    atomic { expiries = 0; disconnects = 0; cancels = 0; by_hand = 0 }
}
#endif

#ifdef CURATOR
/* A writer of another library that holds from the beginning, and may leave a
 * reader with its own sequence, right behind it, before it goes. */
inline leave_a_reader() {
    now_at++;
    for (i : 0 .. node_count - 2) {
        j = node_count - 1 - i;
        born[j + 1] = born[j];
        gone[j + 1] = gone[j];
        owner[j + 1] = owner[j];
        kind[j + 1] = kind[j]
    }
    born[1] = now_at;
    gone[1] = 0;
    owner[1] = CURATOR_OWNER;
    kind[1] = READ;
    node_count++;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: own[i] != NONE && own[i] > 0 -> own[i]++
        :: else
        fi;
        if
        :: surplus[i] != NONE && surplus[i] > 0 -> surplus[i]++
        :: else
        fi;
        if
        :: blocker[i] != NONE && blocker[i] > 0 -> blocker[i]++
        :: else
        fi
    }
}

/* Its nodes are the lowest that live: everybody else came later. */
inline delete_lowest_of_curator() {
    found = NONE;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < node_count && LIVES(i) && owner[i] == CURATOR_OWNER && found == NONE -> found = i
        :: else
        fi
    }
    commit_deletion(found)
}

proctype curator_writer() {
    if
    :: atomic { node_count < PLACES -> d_step { leave_a_reader(); forget_the_past() } };
       d_step { delete_lowest_of_curator(); forget_the_past() }
    :: skip
    fi;
    d_step { delete_lowest_of_curator(); forget_the_past() }
}
#endif

init {
    atomic {
#ifdef CURATOR
        born[0] = 1;
        owner[0] = CURATOR_OWNER;
        kind[0] = WRITE;
        node_count = 1;
        run curator_writer();
#endif
        byte c;
        for (c : 0 .. CONTENDERS - 1) {
            run contender(c);
            run faults(c)
        }
        c = 0
    }
}

#ifdef LIVENESS
ltl each_request_ends { <> (ended_count == CONTENDERS) }
#endif
