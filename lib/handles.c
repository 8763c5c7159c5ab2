#include "handles.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "input.h"
#include "try.h"

/* A power of two; malloc aligns to 16 bytes. */
enum { BUCKETS = 4096, ALIGNMENT = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static zkl_handle *buckets[BUCKETS];

/* A child of fork may have been forked while another thread was in here. */
static void before_fork(void) {
    pthread_mutex_lock(&mutex);
}

static void after_fork(void) {
    pthread_mutex_unlock(&mutex);
}

static void prepare_for_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

static void enter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare_for_forks);
    pthread_mutex_lock(&mutex);
}

static zkl_handle **bucket_of(const void *handle) {
    return &buckets[((uintptr_t)handle / ALIGNMENT) % BUCKETS];
}

/* Where it is linked, or the end of its bucket. */
static zkl_handle **place_of(const void *handle) {
    zkl_handle **place = bucket_of(handle);
    while (*place != NULL && (const void *)*place != handle) {
        place = &(*place)->next;
    }
    return place;
}

void zkl_handle_open(zkl_handle *handle) {
    enter();
    zkl_handle **bucket = bucket_of(handle);
    handle->next = *bucket;
    handle->process = (int)getpid();
    *bucket = handle;
    pthread_mutex_unlock(&mutex);
}

void zkl_handle_close(zkl_handle *handle) {
    enter();
    zkl_handle **place = place_of(handle);
    if (*place != NULL) {
        *place = handle->next;
    }
    pthread_mutex_unlock(&mutex);
}

bool zkl_handle_is_open(const void *handle) {
    enter();
    bool open = handle != NULL && *place_of(handle) != NULL;
    pthread_mutex_unlock(&mutex);
    return open;
}

bool zkl_handle_is_ours(const void *handle) {
    return zkl_handle_is_open(handle) && ((const zkl_handle *)handle)->process == (int)getpid();
}

int zkl_handle_check(const char *what, const void *handle) {
    ZKL_TRY(zkl_input_check_pointer(what, handle));
    if (!zkl_handle_is_open(handle)) {
        return zkl_input_refuse(what, NULL, "it is closed, or was never opened");
    }
    return zkl_handle_is_ours(handle) ? ZKL_OK : ZKL_FORKED;
}
