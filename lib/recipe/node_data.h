/* What a node's data ask of who made it. */
#ifndef ZKLOCK_RECIPE_NODE_DATA_H
#define ZKLOCK_RECIPE_NODE_DATA_H

#include <stdbool.h>
#include <stddef.h>

/** The data that ask a contender to give up what it has, as Curator's Revoker writes them. */
const char *zkl_node_data_revocation(void);
/** Whether it is these. `data` may be NULL where there is none. */
bool zkl_node_data_is_revocation(const char *data, size_t length);

#endif
