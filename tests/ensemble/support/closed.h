/*
 * Servers that are closed to strangers: tests/run --help, suite closed. Each client of a program
 * that is linked with this shows a credential, and makes nodes that only clients with the same one
 * may touch, unless its options have credentials of their own.
 */
#pragma once

/** "user:password" of the scheme digest; NULL: the servers are open. */
const char *closed_secret(void);
