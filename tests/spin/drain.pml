/*
 * A model of the drain: what requests do when the sequence numbers of a parent
 * come to their end. Who gets a number from LIMIT on deletes its node again and
 * waits until the parent is gone; whoever finds the parent empty, and without data,
 * deletes it; then it is made anew, and counts from 0. Run by tests/spin/run;
 * docs/internals/protocol.md ("The model") maps the steps to functions.
 *
 * What is abstract, and why that loses nothing:
 * - The limit is 2, not 2^31 - 2^20. From LAST on the servers give the same number
 *   again and again, as they do at 2^31 - 1.
 * - Lost creates, servers that lag, and hand-off are in lock.pml. A list shows the
 *   children of one generation of the parent: it cannot be deleted while it has any.
 * - Whether a parent is another one is told by its czxid; here by a mark that its
 *   deletion leaves (`parent_changed`).
 * - A look that shows a parent with children leads to a delete that the servers refuse
 *   (NOTEMPTY) and to another look: that changes nothing, and is no step.
 * - Of versions of the parent's data only whether one that was seen is still the last
 *   (`unchanged`). Nobody but contenders deletes it.
 * - Of zxids only the order is kept.
 */

/* ---- Bounds ------------------------------------------------------------ */

#ifndef CONTENDERS
#define CONTENDERS 3
#endif
#ifndef FIRST       /* the number that the parent gives first */
#define FIRST 1
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#define LAST (LIMIT + 1)
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
#ifndef DISCONNECTS /* deletions of the parent that are carried out late */
#define DISCONNECTS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef DATA        /* how often an application writes to the parent */
#define DATA 0
#endif
#ifndef ROUNDS      /* how often each wants to hold */
#define ROUNDS 1
#endif

#define NONE 255

/* ---- The servers ------------------------------------------------------- */

bool parent_lives = true;
byte counter = FIRST;
bool parent_data;        /* an application's */
byte late_deletions = 0; /* of the parent, on their way from an old server */
bool late_unchanged;     /* and nobody has written to it since it was looked at */

/* The node of a contender. */
bool lives[CONTENDERS];
byte sequence[CONTENDERS], zxid[CONTENDERS];

/* ---- Contenders -------------------------------------------------------- */

#define CREATING 0
#define MAKING_PARENT 1
#define QUEUED 2
#define ARMING 3
#define WAITING 4
#define HELD 5
#define EXHAUSTED 6 /* the number cannot be trusted: to be deleted */
#define DRAINING 7  /* until the parent is gone: looks at it */
#define REMOVING 8  /* has seen that it may be deleted */
#define LEAVING 9
/* Called off with an exhausted number, or while it drains: it drains once. */
#define LEAVING_EXHAUSTED 10
#define LOOKING_ONCE 11
#define REMOVING_ONCE 12
#define ENDED 13

byte phase[CONTENDERS];
byte rounds[CONTENDERS] = ROUNDS;
byte blocker[CONTENDERS] = NONE;
bool blocker_gone[CONTENDERS], parent_changed[CONTENDERS], expired[CONTENDERS];
bool unchanged[CONTENDERS]; /* nobody has written to the parent since it was looked at */
byte ended_count = 0;
byte top = 0; /* the highest token granted */

byte expiries = EXPIRIES, disconnects = DISCONNECTS, cancels = CANCELS, data = DATA;

hidden byte i, j, freed, found;

/* The properties, as they are named when broken. */
hidden byte no_other_holder, token_order, no_orphan, no_data_lost, no_drain_is_left;

/* ---- Transactions ------------------------------------------------------ */

/* A zxid that nobody has any more: the higher ones move down. */
inline free_zxid(value) {
    freed = value;
    found = top == freed;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: zxid[i] == freed -> found = true
        :: else
        fi
    }
    if
    :: !found && freed != 0 ->
        for (i : 0 .. CONTENDERS - 1) {
            zxid[i] = (zxid[i] > freed -> zxid[i] - 1 : zxid[i])
        }
        top = (top > freed -> top - 1 : top)
    :: else
    fi
}

inline commit_node(c) {
    zxid[c] = top + 1;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: i != c && zxid[i] >= zxid[c] -> zxid[c] = zxid[i] + 1
        :: else
        fi
    }
    lives[c] = true;
    sequence[c] = counter;
    counter = (counter < LAST -> counter + 1 : LAST)
}

inline commit_deletion(c) {
    if
    :: lives[c] ->
        lives[c] = false;
        sequence[c] = 0;
        j = zxid[c];
        zxid[c] = 0;
        free_zxid(j);
        for (i : 0 .. CONTENDERS - 1) {
            if
            :: blocker[i] == c -> blocker_gone[i] = true
            :: else
            fi
        }
    :: else
    fi
}

