/*
 * Whom a request for a permit of a semaphore waits for: it is granted when fewer
 * than PERMITS earlier requests live; else it watches the PERMITS nearest of
 * them, and lists again when any of these goes. A part of lock.pml.
 *
 * Not in it: contenders of one client, and the hand-off (there is none).
 */

/* Sets of places, a bit for each: whom the last list told to watch, and whose
 * watch is armed. */
short to_watch[CONTENDERS], watched[CONTENDERS];

#define BIT(n) (1 << (n))
#define CONTAINS(set, n) ((((set) >> (n)) & 1) == 1)

#define WATCHES(c) (watched[c] != 0)
#define WATCHED_AND_FIRED(n, c, position) (CONTAINS(watched[c], n) && FIRED(n, position))
#define WATCH_FIRED(c, position) \
    (WATCHED_AND_FIRED(0, c, position) || WATCHED_AND_FIRED(1, c, position) || \
     WATCHED_AND_FIRED(2, c, position) || WATCHED_AND_FIRED(3, c, position) || \
     WATCHED_AND_FIRED(4, c, position) || WATCHED_AND_FIRED(5, c, position) || \
     WATCHED_AND_FIRED(6, c, position) || WATCHED_AND_FIRED(7, c, position))
#define WAITS_FOR(c, n) (CONTAINS(to_watch[c], n) || CONTAINS(watched[c], n))
#define WAITS_FOR_NOBODY(c) (to_watch[c] == 0 && watched[c] == 0)

/* The place j is taken out, and those behind it move up. */
inline drop_from_blockers(c) {
    to_watch[c] = (to_watch[c] & (BIT(j) - 1)) | ((to_watch[c] >> 1) & ~(BIT(j) - 1));
    watched[c] = (watched[c] & (BIT(j) - 1)) | ((watched[c] >> 1) & ~(BIT(j) - 1))
}

inline forget_blockers(c) {
    to_watch[c] = 0;
    watched[c] = 0
}

inline forget_watches(c) {
    forget_blockers(c);
    own_watch[c] = false
}

inline doubt_hand_off(c) {
    skip
}

inline choose_freshness(c) {
    skip
}

/* ---- The list ---------------------------------------------------------- */

#ifdef BREAK_PERMIT_ONE_TOO_MANY
#define IS_FREE (earlier <= PERMITS)
#else
#define IS_FREE (earlier < PERMITS)
#endif
#ifdef BREAK_PERMIT_WATCHES_ONE_LESS
#define WATCH_COUNT (PERMITS - 1)
#else
#define WATCH_COUNT PERMITS
#endif
#ifdef BREAK_PERMIT_WATCHES_FIRST
#define PLACE_TO_LOOK_AT(c) j
#else
#define PLACE_TO_LOOK_AT(c) (own[c] - 1 - j)
#endif

inline count_earlier(c) {
    earlier = 0;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < own[c] && LIVED(i, at) -> earlier++
        :: else
        fi
    }
}

inline choose_whom_to_watch(c) {
    found = 0;
    j = 0;
    do
    :: j < own[c] && found < WATCH_COUNT ->
        i = PLACE_TO_LOOK_AT(c);
        if
        :: LIVED(i, at) -> to_watch[c] = to_watch[c] | BIT(i); found++
        :: else
        fi;
        j++
    :: else -> break
    od
}

inline judge_queue(c) {
    count_earlier(c);
    if
    :: !LIVED(own[c], at) -> lose_place(c)
    :: LIVED(own[c], at) && IS_FREE -> grant(c, false)
    :: else ->
        choose_whom_to_watch(c);
        phase[c] = (to_watch[c] == 0 -> WAITING : ARMING)
    fi
}

/* ---- Watches ----------------------------------------------------------- */

/* As many as permits watch one node at most: more would be a herd. Ghosts do not
 * count. */
inline check_herd(c, node) {
    others = 0;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: i != c && CONTAINS(watched[i], node) && LIVES(own[i]) && LIVES(own[c]) -> others++
        :: else
        fi
    }
    few_are_woken = others < PERMITS;
    assert(few_are_woken)
}

/* They are asked for together, and answered one after the other. */
inline take_watch(c) {
    seen[SESSION(c)] = at;
    j = 0;
    do
    :: !CONTAINS(to_watch[c], j) -> j++
    :: else -> break
    od;
    if
    :: LIVED(j, at) ->
        to_watch[c] = to_watch[c] & ~BIT(j);
        watched[c] = watched[c] | BIT(j);
        check_herd(c, j);
        phase[c] = (to_watch[c] == 0 -> WAITING : ARMING)
    :: else -> forget_blockers(c); phase[c] = QUEUED
    fi
}

/* Who waits, and has news under way from none of its watches, has no permit to take. */
inline check_wake_ups() {
    for (j : 0 .. CONTENDERS - 1) {
        if
        :: phase[j] == WAITING && LIVES(own[j]) && !WATCH_FIRED(j, now_at) ->
            earlier = 0;
            for (i : 0 .. PLACES - 1) {
                if
                :: i < own[j] && i < node_count && LIVES(i) -> earlier++
                :: else
                fi
            }
            no_wake_up_is_lost = earlier >= PERMITS;
            assert(no_wake_up_is_lost)
        :: else
        fi
    }
}

/* ---- News -------------------------------------------------------------- */

#define LAST_TOLD(c) (ended_at[c] != 0 -> ended_at[c] : now_at)
#define HEARS_OF_BLOCKER(c) (connected[c] && WATCH_FIRED(c, LAST_TOLD(c)))

/* The first of the news is heard first, and all of them mean the same. */
inline choose_news(c) {
    at = seen[c];
    do
    :: !WATCH_FIRED(c, at) -> at++
    :: else -> break
    od
}

inline stop_waiting(c) {
    forget_blockers(c);
    phase[c] = QUEUED
}

inline take_news(c) {
#ifdef BREAK_PERMIT_GRANTED_BY_NEWS
    grant(c, false)
#else
    stop_waiting(c)
#endif
}
