/*
 * libzookeeper, as distributions build it, opens its sockets without close-on-exec. It does not
 * reveal their descriptors, only the address at the other end.
 */
#pragma once

#include <sys/socket.h>

/** Programs that this process executes do not inherit its connections to that address: a connection
 *  to the same server that somebody else has made in this process is one of them. Without /proc
 *  nothing happens. */
void zkl_close_on_exec(const struct sockaddr *peer, socklen_t length);
