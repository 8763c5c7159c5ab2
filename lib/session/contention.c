#include "session/contention.h"

static void look(zkl_contention *self) {
    self->look_again = false;
    zkl_watch_table_add_children(&self->sender->session->watches, self->sender->parent_path,
                                 &self->waiter);
}

/* While the reply to a downgrade is lost the holder may have another node than is known. */
static void on_listed(void *arg, zkl_listed children) {
    zkl_contention *self = arg;
    zkl_contenders_rear rear = zkl_contenders_look_behind(children, self->sender->request->own.node,
                                                          self->find_upgrade(self->arg));
    self->look_again = !rear.listed;
    if (rear.waiter != NULL) {
        self->found = true;
        zkl_contention_end(self);
        zkl_request_tell_owner(self->sender, ZKL_REQUEST_CONTENDED, ZKL_OK);
    }
}

/* Told only of what failed. */
static void on_armed(void *arg, zkl_outcome outcome, int status) {
    (void)outcome;
    (void)status;
    ((zkl_contention *)arg)->look_again = true;
}

static void on_fired(void *arg, bool deleted) {
    (void)deleted;
    look(arg);
}

void zkl_contention_review(zkl_contention *self) {
    if (self->look_again) {
        zkl_watch_table_remove(&self->waiter);
        look(self);
    }
}

void zkl_contention_begin(zkl_contention *self) {
    self->waiter = (zkl_watch_waiter){
        .arg = self, .armed = on_armed, .fired = on_fired, .listed = on_listed
    };
    if (self->wanted) {
        look(self);
    }
}

void zkl_contention_end(zkl_contention *self) {
    self->look_again = false;
    zkl_watch_table_remove(&self->waiter);
}
