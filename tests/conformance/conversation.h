/*
 * The conversations, by topic. Each is a function that speaks, waits and acts until all
 * that it leaves to chance is decided, so that its transcript is always the same.
 */
#pragma once

#include <stdbool.h>

typedef struct conversation {
    const char *name;
    /* False: it cannot be held with these servers. */
    bool (*hold)(void);
} conversation;

#define CONVERSATION(function)                                                                     \
    { #function, function }
#define CONVERSATIONS_END                                                                          \
    { NULL, NULL }

extern const conversation node_conversations[];
extern const conversation sequence_conversations[];
extern const conversation watch_conversations[];
extern const conversation children_conversations[];
extern const conversation loss_conversations[];
extern const conversation session_conversations[];
extern const conversation transaction_conversations[];
extern const conversation right_conversations[];
