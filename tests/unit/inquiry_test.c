/* Questions of administration, on a clock that passes while they are looked at. */
#include "client/inquiry.h"

#include "base/handles.h"
#include "base/threads.h"
#include "client/client.h"
#include "support/unit.h"

/* ---- A clock that is a millisecond later at each look, and a server that fails once ------- */

static int64_t clock_ms;
static unsigned sends;
static zkl_reply_callback *done;
static void *asker;
static bool waited_in_vain;

int64_t __wrap_zkl_clock_ms(void);
bool __wrap_zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               int64_t deadline_ms);
zkl_outcome __wrap_zkl_send(zkl_sender *sender, const zkl_operation *operation,
                            zkl_reply_callback *replied, void *arg, zkl_sent **under_way);

int64_t __wrap_zkl_clock_ms(void) {
    return clock_ms++;
}

zkl_outcome __wrap_zkl_send(zkl_sender *sender, const zkl_operation *operation,
                            zkl_reply_callback *replied, void *arg, zkl_sent **under_way) {
    (void)sender;
    (void)operation;
    (void)under_way;
    if (sends++ == 0) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    done = replied;
    asker = arg;
    return ZKL_OUTCOME_OK;
}

/* Answers what is asked. Of a pause it leaves `left_ms`, as a wait may return early. */
static int64_t left_ms;

bool __wrap_zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               int64_t deadline_ms) {
    (void)condition;
    (void)mutex;
    if (done != NULL) {
        done(asker, &(zkl_reply){ .outcome = ZKL_OUTCOME_OK });
        done = NULL;
    } else if (deadline_ms == INT64_MAX) {
        waited_in_vain = true; /* nobody would wake it: it ends here */
        ((zkl_question *)asker)->inquiry->client->closed = true;
    } else if (clock_ms < deadline_ms - left_ms) {
        clock_ms = deadline_ms - left_ms;
    }
    return true;
}

/* ---- The test ----------------------------------------------------------------------------- */

static void begin(zkl_client *client, zkl_client_session *session) {
    clock_ms = 1000;
    sends = 0;
    done = NULL;
    waited_in_vain = false;
    session->session.connected = true;
    client->references = 1;
    client->sessions = session;
    pthread_mutex_init(&client->mutex, NULL);
    zkl_handle_open("client", &client->open);
}

static void end(zkl_client *client) {
    zkl_handle_close(&client->open);
    pthread_mutex_destroy(&client->mutex);
}

static void ask_with_early_wake(int64_t early_ms) {
    zkl_client client = { .references = 0 };
    zkl_client_session session = { .client = &client };
    zkl_inquiry inquiry;
    begin(&client, &session);
    left_ms = early_ms;
    EXPECT_INT(zkl_inquiry_begin(&inquiry, &client, INT64_MAX), ZKL_OK);
    zkl_question question = { .kind = ZKL_OPERATION_EXISTS, .path = "/locks/a" };
    asker = &question;
    EXPECT_INT(zkl_inquiry_ask(&inquiry, &question, 1), ZKL_OK);
    EXPECT(!waited_in_vain);
    EXPECT(question.answered);
    zkl_inquiry_end(&inquiry);
    end(&client);
}

/* Woken up by news of something else just before the pause is over, it finds that it may not ask
 * yet; then the pause is over, and nothing is under way. */
TEST(pause_that_ends_during_the_look_is_not_waited_for_again) {
    for (int64_t early_ms = 0; early_ms < 10; early_ms++) {
        ask_with_early_wake(early_ms);
    }
}
