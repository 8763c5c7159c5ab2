/* One question to the servers, with a client of its own. */
#pragma once

#include "settings.h"

/** How long an answer may take; --timeout changes it. */
#define ASK_TIMEOUT_MS 10000

/** Says so if there is no lock root: a user who finds nothing may have asked in the wrong place. */
void ask_about_root(const settings *all, zkl_client *client);
/** Says so if the lock root was made together with `node`, which we have made below it in the last
 *  `within_ms`. Costs a round trip only if `node` is the first of its resource: where another was,
 *  the root existed. */
void ask_about_new_root(const settings *all, zkl_client *client, const char *node,
                        int64_t within_ms);

/** Opens a client, asks, and closes it. `about` names what was asked, for the message if it fails.
 *  Returns the exit status. */
int ask(const settings *all, const char *about, int (*question)(zkl_client *client, void *arg),
        void *arg);
/** Asks a question that writes nothing, in a session of at most 10 s, so that a server that falls
 *  silent is left soon. Otherwise as ask(). */
int ask_to_read(const settings *all, const char *about,
                int (*question)(zkl_client *client, void *arg), void *arg);
