/*
 * What the profiling library adds to a program, within one run: windows of its calls that reach the MPI through the
 * library and windows of calls that reach it directly, in turn. So what differs from run to run is in both.
 *
 * mpicc -O2 -fPIC -shared -o libturns.so profile_turns.c -ldl; LD_PRELOAD=libturns.so:$LD_PRELOAD program
 *
 * A window ends with a call of MPI_Sendrecv, on each rank at the same one: the program must call it, and the others
 * of this file, in the same order on all ranks. Rank 0 writes the median time of both kinds of windows into the
 * file `turns`. Without the profiling library both kinds are the same.
 */
#define _GNU_SOURCE
#include "of_the_mpi.h"
#include <stdlib.h>
#include <time.h>

#define CALLS 160     /* of a window: 20 steps of GROMACS */
#define FIRST 10      /* windows that do not count */
#define MOST 100000   /* windows */

enum { THROUGH, DIRECT };
static int turn = THROUGH, second = DIRECT, calls, n_windows;
static double times[2][MOST], began;
static int n_times[2];

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Return whether the next pair of windows begins with a direct one: the same pseudo-random bit on each rank. */
static int random_bit(void)
{
    static unsigned state = 2463534242u; /* Marsaglia's xorshift */
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (int)(state >> 16 & 1);
}

static void end_window(void)
{
    const double at = now();
    if (n_windows >= FIRST && n_times[turn] < MOST)
        times[turn][n_times[turn]++] = at - began;
    if (n_windows++ % 2 == 0) {
        turn = second;
    } else {
        turn = random_bit();
        second = !turn;
    }
    calls = 0;
    began = now();
}

#define SWITCHED(name, params, args, after)                                                                            \
    int MPI_##name params                                                                                              \
    {                                                                                                                  \
        static __typeof__(&MPI_##name) ways[2];                                                                        \
        if (!ways[THROUGH]) {                                                                                          \
            ways[DIRECT] = (__typeof__(ways[0]))of_the_mpi("PMPI_" #name);                                             \
            ways[THROUGH] = (__typeof__(ways[0]))dlsym(RTLD_NEXT, "MPI_" #name);                                       \
        }                                                                                                              \
        const int result = ways[turn] args;                                                                            \
        after;                                                                                                         \
        return result;                                                                                                 \
    }

SWITCHED(Sendrecv,
         (const void *sent, int n, MPI_Datatype type, int peer, int tag, void *received, int n_received,
          MPI_Datatype type_received, int source, int tag_received, MPI_Comm comm, MPI_Status *status),
         (sent, n, type, peer, tag, received, n_received, type_received, source, tag_received, comm, status),
         if (++calls == CALLS) end_window())
SWITCHED(Alltoall,
         (const void *sent, int n, MPI_Datatype type, void *received, int n_received, MPI_Datatype type_received,
          MPI_Comm comm),
         (sent, n, type, received, n_received, type_received, comm), (void)0)
SWITCHED(Allreduce, (const void *sent, void *received, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
         (sent, received, n, type, op, comm), (void)0)
SWITCHED(Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm), (void)0)

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median_us(int of)
{
    qsort(times[of], (size_t)n_times[of], sizeof *times[of], compare);
    return 1e6 * times[of][n_times[of] / 2];
}

int MPI_Finalize(void)
{
    int me;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    FILE *file = me == 0 && n_times[0] && n_times[1] ? fopen("turns", "w") : NULL;
    if (file) {
        fprintf(file, "through %.6f us direct %.6f us\n", median_us(THROUGH), median_us(DIRECT));
        fclose(file);
    }
    int (*following)(void) = (int (*)(void))dlsym(RTLD_NEXT, "MPI_Finalize");
    return following();
}
