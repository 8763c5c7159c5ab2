/*
 * A model of the downgrade: a writer holds, others come, and it goes on as a
 * reader. One transaction creates a reader's node with the sequence of the
 * writer's and deletes the writer's. Run by tests/spin/run; docs/internals/protocol.md
 * ("The model") maps the steps to functions.
 *
 * Servers, positions and reads are as in lock.pml. Contender 0 is the writer that holds. The others
 * are requests as in lock.pml, without what is checked there: they lose no
 * replies, watch only their blocker, and end with their session.
 */

/* ---- Bounds ------------------------------------------------------------ */

#ifndef WRITERS      /* that come while the first one holds */
#define WRITERS 1
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
#ifndef DISCONNECTS  /* of the holder */
#define DISCONNECTS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef BY_HAND
#define BY_HAND 0
#endif
/* STAYS, where defined: once it is a reader the holder never goes. */

#define CONTENDERS (1 + WRITERS + READERS)
#define PLACES (CONTENDERS + 2)
#define NONE 255

/* ---- The servers ------------------------------------------------------- */

#define WRITE 0
#define READ 1

/* Places are in the order of the queue: the holder's two nodes with one sequence,
 * write before read, then the others as they come. */
#define WRITE_NODE 0
#ifdef BREAK_READER_JOINS_AT_TAIL
byte read_node = 1;
#define READ_NODE read_node
#else
#define READ_NODE 1
#endif

byte now_at = 1;
byte node_count = 2;
byte born[PLACES], gone[PLACES], owner[PLACES];

#define IS_READER(c) ((c) > WRITERS)
#define KIND_OF_PLACE(n) \
    ((n) == WRITE_NODE -> WRITE : ((n) == READ_NODE || IS_READER(owner[n]) -> READ : WRITE))
#define LIVES(n) (born[n] != 0 && gone[n] == 0)
#define LIVED(n, at) (born[n] != 0 && born[n] <= (at) && (gone[n] == 0 || gone[n] > (at)))

/* ---- Contenders -------------------------------------------------------- */

#define IDLE 0
#define QUEUED 1
#define ARMING 2
#define WAITING 3
#define HELD 4       /* contender 0: as a writer */
#define READING 5    /* contender 0: as a reader */
#define UNSURE 6     /* contender 0: the reply of the transaction was lost */
#define LEAVING 7
#define ENDED 8

#define MAY_START(c) ((c) == 1 || IS_READER(c) != IS_READER((c) - 1) || phase[(c) - 1] != IDLE)

byte phase[CONTENDERS];
byte own[CONTENDERS] = NONE, blocker[CONTENDERS] = NONE, seen[CONTENDERS] = 1;
bool expired[CONTENDERS];
bool disconnected, late, half_done;
bool deleted_by_hand; /* the node of contender 0 */
byte ended_count = 0;

byte expiries = EXPIRIES, disconnects = DISCONNECTS, cancels = CANCELS, by_hand = BY_HAND;
byte at;

hidden byte i, j, oldest;

/* ---- The past ---------------------------------------------------------- */

/* Whether the next read of a contender is answered at a position from `seen` on. */
#ifdef BREAK_NO_BARRIER
#define READS(c) ((phase[c] >= QUEUED && phase[c] <= WAITING) || (c) == 0)
#else
#define READS(c) (phase[c] >= QUEUED && phase[c] <= WAITING)
#endif
#define SHIFTED(x) ((x) == 0 -> 0 : ((x) <= oldest -> 1 : (x) - oldest + 1))

/* What lies before the oldest position that can still be read is the same for all. */
inline forget_the_past() {
    oldest = now_at;
    for (i : 0 .. CONTENDERS - 1) {
        if
        :: READS(i) && !expired[i] && seen[i] < oldest -> oldest = seen[i]
        :: else
        fi
    }
    for (i : 0 .. CONTENDERS - 1) {
        seen[i] = (READS(i) && !expired[i] -> SHIFTED(seen[i]) : 1)
    }
    now_at = SHIFTED(now_at);
    for (i : 0 .. PLACES - 1) {
        born[i] = SHIFTED(born[i]);
        gone[i] = SHIFTED(gone[i]);
        if
        :: gone[i] == 1 -> born[i] = 1
        :: else
        fi
    }
    at = 0;
    i = 0;
    j = 0
}

/* The properties, as they are named when broken. */
hidden byte no_other_holder, no_orphan;

/* Whether it holds by what the servers say. Who is unsure is a reader at least. */
#define HOLDS_AS_WRITER(c) \
    (phase[c] == HELD && !IS_READER(c) && !expired[c] && (LIVES(own[c]) || ((c) == 0 && !deleted_by_hand)))
