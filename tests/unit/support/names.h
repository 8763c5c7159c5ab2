/* Names of children as the servers write them, made here and not by the code under test; and their
 * short forms in traces:
 *
 *     me3   our own node with sequence 3
 *     mr3   the same as a downgrade makes it, told as r3
 *     x2    another's exclusive node;  r2, w2  its reader, its writer
 *     k2    kazoo's lock;  q2  kazoo's reader;  l2  a LeaderLatch
 *     p2    a permit of two;  t2  a permit of three
 *     u2    a kind that nobody knows
 *     X2, R2, W2, P2, T2, K2, Q2, L2  the same as the small letters, protected
 *     junk  a child without a sequence */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recipe/node_name.h"

enum { NAME_SIZE = 96, NAME_GUID_SIZE = 37 };

/** Writes the GUID of the n-th session of the request under test. */
void name_own_guid(char guid[NAME_GUID_SIZE], unsigned session);
/** Marks a GUID as that of protected nodes. */
void name_protect(char guid[NAME_GUID_SIZE]);
bool name_is_protected(const char *name);
/** Writes a GUID of another contender; each seed has its own. */
void name_other_guid(char guid[NAME_GUID_SIZE], uint64_t seed);

/** Writes the name that our node is created by. */
void name_own_prefix(char name[NAME_SIZE], const char *guid, zkl_mode mode, unsigned permits,
                     zkl_naming naming);

/** Writes another's name; `letter` is x, r, w, k, q, l, p, t, u or j. */
void name_other(char name[NAME_SIZE], char letter, const char *guid, int32_t sequence);

/** Writes the long form of a short one. "me" stands for `own_prefix`. */
void name_expand(char name[NAME_SIZE], const char *brief, const char *own_prefix);
/** Writes the short form of a long one; a name that has none stays as it is. */
void name_shorten(char brief[NAME_SIZE], const char *name, const char *own_prefix);

/** Returns the number at the end of a short form. */
int32_t name_sequence(const char *brief);
