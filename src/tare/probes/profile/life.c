/* The life of a profile: it begins when MPI_Init returns, and is written when MPI_Finalize begins. */
#define _GNU_SOURCE
#include "profile.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CALIBRATIONS 2000

int profile_active, profile_threaded;

uint64_t profile_began;
static double call_cost_s;
static const char *output;

/* Return what counting one call costs: the smallest of some means. */
static double cost_of_call(void)
{
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < 10; round++) {
        const uint64_t first = ticks();
        for (int i = 0; i < CALIBRATIONS / 10; i++) {
            const uint64_t one = ticks();
            struct comm *world = comm_of(MPI_COMM_WORLD);
            count(row_key(FN_OTHER, 0, world ? world->size : 0, locality_of(world, 0), SPLIT_NONE), 0, ticks() - one);
        }
        const uint64_t spent = ticks() - first;
        least = spent < least ? spent : least;
    }
    struct table *table = table_here();
    memset(table->rows, 0, sizeof table->rows);
    table->n_rows = 0;
    return (double)least / (CALIBRATIONS / 10) * profile_tick_s;
}

#ifdef OPEN_MPI
enum { FOR_OPEN_MPI = 1 };
#else
enum { FOR_OPEN_MPI = 0 };
#endif

/* Handles are addresses in Open MPI and numbers in MPICH: end the program if it uses the other of the two. */
static void require_own_mpi(void)
{
    static const char *const names[] = {"MPICH or Intel MPI", "Open MPI"};
    const int is_open_mpi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL;
    if (is_open_mpi == FOR_OPEN_MPI)
        return;
    fprintf(stderr, "error: no profile, because mpicc is that of %s, and the program uses %s\n", names[FOR_OPEN_MPI],
            names[is_open_mpi]);
    exit(1);
}

/* Return whether the MPI came after this library, as that of Python's modules does: then its constants are not there. */
static int is_mpi_late(void)
{
#ifdef OPEN_MPI
    return MPI_COMM_NULL == NULL || MPI_COMM_WORLD == NULL;
#else
    return !PMPI_Comm_get_parent;
#endif
}

static void start(void)
{
    MPI_Comm parent;
    int level;
    output = getenv("TARE_PROFILE_OUT");
    if (profile_active || !output || !*output)
        return;
    if (dlsym(RTLD_DEFAULT, "PMPI_Comm_rank"))
        require_own_mpi();
    if (is_mpi_late()) {
        fputs("tare profile: no profile, because the program loads its MPI itself, while it runs; preload its libmpi.so, "
              "too\n", stderr);
        return;
    }
    profile_depth = 1;
    PMPI_Comm_get_parent(&parent); /* the programs that this one starts in MPI share its path: the first one writes */
    if (parent == MPI_COMM_NULL) {
        clock_start();
        PMPI_Query_thread(&level);
        profile_threaded = level == MPI_THREAD_MULTIPLE;
        const int is_placed = nodes_find();
        clock_settle();
        table_here()->is_main = 1;
        if (is_placed) {
            call_cost_s = cost_of_call();
            files_start();
            profile_began = ticks();
            profile_active = 1;
        }
    }
    profile_depth = 0;
}

int MPI_Init(int *argc, char ***argv)
{
    __typeof__(&MPI_Init) real = (__typeof__(real))real_function("PMPI_Init");
    const int result = real(argc, argv);
    if (result == MPI_SUCCESS)
        start();
    return result;
}
int PMPI_Init(int *argc, char ***argv) __attribute__((alias("MPI_Init")));

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    __typeof__(&MPI_Init_thread) real = (__typeof__(real))real_function("PMPI_Init_thread");
    const int result = real(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        start();
    return result;
}
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) __attribute__((alias("MPI_Init_thread")));

int MPI_Finalize(void)
{
    __typeof__(&MPI_Finalize) real = (__typeof__(real))real_function("PMPI_Finalize");
    if (profile_active) {
        const double wall_s = (double)(ticks() - profile_began) * profile_tick_s;
        profile_depth = 1;
        profile_active = 0;
        instances_flush_all();
        report_write(output, wall_s, call_cost_s);
        profile_depth = 0;
    }
    return real();
}
int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));