#define HOLDS_AS_READER(c) \
    (!expired[c] && (((phase[c] == READING || phase[c] == UNSURE) && LIVES(READ_NODE)) || \
                     (phase[c] == HELD && IS_READER(c) && LIVES(own[c]))))

inline check_and_forget() {
    for (i : 0 .. CONTENDERS - 1) {
        for (j : 0 .. CONTENDERS - 1) {
            no_other_holder = !(i != j && HOLDS_AS_WRITER(i) && (HOLDS_AS_WRITER(j) || HOLDS_AS_READER(j)));
            assert(no_other_holder)
        }
    }
    forget_the_past()
}

/* ---- Transactions ------------------------------------------------------ */

inline commit_deletion(node) {
    if
    :: LIVES(node) -> now_at++; gone[node] = now_at
    :: else
    fi
}

/* Nothing of it is carried out if the writer's node is gone. */
inline commit_downgrade() {
    if
    :: LIVES(WRITE_NODE) ->
        now_at++;
        gone[WRITE_NODE] = now_at;
#ifdef BREAK_READER_JOINS_AT_TAIL
        born[node_count] = now_at;
        read_node = node_count;
        node_count++
#else
        born[READ_NODE] = now_at
#endif
    :: else
    fi
}

inline end_request(c) {
    for (i : 0 .. PLACES - 1) {
        no_orphan = !(owner[i] == c && LIVES(i)) && !(c == 0 && late);
        assert(no_orphan)
    }
    phase[c] = ENDED;
    blocker[c] = NONE;
    ended_count++
}

/* ---- The holder -------------------------------------------------------- */

inline take_downgraded() {
    if
    :: LIVES(WRITE_NODE) -> commit_downgrade(); phase[0] = READING
    :: else -> phase[0] = LEAVING /* deleted by hand: LOST */
    fi
}

/* A committed write on the new connection, then the list: the reader's node is
 * there, or the writer's, or none. */
inline settle() {
#ifndef BREAK_NO_BARRIER
    late = false;
    at = now_at;
#endif
    seen[0] = at;
    if
    :: LIVED(READ_NODE, at) -> phase[0] = READING
    :: !LIVED(READ_NODE, at) && LIVED(WRITE_NODE, at) -> phase[0] = HELD
    :: else -> phase[0] = LEAVING
    fi
}

inline leave_as_holder() {
    commit_deletion(WRITE_NODE);
    commit_deletion(READ_NODE);
    late = false;
    end_request(0)
}

inline hear_of_session_end(c) {
    expired[c] = false;
    end_request(c)
}

proctype holder() {
    do
#ifdef BREAK_DELETES_BEFORE_IT_CREATES
    :: d_step { phase[0] == HELD && !half_done && !expired[0] ->
           commit_deletion(WRITE_NODE);
           half_done = true;
           check_and_forget() }
    :: d_step { half_done && !expired[0] ->
           now_at++;
           born[READ_NODE] = now_at;
           half_done = false;
           phase[0] = READING;
           check_and_forget() }
#else
    :: d_step { phase[0] == HELD && !disconnected && !expired[0] -> take_downgraded(); check_and_forget() }
#endif
    :: atomic { phase[0] == UNSURE && !disconnected && !expired[0] ->
#ifdef BREAK_NO_BARRIER
           at = seen[0];
           do
           :: at < now_at -> at++
           :: break
           od;
#endif
           d_step { settle(); check_and_forget() } }
#ifndef STAYS
    :: d_step { (phase[0] == HELD || phase[0] == READING) && !half_done && !disconnected && !expired[0] ->
           leave_as_holder(); forget_the_past() }
#endif
    :: d_step { phase[0] == LEAVING && !disconnected && !expired[0] -> leave_as_holder(); forget_the_past() }
    :: d_step { disconnected && !expired[0] -> disconnected = false }
    :: d_step { expired[0] -> half_done = false; disconnected = false; hear_of_session_end(0); forget_the_past() }
    :: atomic { phase[0] == ENDED -> break }
#ifdef STAYS
    :: atomic { phase[0] == READING && !disconnected && !expired[0] && ended_count == CONTENDERS - 1 ->
           break }
#endif
    od
}

/* ---- The others -------------------------------------------------------- */

inline take_created(c) {
    now_at++;
    own[c] = node_count;
    born[node_count] = now_at;
    owner[node_count] = c;
    node_count++;
    seen[c] = now_at;
    phase[c] = QUEUED
}

