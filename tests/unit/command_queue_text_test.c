/* What people read about a queue. */
#include "queue_text.h"

#include "support/unit.h"

static zkl_contender contender_of(const char *node, int64_t session_id, const char *host) {
    return (zkl_contender){ .struct_size = sizeof(zkl_contender),
                            .node = node,
                            .session_id = session_id,
                            .identity = { host, "12", "", "", "" },
                            .age_ms = 1000 };
}

static const zkl_contender *entries[3];
static zkl_contender first;
static zkl_contender second;
static zkl_contender third;

static zkl_queue queue_of_three(void) {
    first = contender_of("lock-0000000001", 7, "web-7");
    second = contender_of("lock-0000000002", 0, "hand"); /* persistent: nobody's session */
    third = contender_of("lock-0000000003", 9, "web-9");
    first.holds = 1;
    entries[0] = &first;
    entries[1] = &second;
    entries[2] = &third;
    return (zkl_queue){ 3, entries };
}

TEST(position_is_that_of_our_session) {
    char text[QUEUE_TEXT_SIZE];
    zkl_queue queue = queue_of_three();
    queue_text_position(text, &queue, 9);
    EXPECT_TEXT(text, "behind 2, held by web-7 pid 12 for 1 s");
    queue_text_position(text, &queue, 7);
    EXPECT_TEXT(text, "");
}

TEST(without_a_session_a_node_without_one_is_not_taken_for_ours) {
    char text[QUEUE_TEXT_SIZE];
    zkl_queue queue = queue_of_three();
    queue_text_position(text, &queue, 0);
    EXPECT_TEXT(text, "behind 3, held by web-7 pid 12 for 1 s");
}
