/* Identities of ZooKeeper's scheme digest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Room for "user:hash" and its NUL: a user of up to 99 bytes. */
#define ZKL_DIGEST_ID_SIZE 128

/** Writes the id that the servers derive from a secret "user:password": the user, and the SHA-1
 *  hash of the secret in base64 (DigestAuthenticationProvider.generateDigest). False: there is no
 *  colon, or the user's name is too long. */
bool zkl_digest_id(const char *secret, size_t length, char id[ZKL_DIGEST_ID_SIZE]);