inline take_list(c) {
    seen[c] = at;
    blocker[c] = NONE;
    for (i : 0 .. PLACES - 1) {
        if
        :: i < own[c] && LIVED(i, at) && !(IS_READER(c) && KIND_OF_PLACE(i) == READ) -> blocker[c] = i
        :: else
        fi
    }
    if
    :: !LIVED(own[c], at) -> end_request(c) /* deleted by hand */
    :: LIVED(own[c], at) && blocker[c] == NONE -> phase[c] = HELD
    :: else -> phase[c] = ARMING
    fi
}

inline take_watch(c) {
    seen[c] = at;
    if
    :: LIVED(blocker[c], at) -> phase[c] = WAITING
    :: else -> blocker[c] = NONE; phase[c] = QUEUED
    fi
}

inline take_news(c) {
    seen[c] = (gone[blocker[c]] > seen[c] -> gone[blocker[c]] : seen[c]);
    blocker[c] = NONE;
#ifdef BREAK_HAND_OFF_BEHIND_WRITER
    phase[c] = HELD
#else
    phase[c] = QUEUED
#endif
}

inline leave(c) {
    commit_deletion(own[c]);
    end_request(c)
}

#define CHOOSE_POSITION(c) \
    at = seen[c]; \
    do \
    :: at < now_at -> at++ \
    :: break \
    od

proctype contender(byte c) {
    do
    :: d_step { phase[c] == IDLE && MAY_START(c) -> take_created(c); forget_the_past() }
    :: atomic { phase[c] == QUEUED && !expired[c] ->
           CHOOSE_POSITION(c);
           d_step { take_list(c); check_and_forget() } }
    :: atomic { phase[c] == ARMING && !expired[c] ->
           CHOOSE_POSITION(c);
           d_step { take_watch(c); forget_the_past() } }
    :: d_step { phase[c] == WAITING && !expired[c] && gone[blocker[c]] != 0 ->
           take_news(c);
           check_and_forget() }
    :: d_step { (phase[c] == HELD || phase[c] == LEAVING) && !expired[c] -> leave(c); forget_the_past() }
    :: d_step { expired[c] -> hear_of_session_end(c); forget_the_past() }
    :: atomic { phase[c] == ENDED -> break }
    od
}

/* ---- Faults ------------------------------------------------------------ */

inline end_session(c) {
    expiries--;
    now_at++;
    expired[c] = true;
    for (i : 0 .. PLACES - 1) {
        if
        :: LIVES(i) && owner[i] == c -> gone[i] = now_at
        :: else
        fi
    }
    late = (c == 0 -> false : late)
}

/* The transaction was under way: it will be carried out at once, later, or never. */
inline lose_transaction() {
    disconnects--;
    disconnected = true;
    late = true;
#ifdef BREAK_LOST_REPLY_IS_A_REFUSAL
    phase[0] = HELD
#else
    phase[0] = UNSURE
#endif
}

proctype faults(byte c) {
end_of_faults:
    do
#if EXPIRIES > 0
    :: d_step { expiries > 0 && phase[c] != IDLE && phase[c] != ENDED && !expired[c] -> end_session(c); forget_the_past() }
#endif
#if DISCONNECTS > 0
    :: d_step { c == 0 && disconnects > 0 && !disconnected && !expired[0] && phase[0] == HELD ->
           lose_transaction(); forget_the_past() }
    :: d_step { c == 0 && late -> late = false; commit_downgrade(); check_and_forget() }
#endif
#if CANCELS > 0
    :: d_step { c > 0 && cancels > 0 && phase[c] >= QUEUED && phase[c] <= WAITING && !expired[c] ->
           cancels--;
           phase[c] = LEAVING;
           blocker[c] = NONE;
           forget_the_past() }
#endif
#if BY_HAND > 0
    :: d_step { by_hand > 0 && own[c] != NONE && LIVES(own[c]) -> by_hand--;
           commit_deletion(own[c]);
           deleted_by_hand = deleted_by_hand || c == 0;
           forget_the_past() }
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
        born[WRITE_NODE] = 1;
        own[0] = WRITE_NODE;
        phase[0] = HELD;
        run holder();
        run faults(0);
        for (c : 1 .. CONTENDERS - 1) {
            run contender(c);
            run faults(c)
        }
        c = 0
    }
}

#ifdef LIVENESS
#ifdef STAYS
ltl each_request_ends { <> (ended_count >= CONTENDERS - 1) }
#else
ltl each_request_ends { <> (ended_count == CONTENDERS) }
#endif
#endif
