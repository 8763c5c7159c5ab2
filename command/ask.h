/* One question to the servers, with a client of its own. */
#pragma once

#include "settings.h"

/** How long an answer may take; --timeout changes it. */
#define ASK_TIMEOUT_MS 10000

/** Says so if there is no lock root: whoever finds nothing there may have asked in a wrong place.
 */
void ask_about_root(const settings *all, zkl_client *client);

/** Opens a client, asks, closes it. `about` names what was asked, for the message if it fails.
 *  Returns what the command is to end with. */
int ask(const settings *all, const char *about, int (*question)(zkl_client *client, void *arg),
        void *arg);
/** Likewise, what writes nothing: in a session of 10 s at most, so that a server which falls silent
 *  is left soon. */
int ask_to_read(const settings *all, const char *about,
                int (*question)(zkl_client *client, void *arg), void *arg);
