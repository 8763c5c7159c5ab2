#include "handle/lock_search.h"

#include "handle/lock.h"

void zkl_lock_join_search(zkl_lock *lock, const zkl_lock_search *search) {
    lock->search = search;
}

int zkl_lock_call_off_search(zkl_lock *lock, zkl_lock_search *search) {
    pthread_mutex_lock(&lock->client->mutex);
    bool is_decided = lock->state == LOCK_ACQUIRING && lock->attempt.verdict == ZKL_OK;
    int status = is_decided || zkl_lock_is_granted(lock) ? ZKL_NOT_WAITING : ZKL_OK;
    if (lock->client->closed) {
        status = ZKL_CLOSED;
    }
    if (status == ZKL_OK) {
        search->called_off = true;
        zkl_lock_call_off(lock);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

uint32_t zkl_client_draw(zkl_client *client, uint32_t count) {
    uint32_t random = 0;
    pthread_mutex_lock(&client->mutex);
    if (!client->closed) {
        zkl_operations *operations = client->sessions->session.operations;
        (void)operations->table->random(operations, &random, sizeof(random));
    }
    pthread_mutex_unlock(&client->mutex);
    return random % count;
}
