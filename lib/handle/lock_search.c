#include "handle/lock_search.h"

#include "handle/lock.h"

void zkl_lock_join_search(zkl_lock *lock, zkl_lock_search *search) {
    lock->search = search;
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
