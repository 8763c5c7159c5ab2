/* The SASL login of the handles of one connection. */
#pragma once

#include "connection/transport_call.h"

typedef struct zkl_sasl zkl_sasl;

/** ZKL_OK, ZKL_NO_MEMORY, ZKL_INVALID_ARGUMENT with a message (the file of the password cannot be
 *  read), or ZKL_UNSUPPORTED: libzookeeper has no SASL. */
int zkl_sasl_make(const zkl_security *options, zkl_sasl **made);
void zkl_sasl_free(zkl_sasl *self);
zhandle_t *zkl_sasl_open(zkl_sasl *self, const zkl_transport_call *call);
