#include "handle/lock_search.h"

#include "handle/lock.h"

void zkl_lock_join_search(zkl_lock *lock, zkl_lock_search *search) {
    lock->search = search;
}
