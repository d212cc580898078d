/* The rows of each thread: a table of fixed size, so that memory does not grow with the number of calls. */
#define _GNU_SOURCE
#include "profile.h"
#include <pthread.h>
#include <stdlib.h>

THREAD_LOCAL struct table *profile_table;
THREAD_LOCAL int profile_depth;

static struct table *all_tables;
static struct table spare; /* counts what is lost when there is no memory for a table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void give_back(void *table)
{
    pthread_mutex_lock(&lock);
    ((struct table *)table)->is_free = 1;
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    pthread_key_create(&at_exit, give_back);
}

/* Return the table of this thread: a new one, or that of a thread that has ended. */
struct table *table_of_thread(void)
{
    if (profile_table)
        return profile_table;
    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    struct table *table = all_tables;
    while (table && !table->is_free)
        table = table->next;
    if (!table && (table = calloc(1, sizeof *table))) {
        table->next = all_tables;
        all_tables = table;
    }
    if (table)
        table->is_free = 0;
    pthread_mutex_unlock(&lock);
    if (!table)
        table = &spare;
    else
        pthread_setspecific(at_exit, table);
    return profile_table = table;
}

struct table *table_first(void)
{
    return all_tables;
}

/* Return the row with `key`, a new one if needed. When the table is nearly full, all new keys share one row. */
struct row *row_find(struct table *table, uint64_t key)
{
    uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 52;
    for (;; at = (at + 1) % ROWS) {
        struct row *row = &table->rows[at];
        if (row->key == key)
            return row;
        if (row->key)
            continue;
        if (table->n_rows >= ROWS * 3 / 4) {
            table->overflow++;
            table->other.key = row_key(FN_OTHER, 0, 0, MIXED, SPLIT_NONE);
            return &table->other;
        }
        table->n_rows++;
        row->key = key;
        return row;
    }
}