#if CONTENDERS > 3
#define PARENT_IS_EMPTY (!lives[0] && !lives[1] && !lives[2] && !lives[3])
#elif CONTENDERS > 2
#define PARENT_IS_EMPTY (!lives[0] && !lives[1] && !lives[2])
#else
#define PARENT_IS_EMPTY (!lives[0] && !lives[1])
#endif

/* Only if it is empty: that is the servers' rule. */
inline commit_parent_deletion() {
    if
    :: parent_lives && PARENT_IS_EMPTY ->
        no_data_lost = !parent_data;
        assert(no_data_lost);
        parent_lives = false;
        parent_data = false;
        counter = 0;
        for (i : 0 .. CONTENDERS - 1) {
            parent_changed[i] = phase[i] == DRAINING || phase[i] == REMOVING || phase[i] == LOOKING_ONCE
        }
    :: else
    fi
}

/* Another version: who has looked at it before does not delete it. */
inline commit_data() {
    for (i : 0 .. CONTENDERS - 1) {
        unchanged[i] = false
    }
    parent_data = true;
    late_unchanged = false
}

/* ---- The outcome ------------------------------------------------------- */

inline forget_blocker(c) {
    blocker[c] = NONE;
    blocker_gone[c] = false
}

inline end_request(c) {
    no_orphan = !lives[c];
    assert(no_orphan);
    forget_blocker(c);
    parent_changed[c] = false;
    unchanged[c] = false;
    phase[c] = ENDED;
    ended_count++;
#ifdef NUMBERS_ARE_USED_UP
    /* All had exhausted numbers in the parent that was there at first. */
    no_drain_is_left = ended_count < CONTENDERS || !parent_lives || counter <= LIMIT;
    assert(no_drain_is_left)
#endif
}

inline grant(c) {
    for (i : 0 .. CONTENDERS - 1) {
        no_other_holder = !(i != c && phase[i] == HELD && !expired[i]);
        assert(no_other_holder)
    }
    token_order = zxid[c] > top;
    assert(token_order);
    j = top;
    top = zxid[c];
    free_zxid(j);
    phase[c] = HELD
}

inline join_anew(c) {
    forget_blocker(c);
    parent_changed[c] = false;
    unchanged[c] = false;
    phase[c] = CREATING
}

/* ---- A contender ------------------------------------------------------- */

inline take_created(c) {
    if
    :: parent_lives ->
        commit_node(c);
        phase[c] = (sequence[c] >= LIMIT -> EXHAUSTED : QUEUED)
    :: else -> phase[c] = MAKING_PARENT
    fi
}

inline take_parent_made(c) {
    parent_lives = true;
    phase[c] = CREATING
}

/* Equal numbers go by name. */
#define IS_BEFORE(n, m) (sequence[n] < sequence[m] || (sequence[n] == sequence[m] && (n) < (m)))

inline take_list(c) {
    blocker[c] = NONE;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: i != c && lives[i] && IS_BEFORE(i, c) ->
            if
            :: blocker[c] == NONE -> blocker[c] = i
            :: blocker[c] != NONE && IS_BEFORE(blocker[c], i) -> blocker[c] = i
            :: else
            fi
        :: else
        fi
    }
    if
    :: !lives[c] -> join_anew(c)
    :: lives[c] && blocker[c] == NONE -> grant(c)
    :: else -> phase[c] = ARMING
    fi
}

inline list_again(c) {
    forget_blocker(c);
    phase[c] = QUEUED
}

inline give_back_number(c) {
#ifdef BREAK_GOES_ON_AFTER_NOTEMPTY
    /* It deletes the parent with its own node in it. */
    phase[c] = QUEUED
#elif defined(BREAK_DELETES_CHILDREN_TOO)
    for (j : 0 .. CONTENDERS - 1) {
        lives[j] = false;
        zxid[j] = 0;
        sequence[j] = 0;
        blocker_gone[j] = blocker[j] != NONE
    }
    commit_parent_deletion();
    phase[c] = CREATING
#elif defined(BREAK_DRAINS_WITH_ITS_NODE)
    phase[c] = DRAINING
#else
    commit_deletion(c);
    phase[c] = DRAINING
#endif
}

/* Gone, or another one: that too is the end of the drain. */
inline look_at_parent(c) {
    if
    :: !parent_lives || parent_changed[c] -> join_anew(c)
#ifndef BREAK_REMOVES_DATA
    :: parent_lives && !parent_changed[c] && parent_data -> end_request(c)
#endif
    :: else ->
        unchanged[c] = true;
        phase[c] = REMOVING
    fi
}

#ifdef BREAK_REMOVES_ANY_VERSION
#define IS_AS_SEEN(c) true
#else
#define IS_AS_SEEN(c) (unchanged[c])
#endif

