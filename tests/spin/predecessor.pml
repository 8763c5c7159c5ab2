/*
 * Whom a mutex, a reader or a writer waits for: the nearest earlier request that
 * is in its way. A part of lock.pml.
 */

byte blocker[CONTENDERS] = NONE;
bool next_in_line[CONTENDERS]; /* nobody is left before it when its blocker is deleted */
bool of_another[CONTENDERS];   /* its blocker is of another session */
bool is_told[CONTENDERS];      /* when its blocker's holder releases */
bool is_free[CONTENDERS];      /* nobody is left before it; its own node is still to be looked at */
#ifdef BREAK_OWN_WATCH_OVER_RECONNECT
bool trusts[CONTENDERS]; /* in a watch on its own node that no server has */
#define HAS_OWN_WATCH(c) (own_watch[c] || trusts[c])
#else
#define HAS_OWN_WATCH(c) own_watch[c]
#endif

#define WATCHES(c) ((phase[c] == ARMING_OWN || phase[c] == WAITING) && blocker[c] != NONE)
#define WATCH_FIRED(c, position) (WATCHES(c) && FIRED(blocker[c], position))
#define WAITS_FOR(c, n) (blocker[c] == (n))
#define WAITS_FOR_NOBODY(c) (blocker[c] == NONE)

inline drop_from_blockers(c) {
    drop_reference(blocker[c])
}

inline forget_blockers(c) {
    blocker[c] = NONE
}

inline forget_watches(c) {
    blocker[c] = NONE;
    next_in_line[c] = false;
    of_another[c] = false;
    is_told[c] = false;
    is_free[c] = false;
#ifdef BREAK_OWN_WATCH_OVER_RECONNECT
    trusts[c] = false;
#endif
    own_watch[c] = false
}

/* What was known of the own node holds for one connection. The watch on it may not be set again: it
 * is asked for when it is needed next. (zklock asks for it at once, and so may have it earlier.) */
inline doubt_hand_off(c) {
#ifdef BREAK_OWN_WATCH_OVER_RECONNECT
    trusts[c] = HAS_OWN_WATCH(c);
#endif
#if !defined(BREAK_HAND_OFF_OVER_RECONNECT) && !defined(BREAK_TOLD_OVER_RECONNECT)
    own_watch[c] = false;
#endif
    is_free[c] = false;
#ifndef BREAK_HAND_OFF_OVER_RECONNECT
    next_in_line[c] = false;
#endif
#ifndef BREAK_TOLD_OVER_RECONNECT
    is_told[c] = false
#else
    skip
#endif
}

/* ---- The list ---------------------------------------------------------- */

#ifdef BREAK_READER_WAITS_FOR_NOBODY
#define IN_THE_WAY(n, c) (KIND(c) != READ)
#elif defined(BREAK_READER_IGNORES_WRITER_BEFORE_IT)
#define IN_THE_WAY(n, c) (CONFLICT(kind[n], KIND(c)) && !(KIND(c) == READ && n + 1 == own[c]))
#else
#define IN_THE_WAY(n, c) CONFLICT(kind[n], KIND(c))
#endif

#ifdef BREAK_WATCH_LOWEST
#define IS_NEARER(c) (blocker[c] == NONE)
#else
#define IS_NEARER(c) true
#endif

inline look_for_blocker(c) {
    blocker[c] = NONE;
    earlier = 0;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < own[c] && LIVED(i, at) ->
            earlier++;
            if
            :: IN_THE_WAY(i, c) && IS_NEARER(c) -> blocker[c] = i
            :: else
            fi
        :: else
        fi
    }
}

#ifdef BREAK_HAND_OFF_PAST_OTHERS
#define ONLY_ONE_EARLIER true
#else
#define ONLY_ONE_EARLIER (earlier == 1)
#endif
#ifdef BREAK_HAND_OFF_BEHIND_WRITER
#define LEAVES_NOBODY(n) true
#else
#define LEAVES_NOBODY(n) (kind[n] != WRITE)
#endif
#ifdef BREAK_HAND_OFF_IN_OWN_SESSION
#define OF_ANOTHER(n, c) true
#else
#define OF_ANOTHER(n, c) (owner[n] == CURATOR_OWNER || SESSION(owner[n]) != SESSION(c))
#endif

#if !defined(TELLS)
#define TELLS_RELEASE(n) false
#elif defined(BREAK_READER_TELLS)
#define TELLS_RELEASE(n) (owner[n] != CURATOR_OWNER)
#else
#define TELLS_RELEASE(n) (owner[n] != CURATOR_OWNER && kind[n] != READ)
#endif

