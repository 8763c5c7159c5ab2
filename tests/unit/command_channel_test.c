/* When the two processes of `zklock run` kill its command: each by itself in time. */
#include "channel.h"

#include "support/unit.h"

enum { MARGIN_MS = 80, GRACE_MS = 300, SAFE_UNTIL_MS = 10000 };

static shared both = { .safe_until_ms = SAFE_UNTIL_MS, .margin_ms = MARGIN_MS };
static const channel link_of_both = { .shared = &both };

TEST(command_has_its_grace_and_is_killed_a_margin_before_the_lease_ends_at_the_latest) {
    both.grace_ms = GRACE_MS;
    EXPECT_INT(channel_kill_at(&link_of_both, 0), GRACE_MS);
    EXPECT_INT(channel_kill_at(&link_of_both, SAFE_UNTIL_MS - MARGIN_MS - GRACE_MS),
               SAFE_UNTIL_MS - MARGIN_MS);
    EXPECT_INT(channel_kill_at(&link_of_both, SAFE_UNTIL_MS - MARGIN_MS - 1),
               SAFE_UNTIL_MS - MARGIN_MS);
    EXPECT_INT(channel_kill_at(&link_of_both, SAFE_UNTIL_MS), SAFE_UNTIL_MS - MARGIN_MS);
    both.grace_ms = 2 * SAFE_UNTIL_MS;
    EXPECT_INT(channel_kill_at(&link_of_both, 0), SAFE_UNTIL_MS - MARGIN_MS);
    both.grace_ms = 0;
    EXPECT_INT(channel_kill_at(&link_of_both, 1), 1);
}

TEST(holder_kills_what_a_front_that_is_stopped_has_not_before_the_lease_ends) {
    EXPECT(channel_last_kill_at(&link_of_both) > channel_kill_at(&link_of_both, SAFE_UNTIL_MS));
    EXPECT(channel_last_kill_at(&link_of_both) < SAFE_UNTIL_MS);
}
