/*
 * Which operation a request belongs to, so that the time of a wait is counted with what it waited for.
 *
 * A table of fixed size: sets of eight entries with a lock each. When a set is full, the operation is not entered;
 * a wait for it then counts as MPI_Wait. An MPI may give the same handle to several requests that are already
 * complete: an entry counts them.
 */
#define _GNU_SOURCE
#include "profile.h"

#define SETS 8192
#define WAYS 8

uint64_t profile_lost_requests;

static struct set {
    struct pending entries[WAYS];
    int lock;
} sets[SETS];

static struct set *lock_set(uint64_t handle)
{
    struct set *set = &sets[(handle * 0x9e3779b97f4a7c15ull) >> 51];
    if (profile_threaded)
        while (__atomic_exchange_n(&set->lock, 1, __ATOMIC_ACQUIRE))
            ;
    return set;
}

static void unlock_set(struct set *set)
{
    if (profile_threaded)
        __atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE);
}

/* Enter a request that began, or one that was taken and has not ended. */
void request_put(const struct pending *pending)
{
    struct set *set = lock_set(pending->handle);
    struct pending *room = NULL;
    for (int i = 0; i < WAYS; i++) {
        struct pending *entry = &set->entries[i];
        if (entry->n && entry->handle == pending->handle) {
            const uint32_t n = pending->is_persistent ? 0 : entry->n;
            *entry = *pending;
            entry->n += n;
            unlock_set(set);
            return;
        }
        if (!entry->n && !room)
            room = entry;
    }
    if (room)
        *room = *pending;
    else
        __atomic_add_fetch(&profile_lost_requests, 1, __ATOMIC_RELAXED);
    unlock_set(set);
}

/* Take a request out of the table. Returns 0 if it is not there. */
int request_take(uint64_t handle, struct pending *taken)
{
    struct set *set = lock_set(handle);
    for (int i = 0; i < WAYS; i++) {
        struct pending *entry = &set->entries[i];
        if (entry->n && entry->handle == handle) {
            *taken = *entry;
            taken->n = 1;
            entry->n--;
            unlock_set(set);
            return 1;
        }
    }
    unlock_set(set);
    return 0;
}