inline judge_queue(c) {
    look_for_blocker(c);
    if
#ifndef BREAK_TRUST_LIST_WITHOUT_OWN
    :: !LIVED(own[c], at) -> lose_place(c)
    :: LIVED(own[c], at) && blocker[c] == NONE -> grant(c, false)
#else
    :: blocker[c] == NONE -> grant(c, false)
#endif
    :: else ->
        next_in_line[c] = ONLY_ONE_EARLIER && LEAVES_NOBODY(blocker[c]);
        of_another[c] = OF_ANOTHER(blocker[c], c);
        is_told[c] = TELLS_RELEASE(blocker[c]);
        phase[c] = ARMING
    fi
}

/* ---- Watches ----------------------------------------------------------- */

/* Who waits for the same node, and is not itself a ghost: more than readers
 * behind one writer would be a herd. */
inline check_herd(c) {
    one_is_woken = true;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: i != c && WATCHES(i) && blocker[i] == blocker[c] && LIVES(own[i]) && LIVES(own[c]) &&
           CONFLICT(KIND(i), KIND(c)) ->
            one_is_woken = false
        :: else
        fi
    }
    assert(one_is_woken)
}

#ifdef BREAK_TOLD_UNWATCHED
#define MUST_LIVE(c) next_in_line[c]
#else
#define MUST_LIVE(c) (next_in_line[c] || is_told[c])
#endif

#if defined(CUT_OFF) || defined(BREAK_HAND_OFF_STALE) || defined(BREAK_TOLD_STALE)
#define CAN_BE_FRESH(c) true
#else
#define CAN_BE_FRESH(c) (ended_at[SESSION(c)] == 0)
#endif
#ifdef BREAK_HAND_OFF_UNWATCHED
#define OWN_NODE_LIVES(c) true
#elif defined(BREAK_TOLD_UNWATCHED)
#define OWN_NODE_LIVES(c) (own_watch[c] || !next_in_line[c])
#else
#define OWN_NODE_LIVES(c) HAS_OWN_WATCH(c)
#endif

/* Whether the answer that is taken in this step is fresh. */
inline choose_freshness(c) {
    if
    :: CAN_BE_FRESH(c) -> chosen = 1
    :: true -> chosen = 0
    fi
}

#ifdef BREAK_GONE_UNWATCHED
#define TAKES_OVER(c) (is_free[c] && chosen == 1)
#else
#define TAKES_OVER(c) (is_free[c] && OWN_NODE_LIVES(c) && chosen == 1)
#endif

inline take_watch(c) {
    seen[SESSION(c)] = at;
    if
    :: LIVED(blocker[c], at) ->
#ifdef BREAK_HAND_OFF_UNWATCHED
        phase[c] = WAITING;
#else
        phase[c] = (MUST_LIVE(c) && !HAS_OWN_WATCH(c) -> ARMING_OWN : WAITING);
#endif
        check_herd(c)
    :: else ->
#ifdef BREAK_GRANT_ON_NONODE
        grant(c, false)
#elif defined(BREAK_WATCH_AGAIN_ON_NONODE)
        skip
#else
        is_free[c] = next_in_line[c];
        if
        :: TAKES_OVER(c) -> grant(c, true)
        :: !TAKES_OVER(c) && MUST_LIVE(c) && !HAS_OWN_WATCH(c) ->
            phase[c] = ARMING_OWN;
            stop_waiting(c)
        :: else -> is_free[c] = false; phase[c] = QUEUED; stop_waiting(c)
        fi
#endif
    fi
}

inline take_own_watch(c) {
    seen[SESSION(c)] = at;
    if
    :: !LIVED(own[c], at) -> lose_place(c)
    :: LIVED(own[c], at) && blocker[c] == NONE ->
        own_watch[c] = true;
        if
        :: TAKES_OVER(c) -> grant(c, true)
        :: else -> is_free[c] = false; phase[c] = QUEUED
        fi
    :: else -> own_watch[c] = true; phase[c] = WAITING
    fi
}

/* ---- News -------------------------------------------------------------- */

#define IS_FREED(c) \
    ((next_in_line[c] && of_another[c]) || (is_told[c] && IS_TOLD_OF(blocker[c])))
#define HANDED_OVER(c) (phase[c] == WAITING && IS_FREED(c) && OWN_NODE_LIVES(c) && CAN_BE_FRESH(c))

#define HEARS_OF_BLOCKER(c) (WATCHES(c) && CAN_HEAR_OF(blocker[c], c))

inline choose_news(c) {
    at = HEARD_OF(blocker[c], c)
}

inline stop_waiting(c) {
    blocker[c] = NONE;
    next_in_line[c] = false;
    of_another[c] = false;
    is_told[c] = false;
    if
    :: phase[c] == WAITING -> phase[c] = QUEUED
    :: else
    fi
}

/* The answer about its own node may be awaited yet. */
inline take_news(c) {
    is_free[c] = phase[c] == ARMING_OWN && IS_FREED(c);
    stop_waiting(c)
}
