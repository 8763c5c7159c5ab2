/* What an ACL, as in zkl_node, allows everybody. */
#pragma once

#include <stdbool.h>

/** Tells whether any entry gives everybody one of these permissions (letters of cdrwa). */
bool everybody_may(const char *acl, const char *permissions);
