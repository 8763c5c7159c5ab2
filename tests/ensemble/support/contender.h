/*
 * What the contender program and those who start it agree on.
 *
 *     contender HOSTS SESSION_TIMEOUT_MS RESOURCE FAIL_ON_SESSION_EXPIRY LEASE_TICK_MS PERMITS
 *
 * It opens a client and one handle, and answers that with a line, and then
 * each command with a line, which begins with a status:
 *
 *     (start)              STATUS SESSION_ID SESSION_TIMEOUT_MS
 *     acquire MODE TIMEOUT STATUS TOKEN NODE
 *     release              STATUS
 *     check                STATUS LEASE_LEFT_MS
 *     count MODE N LEDGER  STATUS     N times: acquire, ledger, release; the ledger of
 *                          permits is that of ledger_enter
 *     hold_both OTHER      STATUS TOKEN  a set on RESOURCE and OTHER, until it ends
 *     count_both OTHER N LEDGER  STATUS  N times: such a one, ledger, release
 *     also OTHER TIMEOUT   STATUS TOKEN NODE  OTHER as well, exclusively, until it ends
 *     verify TIMEOUT       STATUS
 *     plan PATH VALUE      STATUS     a guarded transaction that sets the node's data
 *     commit TIMEOUT       STATUS     it
 *     campaign TIMEOUT TEXT  STATUS TERM  as the candidate TEXT for RESOURCE
 *     leads                STATUS TERM
 *     resign               STATUS
 *     told elected         STATUS COUNT  how often it was
 *     told lost            STATUS COUNT
 *
 * It ends at the end of its input, or with its parent.
 */
#pragma once

/** For who is killed while he counts, and must not leave a torn ledger. */
#define CONTENDER_NO_LEDGER "-"

/** A status of `count` that is none of zklock's: another was in the ledger. */
#define CONTENDER_OVERLAPPED 1