/* Deleted, or gone: the end of the drain. Not empty, or written to: another look. */
inline take_parent_deleted(c) {
    if
    :: !parent_lives || (PARENT_IS_EMPTY && IS_AS_SEEN(c)) ->
        commit_parent_deletion();
        join_anew(c)
    :: else ->
        unchanged[c] = false;
        phase[c] = DRAINING
    fi
}

inline call_off(c) {
    forget_blocker(c);
    if
#ifndef BREAK_LEAVES_THE_DRAIN
    :: phase[c] == EXHAUSTED || phase[c] == DRAINING || phase[c] == REMOVING ->
        unchanged[c] = false;
        phase[c] = (phase[c] == EXHAUSTED -> LEAVING_EXHAUSTED : LOOKING_ONCE)
#endif
    :: else -> phase[c] = LEAVING
    fi
}

inline look_once(c) {
    if
    :: parent_lives && !parent_changed[c] && !parent_data ->
        unchanged[c] = true;
        phase[c] = REMOVING_ONCE
    :: else -> end_request(c)
    fi
}

inline remove_once(c) {
    if
    :: IS_AS_SEEN(c) -> commit_parent_deletion()
    :: else
    fi;
    end_request(c)
}

inline leave(c) {
    commit_deletion(c);
    rounds[c]--;
    if
    :: rounds[c] == 0 || phase[c] == LEAVING -> end_request(c)
    :: else -> join_anew(c)
    fi
}

inline hear_of_session_end(c) {
    expired[c] = false;
    if
    :: phase[c] == HELD || phase[c] >= LEAVING -> end_request(c)
    :: else -> join_anew(c)
    fi
}

#define CAN_ASK(c) (!expired[c])

proctype contender(byte c) {
    do
    :: d_step { phase[c] == CREATING && CAN_ASK(c) -> take_created(c) }
    :: d_step { phase[c] == MAKING_PARENT && CAN_ASK(c) -> take_parent_made(c) }
    :: d_step { phase[c] == QUEUED && CAN_ASK(c) -> take_list(c) }
    :: d_step { phase[c] == ARMING && CAN_ASK(c) && !blocker_gone[c] -> phase[c] = WAITING }
    :: d_step { (phase[c] == ARMING || phase[c] == WAITING) && CAN_ASK(c) && blocker_gone[c] ->
           list_again(c) }
    :: d_step { phase[c] == HELD && CAN_ASK(c) -> leave(c) }
    :: d_step { phase[c] == EXHAUSTED && CAN_ASK(c) -> give_back_number(c) }
    :: d_step { phase[c] == DRAINING && CAN_ASK(c) &&
           (PARENT_IS_EMPTY || parent_changed[c] || parent_data) -> look_at_parent(c) }
    :: d_step { phase[c] == REMOVING && CAN_ASK(c) -> take_parent_deleted(c) }
#ifdef BREAK_ASKS_FOR_NUMBERS_WHILE_DRAINING
    :: d_step { phase[c] == DRAINING && CAN_ASK(c) && !PARENT_IS_EMPTY -> join_anew(c) }
#endif
    :: d_step { phase[c] == LEAVING && CAN_ASK(c) -> leave(c) }
    :: d_step { phase[c] == LEAVING_EXHAUSTED && CAN_ASK(c) -> commit_deletion(c); phase[c] = LOOKING_ONCE }
    :: d_step { phase[c] == LOOKING_ONCE && CAN_ASK(c) -> look_once(c) }
    :: d_step { phase[c] == REMOVING_ONCE && CAN_ASK(c) -> remove_once(c) }
    :: d_step { expired[c] -> hear_of_session_end(c) }
    :: atomic { phase[c] == ENDED -> break }
    od
}

/* ---- Faults ------------------------------------------------------------ */

proctype faults(byte c) {
end_of_faults:
    do
#if EXPIRIES > 0
    :: d_step { expiries > 0 && phase[c] != ENDED && !expired[c] ->
           expiries--;
           commit_deletion(c);
           expired[c] = true }
#endif
#if DISCONNECTS > 0
    :: d_step { disconnects > 0 && phase[c] == REMOVING && !expired[c] ->
           disconnects--;
           late_deletions++;
           late_unchanged = unchanged[c];
           unchanged[c] = false;
           phase[c] = DRAINING }
    :: d_step { late_deletions > 0 ->
           late_deletions--;
           if
           :: late_unchanged -> commit_parent_deletion()
           :: else
           fi;
           late_unchanged = false }
#endif
#if DATA > 0
    :: d_step { data > 0 && parent_lives -> data--; commit_data() }
#endif
#if CANCELS > 0
    :: d_step { cancels > 0 && !expired[c] && phase[c] != HELD && phase[c] < LEAVING ->
           cancels--;
           call_off(c) }
#endif
    :: false -> skip
    od
}

#ifdef LIVENESS
active proctype peace() {
    atomic { expiries = 0; disconnects = 0; cancels = 0; data = 0 }
}
#endif

init {
    atomic {
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
