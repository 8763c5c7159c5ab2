/*
 * Bytes to the events of a request, and an account of what they said. Each event
 * is a letter (any other byte counts as the letter or digit that it shares its low
 * five bits with; those that are none of these are passed over, spaces too), and
 * what belongs to it:
 *
 *     c created        outcome, sequence     a cancelled    0 to 2: with which status
 *     l listed         outcome, children     x session end  0: a fresh GUID, 1: none
 *     m parent made    outcome               f watch fired  bits: 1 deleted, 2 old news,
 *                                                              4 changed
 *     w watched        outcome               g own watch fired
 *     i inspected      outcome, 0 ours       e lease begun   q lease thin   n lease ended
 *     d deleted        outcome               k probe         h hold limit
 *     \ handed over    outcome
 *     t settled        outcome               u connected     v disconnected
 *     o own watched    outcome               y timed out     r released
 *     b backed off                           s start
 *     p parent removed outcome, 7 not empty   z downgraded    outcome
 *     j downgrade                             [ parent inspected outcome, bits: 1 made anew,
 *                                               2 holds data
 *
 * Outcomes: 0 OK, 1 NO_NODE, 2 UNKNOWN, 3 NOT_NOW, 4 REFUSED, 5 SESSION_OVER, 6 REFUSED
 * silently, 7 OK, but of long ago. Children are pairs of a letter and a digit that is added to the
 * base: those of support/names.h, m for a node with our name, o for one that is known to be ours,
 * and g for one with our GUID and a strange tail; a full stop ends the list. So
 *
 *     p000 c03 l0x2m3. w0
 *
 * is "created me3", "listed x2 me3", "watched OK" of a plausible conversation.
 */
#pragma once

#include <stdbool.h>

#include "fuzz.h"
#include "recipe/request.h"
#include "support/names.h"

enum { CHILDREN_MAX = 8, OURS_MAX = 64, LISTED_NAME_SIZE = NAME_SIZE + 64 };

typedef struct conversation {
    zkl_mode mode;
    unsigned permits;
    bool is_protected;
    int32_t base;
    int32_t created_truly;
    unsigned session;
    char guid[NAME_GUID_SIZE];
    char prefix[NAME_SIZE];
    char owner[NAME_SIZE];          /* "_c_<guid>-" */
    char ours[OURS_MAX][NAME_SIZE]; /* nodes that replies said are ours */
    bool may_live[OURS_MAX];        /* and that it is gone again, no reply has said */
    size_t ours_count;
    bool create_lost;    /* and not yet resolved */
    bool write_followed; /* a committed one: the lost create is applied by now, or never */
    char list[CHILDREN_MAX][LISTED_NAME_SIZE]; /* the last one that was answered */
    size_t listed;
    char watched[LISTED_NAME_SIZE]; /* what the last action of its kind was about */
    char inspected[NAME_SIZE];
    char rejected[NAME_SIZE]; /* others' with our GUID, up to here in the order of names */
    char deleted[NAME_SIZE];
    char handed_over[NAME_SIZE];
    char own_watched[NAME_SIZE];
    char reader[NAME_SIZE]; /* of the last downgrade, and in whose place */
    char writer[NAME_SIZE];
    char *created; /* the event's strings, in memory of their size */
    char *children[CHILDREN_MAX];
    size_t children_count;
} conversation;

void conversation_begin(conversation *talk, zkl_mode mode, unsigned permits, bool is_protected,
                        uint8_t base);
/** Frees the strings of the last event. */
void conversation_end(conversation *talk);

/** The next event; its strings are valid until the next call. False: there was none in this
 *  byte. */
bool conversation_read(conversation *talk, fuzz_bytes *bytes, zkl_event *event);

/** Fills in what servers say when all is well and the others are gone; `own` is our node, or "". */
void conversation_answer_truly(conversation *talk, zkl_event *event, const char *own);

/** Gives the end of a session the next one's GUID. */
void conversation_begin_session(conversation *talk, zkl_event *event);

/** To be told each event before it is fed. */
void conversation_note(conversation *talk, const zkl_event *event);

zkl_children conversation_list(const conversation *talk);
bool conversation_is_listed(const conversation *talk, const char *name);
bool conversation_is_ours(const conversation *talk, const char *name);
/** Whether a node of ours may be left behind: one that is known, or one of a create whose reply was
 *  lost, which only a list after a committed write rules out. */
bool conversation_may_leave_node(const conversation *talk);
