/*
 * Host names to addresses, on our own terms: libzookeeper resolves in its I/O
 * thread, in every loop while it is disconnected, spins when that fails, gives
 * up on the whole list for one bad name, and does not know IPv6 brackets. So
 * it is given addresses only (lz-resolver).
 */
#pragma once

/**
 * Turns "host:port,[::1]:port,..." into "address:port,...", as libzookeeper
 * takes it; hosts that cannot be resolved now are left out. Blocks as
 * getaddrinfo does. ZKL_OK with a string to free, ZKL_DISCONNECTED (none
 * could be) or ZKL_NO_MEMORY.
 */
int zkl_resolve_servers(const char *servers, char **addresses);
