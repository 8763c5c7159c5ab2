/* What clients have counted (zkl_client_metrics) against what their applications were told. */
#pragma once

void oracle_counts_begin(void);
void oracle_counts_end(void);

/** When the contenders of all clients that are open, and have not died, are done. */
void oracle_counts_judge(void);
