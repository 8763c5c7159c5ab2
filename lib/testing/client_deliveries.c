/* libzookeeper's completion thread: what the library is given, in order. */
#include "connection/return_codes.h"
#include "testing/client_connection.h"
#include "testing/ensemble.h"
#include "testing/hash.h"
#include "zklock/zklock.h"

/* ---- Replies: as connection_libzookeeper.c has them --------------------------------------------
 */

static bool is_as_good_as_done(const zkl_client_request *request, zkl_server_error error) {
    return request->parent && error == ZKL_SERVER_ERROR_NODE_EXISTS;
}

static void take_view(zkl_reply *reply, const zkl_node_view *view) {
    reply->version = view->version;
    reply->made_ms = view->made_ms;
    reply->changed_ms = view->changed_ms;
    reply->children_zxid = view->pzxid;
    reply->child_count = view->child_count;
    reply->data = view->data;
    reply->data_length = view->data_size;
}

static zkl_reply reply_of(const zkl_client_request *request, const zkl_answer *answer) {
    zkl_server_error error =
        is_as_good_as_done(request, answer->error) ? ZKL_SERVER_ERROR_NONE : answer->error;
    zkl_reply reply = zkl_reply_of_code((int)error);
    if (reply.outcome == ZKL_OUTCOME_OK) {
        reply.path = request->kind == ZKL_CALL_CREATE ? answer->path : NULL;
        reply.zxid = answer->czxid;
        reply.ephemeral_owner = answer->ephemeral_owner;
        reply.children = (zkl_children){ answer->names, answer->name_count };
        take_view(&reply, &answer->view);
    }
    return reply;
}

/* `results`: room for one for each operation. */
static zkl_reply reply_of_multi(const zkl_answer *answer, zkl_multi_result *results) {
    for (size_t i = 0; i < answer->result_count; i++) {
        const zkl_operation_result *told = &answer->results[i];
        results[i] = (zkl_multi_result){ .status = (int)told->error, .path = told->path };
    }
    return zkl_reply_of_results((int)answer->error, results, answer->result_count);
}

/* ---- Deliveries ------------------------------------------------------------------------------ */

static zkl_delivery delivery_of(const zkl_connection *self, zkl_delivery_kind kind) {
    return (zkl_delivery){ .kind = kind,
                           .process = zkl_process_number(self->process),
                           .session_id = self->session_id };
}

static void tell_reply(const zkl_connection *self, const zkl_client_request *request,
                       const zkl_answer *answer) {
    zkl_delivery told = delivery_of(self, ZKL_DELIVERY_REPLY);
    told.call = request->kind;
    told.lost = answer == NULL;
    if (answer != NULL) {
        told.error = answer->error;
        told.path = answer->path;
        told.server = answer->server;
        told.applied_zxid = answer->applied_zxid;
    }
    zkl_ensemble_tell_delivered(&told);
}

static void finish(zkl_connection *self, zkl_client_request *request, const zkl_answer *answer,
                   zkl_outcome lost) {
    DL_DELETE(self->pending, request);
    tell_reply(self, request, answer);
    zkl_reply reply = { .outcome = lost };
    zkl_multi_result *results = NULL;
    if (answer != NULL && request->kind == ZKL_CALL_MULTI) {
        results = zkl_testing_allocate((answer->result_count + 1) * sizeof(*results));
        reply = reply_of_multi(answer, results);
    } else if (answer != NULL) {
        reply = reply_of(request, answer);
    }
    request->done(request->arg, &reply);
    self->listener.answered(self->listener.arg);
    zkl_testing_free(results);
    if (request->unsent != NULL) {
        zkl_call_release(request->unsent);
    }
    zkl_testing_free(request);
}

/* As connection_libzookeeper.c does: of a connection that is closed because the addresses have
 * changed there is no news. */
