/*
 * Transfer apart from waiting: the time of each instance of a collective, compared between its ranks.
 *
 * The ranks of a communicator call its collectives in the same order. So when some number of them have been kept,
 * all ranks exchange two times of these instances with one MPI_Allreduce, on this communicator, after the last of
 * them: the shortest in the call, and the longest since the call before. That bounds the memory whatever the number of
 * calls. A rank waited for others as long as it spent beyond the shortest rank's time, but no longer than another one
 * spent more than it since the call before. Without that bound, waiting would be where nobody is slow: of ranks that
 * leave a call one after another, those that leave first are early in the next one, and wait there for the network.
 *
 * That holds where no rank can leave before all have entered (MPI_Barrier, MPI_Allreduce, MPI_Alltoall ...). Where
 * some can (MPI_Bcast, MPI_Reduce, MPI_Scan, vectors with empty parts), it is an upper bound of the waiting; rows say
 * which (`split`).
 */
#define _GNU_SOURCE
#include "profile.h"
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM 64 /* little memory for communicators that are used little */
#define MOST_ROOM 1024
#define TIMES 2 /* of an instance: seconds in it, and minus those since the one before */

uint64_t profile_kept, profile_dropped;

static uint64_t n_agreed;

/* Agree on a number by which all ranks order their communicators; on what the first rank proposes. */
static void agree_on_id(struct comm *comm)
{
    int me = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    uint64_t id = (__atomic_add_fetch(&n_agreed, 1, __ATOMIC_RELAXED) << 32 | (uint32_t)me) + 1;
    PMPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, comm->comm);
    comm->id = id;
}

/* Make room for `n` instances. Without memory the process ends: the other ranks would wait for it for ever. */
static void make_room(struct comm *comm, unsigned n)
{
    comm->rows = realloc(comm->rows, n * sizeof *comm->rows);
    comm->seconds = realloc(comm->seconds, n * TIMES * sizeof *comm->seconds);
    comm->n_room = n;
    if (!comm->rows || !comm->seconds) {
        fputs("tare profile: out of memory\n", stderr);
        abort();
    }
}

/* Keep one instance. `row` must be in the table of this thread. */
void instance_keep(struct comm *comm, struct row *row, uint64_t spent)
{
    const uint64_t began = ticks();
    if (comm->n_room == 0)
        make_room(comm, FIRST_ROOM);
    const uint64_t entered = began - spent, left = comm->left ? comm->left : profile_began;
    float *const times = comm->seconds + TIMES * comm->n_kept;
    times[0] = (float)((double)spent * profile_tick_s);
    times[1] = entered > left ? -(float)((double)(entered - left) * profile_tick_s) : 0.0f;
    comm->rows[comm->n_kept++] = row;
    comm->left = began;
    if (comm->id != 0 && comm->n_kept < comm->n_room)
        return;
    if (comm->id == 0)
        agree_on_id(comm);
    if (comm->n_kept == comm->n_room) {
        const int is_first = comm->n_room == FIRST_ROOM;
        instances_flush(comm);
        if (is_first)
            make_room(comm, MOST_ROOM);
    }
    comm->left = ticks(); /* the exchange is nobody's lateness */
    table_here()->own_ticks += comm->left - began;
}

/* Split the kept instances of a communicator. Collective. */
void instances_flush(struct comm *comm)
{
    static THREAD_LOCAL float least[MOST_ROOM * TIMES];
    if (comm->n_kept == 0)
        return;
    PMPI_Allreduce(comm->seconds, least, TIMES * (int)comm->n_kept, MPI_FLOAT, MPI_MIN, comm->comm);
    for (unsigned i = 0; i < comm->n_kept; i++) {
        const float *const own = comm->seconds + TIMES * i, *const of_all = least + TIMES * i;
        const double beyond = (double)own[0] - (double)of_all[0], late = (double)own[1] - (double)of_all[1];
        const double waiting = beyond < late ? beyond : late, rest = (double)own[0] - waiting;
        __atomic_add_fetch(&comm->rows[i]->transfer, (uint64_t)(rest / profile_tick_s), __ATOMIC_RELAXED);
        __atomic_add_fetch(&comm->rows[i]->waiting, (uint64_t)(waiting / profile_tick_s), __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&profile_kept, comm->n_kept, __ATOMIC_RELAXED);
    comm->n_kept = 0;
}

static int by_id(const void *left, const void *right)
{
    const uint64_t a = (*(struct comm *const *)left)->id, b = (*(struct comm *const *)right)->id;
    return (a > b) - (a < b);
}

/* Split what all communicators still keep. Every rank goes through its communicators in the same order. */
void instances_flush_all(void)
{
    int n;
    struct comm **list = comm_list(&n);
    if (!list)
        return;
    qsort(list, (size_t)n, sizeof *list, by_id);
    for (int i = 0; i < n; i++)
        if (list[i]->id)
            instances_flush(list[i]);
    free(list);
}
