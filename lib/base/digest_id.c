#include "base/digest_id.h"

#include <sha1.h>
#include <stdio.h>
#include <string.h>

#define BASE64_SIZE ((SHA1_DIGEST_LENGTH + 2) / 3 * 4 + 1)

/* Writes the hash in base64. It has two bytes more than a multiple of three, so the text ends in
 * one "=". */
static void write_base64(const uint8_t hash[SHA1_DIGEST_LENGTH], char text[BASE64_SIZE]) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t padded[SHA1_DIGEST_LENGTH + 1] = { 0 };
    memcpy(padded, hash, SHA1_DIGEST_LENGTH);
    for (size_t i = 0; i < sizeof(padded); i += 3) {
        uint32_t bits =
            (uint32_t)padded[i] << 16 | (uint32_t)padded[i + 1] << 8 | (uint32_t)padded[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) {
            *text++ = letters[bits >> shift & 0x3f];
        }
    }
    text[-1] = '=';
    text[0] = '\0';
}

bool zkl_digest_id(const char *secret, size_t length, char id[ZKL_DIGEST_ID_SIZE]) {
    const char *colon = memchr(secret, ':', length);
    if (colon == NULL || (size_t)(colon - secret) + BASE64_SIZE >= ZKL_DIGEST_ID_SIZE) {
        return false;
    }
    SHA1_CTX context;
    uint8_t hash[SHA1_DIGEST_LENGTH];
    char text[BASE64_SIZE];
    SHA1Init(&context);
    SHA1Update(&context, (const uint8_t *)secret, length);
    SHA1Final(hash, &context);
    explicit_bzero(&context, sizeof(context));
    write_base64(hash, text);
    snprintf(id, ZKL_DIGEST_ID_SIZE, "%.*s:%s", (int)(colon - secret), secret, text);
    return true;
}