void zkl_client_tell_if_closed(zkl_connection *self) {
    if (!self->abandoned && !self->closing && self->state != ZKL_CLIENT_CONNECTED) {
        self->listener.session(self->listener.arg,
                               &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    }
}

static void deliver_news(zkl_connection *self, const zkl_session_news *news) {
    static const zkl_delivery_kind kinds[] = {
        [ZKL_SESSION_STATE_CONNECTING] = ZKL_DELIVERY_CONNECTING,
        [ZKL_SESSION_STATE_CONNECTED] = ZKL_DELIVERY_CONNECTED,
        [ZKL_SESSION_STATE_EXPIRED] = ZKL_DELIVERY_EXPIRED,
        [ZKL_SESSION_STATE_AUTH_FAILED] = ZKL_DELIVERY_AUTH_FAILED,
    };
    if (self->abandoned || self->closing) {
        return;
    }
    zkl_delivery told = delivery_of(self, kinds[news->state]);
    zkl_ensemble_tell_delivered(&told);
    self->listener.session(self->listener.arg, news);
    if (news->state == ZKL_SESSION_STATE_CONNECTED) {
        zkl_client_tell_if_closed(self);
    }
}

static void deliver_watch(zkl_connection *self, const zkl_client_delivery *item) {
    for (size_t i = 0; i < item->watch_ids.count; i++) {
        if (self->abandoned || self->closing) {
            return;
        }
        zkl_delivery told = delivery_of(self, ZKL_DELIVERY_WATCH);
        told.path = item->answer->path;
        told.deleted = item->answer->event == ZKL_WATCH_EVENT_DELETED;
        told.server = item->answer->server;
        told.applied_zxid = item->answer->applied_zxid;
        zkl_ensemble_tell_delivered(&told);
        self->listener.watch_fired(self->listener.arg, item->watch_ids.list[i],
                                   item->answer->event);
    }
}

static void free_delivery(zkl_client_delivery *item) {
    zkl_testing_free(item->watch_ids.list);
    zkl_testing_free(item->answer);
    zkl_testing_free(item);
}

static void deliver(void *arg, zkl_message *message) {
    zkl_connection *self = arg;
    zkl_client_delivery *item = (zkl_client_delivery *)message;
    if (item->kind != ZKL_DELIVERY_REPLY && item->handle != self->handle) {
        free_delivery(item);
        return;
    }
    pthread_mutex_lock(self->mutex);
    switch (item->kind) {
    case ZKL_DELIVERY_REPLY:
        if (item->request->forgotten) {
            finish(self, item->request, NULL, ZKL_OUTCOME_UNKNOWN);
        } else {
            finish(self, item->request, item->answer, item->lost);
        }
        break;
    case ZKL_DELIVERY_WATCH:
        deliver_watch(self, item);
        break;
    case ZKL_DELIVERY_AWAITS_CREDENTIAL:
        if (!self->abandoned && !self->closing) {
            self->listener.awaits_credential(self->listener.arg);
        }
        break;
    default:
        deliver_news(self, &item->news);
        break;
    }
    pthread_mutex_unlock(self->mutex);
    free_delivery(item);
}

static const zkl_ensemble_options *options_now(void) {
    return zkl_ensemble_get_options(zkl_ensemble_current());
}

/* By libzookeeper's completion thread, which may be late. */
void zkl_client_pass_on(zkl_connection *self, zkl_client_delivery *item) {
    const zkl_ensemble_options *options = options_now();
    bool slow = zkl_world_chance(options->rates.slow_delivery);
    item->handle = self->handle;
    const zkl_range *range = slow ? &options->slow_delivery_us : &options->delivery_us;
    int64_t delay_us = zkl_world_random_between(range->low, range->high);
    if (delay_us == 0 && self->deliveries.first == NULL) {
        deliver(self, &item->message);
    } else {
        zkl_channel_send(&self->deliveries, &item->message, delay_us);
    }
}

zkl_client_delivery *zkl_client_make_delivery(zkl_delivery_kind kind) {
    zkl_client_delivery *item = zkl_testing_allocate(sizeof(*item));
    item->kind = kind;
    return item;
}

void zkl_client_pass_news_on(zkl_connection *self, const zkl_session_news *news) {
    self->latest_news = *news;
    bool twice = news->state != ZKL_SESSION_STATE_EXPIRED &&
                 zkl_world_chance(options_now()->rates.news_repeated);
    for (int i = 0; i < (twice ? 2 : 1); i++) {
        zkl_client_delivery *item = zkl_client_make_delivery(ZKL_DELIVERY_CONNECTING);
        item->news = *news;
        zkl_client_pass_on(self, item);
    }
}

size_t zkl_client_count_open(const zkl_connection *self) {
    size_t count = 0;
    for (const zkl_client_request *one = self->pending; one != NULL; one = one->next) {
        count += one->answered ? 0 : 1;
    }
    return count;
}

/* In the order in which they were made, as libzookeeper's free_completions does it.
 * What the callbacks ask for meanwhile comes behind, and is for the next connection. */
void zkl_client_lose_requests(zkl_connection *self, size_t count, zkl_outcome outcome) {
    zkl_client_request *next = NULL;
    for (zkl_client_request *request = self->pending; request != NULL && count > 0;
         request = next) {
        next = request->next;
        if (request->answered) {
            continue;
        }
        request->answered = true;
        count--;
        zkl_client_delivery *item = zkl_client_make_delivery(ZKL_DELIVERY_REPLY);
        item->request = request;
        item->lost = outcome;
        zkl_client_pass_on(self, item);
    }
}

void zkl_client_answer_all(zkl_connection *self) {
    zkl_message *item = zkl_channel_take(&self->deliveries, 0);
    while (item != NULL) {
        zkl_message *next = item->next;
        free_delivery((zkl_client_delivery *)item);
        item = next;
    }
    pthread_mutex_lock(self->mutex);
    while (self->pending != NULL) {
        finish(self, self->pending, NULL, ZKL_OUTCOME_SESSION_OVER);
    }
    pthread_mutex_unlock(self->mutex);
}

void zkl_client_begin_deliveries(zkl_connection *self) {
    zkl_channel_begin(&self->deliveries, deliver, self, self->process);
}
