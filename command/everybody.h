/* What an ACL, as zkl_node has it, allows to everybody. */
#pragma once

#include <stdbool.h>

/** Whether everybody has one of these permissions (letters of cdrwa). What several entries allow
 *  adds up. */
bool everybody_may(const char *acl, const char *permissions);
