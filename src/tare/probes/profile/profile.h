/*
 * Tare's communication profile: what a rank spends in MPI and in files, by function, size and place.
 *
 * The library is preloaded (LD_PRELOAD). It defines both MPI_X and PMPI_X for each function X and calls the MPI's own
 * PMPI_X, which it looks up at run time. So it also sees the Fortran bindings, which are in libraries of their own and
 * call MPI_X or PMPI_X: whatever they call is counted once, because calls within a call are not counted.
 *
 * It is not linked against the MPI: processes without MPI, such as shells around a rank, load it and nothing happens.
 */
#ifndef TARE_PROFILE_H
#define TARE_PROFILE_H

#include "weak.h"
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Open MPI 5 calls itself 3.1, and has these functions of MPI 4. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_STARTED_AND_PARTITIONED
#endif

#define HIDDEN __attribute__((visibility("hidden")))
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum function {
#define FUNCTION(name, params, args, after) FN_##name,
#include "functions.h"
#undef FUNCTION
    FN_OTHER, /* rows that found no room in the table */
    N_FUNCTIONS
};

enum locality { INTRA, INTER, MIXED };

/* How the time of a collective is split into transfer and waiting. */
enum split { SPLIT_NONE, SPLIT_BOUND, SPLIT_EXACT };

enum { FILE_OPEN, FILE_CLOSE, FILE_READ, FILE_WRITE, FILE_SYNC, FILE_FUNCTIONS };
/* Operations of a file row; FILE_FUNCTIONS + n is the MPI function n. */

/* One row of a table. Key: 63 used, 62 file, 56-61 size class, 54-55 locality, 52-53 split, 40-51 function, 0-31 ranks.
 * Of a file row: 40-51 operation, 0-31 mount. */
struct row {
    uint64_t key, calls, bytes, ticks;
    uint64_t transfer, waiting; /* ticks, added atomically: another thread may flush its instances */
};

#define ROWS 4096
#define COMM_CACHE 16

struct cached {
    uint64_t handle;
    struct comm *comm;
};

/* The rows of a thread. Tables are never freed: another thread may take over that of a thread that has ended. */
struct table {
    struct row rows[ROWS];
    struct row other;
    struct cached comms[COMM_CACHE];
    uint64_t overflow, own_ticks; /* calls that found no row; ticks of exchanges of the profile itself */
    unsigned n_rows, generation;
    int is_main, is_free;
    struct table *next;
};

/* A communicator or window. `is_local` has a bit for each peer on the same node. */
struct comm {
    uint64_t handle, id; /* id: agreed on by all its ranks, for the order of the last exchanges; 0 before that */
    uint64_t left;       /* when this rank left its last instance; 0 before that */
    struct comm *next;
    MPI_Comm comm;
    int size, is_inter, spans_nodes, degree, is_window;
    int is_foreign; /* has ranks of another MPI_COMM_WORLD, which may not be profiled */
    int n_peers;
    unsigned char *is_local;
    unsigned n_kept, n_room; /* instances of collectives since the last exchange */
    struct row **rows;
    float *seconds;
};

extern HIDDEN int profile_active;   /* between MPI_Init and MPI_Finalize */
extern HIDDEN int profile_threaded; /* MPI_THREAD_MULTIPLE */
extern HIDDEN int profile_has_tsc;
extern HIDDEN double profile_tick_s;
extern HIDDEN THREAD_LOCAL int profile_depth;
extern HIDDEN THREAD_LOCAL struct table *profile_table;
extern HIDDEN uint64_t profile_lost_requests, profile_kept, profile_dropped, profile_began;
extern HIDDEN const char *const profile_names[N_FUNCTIONS];

/* Ticks of a clock: the processor's, where the kernel itself relies on it, else nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    if (profile_has_tsc)
        return __rdtsc();
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t handle_of(const void *at, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, at, size);
    return word;
}
#define HANDLE(handle) handle_of(&(handle), sizeof(handle))

#define MOST_BYTES (1ull << 62) /* a key has six bits for a size class */

/* The size class of a message: the smallest power of two that it fits in, as an exponent plus 1; 0 for no bytes. */
static inline unsigned size_class(uint64_t bytes)
{
    return bytes == 0 ? 0 : bytes == 1 ? 1 : bytes > MOST_BYTES ? 63u : 65u - (unsigned)__builtin_clzll(bytes - 1);
}

static inline uint64_t row_key(int fn, uint64_t bytes, int ranks, enum locality where, enum split split)
{
    return 1ull << 63 | (uint64_t)size_class(bytes) << 56 | (uint64_t)where << 54 | (uint64_t)split << 52 |
           (uint64_t)fn << 40 | (uint32_t)ranks;
}

/* clock.c */
HIDDEN void clock_start(void);
HIDDEN void clock_settle(void);
HIDDEN void *real_function(const char *name);

/* table.c */
HIDDEN struct table *table_of_thread(void);
HIDDEN struct table *table_first(void);
HIDDEN struct row *row_find(struct table *table, uint64_t key);

static inline struct table *table_here(void)
{
    return profile_table ? profile_table : table_of_thread();
}

static inline int function_of(uint64_t key)
{
    return (int)(key >> 40 & 0xfff);
}

static inline uint64_t key_of_size(uint64_t key, uint64_t bytes)
{
    return (key & ~(63ull << 56)) | (uint64_t)size_class(bytes) << 56;
}

static inline uint64_t key_of_function(uint64_t key, int fn)
{
    return (key & ~(0xfffull << 40)) | (uint64_t)fn << 40;
}

static inline uint64_t key_of_place(uint64_t key, enum locality where)
{
    return (key & ~(3ull << 54)) | (uint64_t)where << 54;
}

static inline struct row *row_of(uint64_t key)
{
    struct table *table = table_here();
    struct row *row = &table->rows[(key * 0x9e3779b97f4a7c15ull) >> 52];
    return row->key == key ? row : row_find(table, key);
}

static inline struct row *count(uint64_t key, uint64_t bytes, uint64_t spent)
{
    struct row *row = row_of(key);
    row->calls++;
    row->bytes += bytes;
    row->ticks += spent;
    return row;
}

/* communicators.c */
HIDDEN int nodes_find(void);
HIDDEN const int *nodes_of_ranks(void);
HIDDEN struct comm *comm_find(MPI_Comm comm);
HIDDEN struct comm *comm_known(uint64_t handle);
HIDDEN struct comm *window_find(MPI_Win win);
HIDDEN void comm_forget(uint64_t handle);
HIDDEN struct comm **comm_list(int *n);
HIDDEN enum locality locality_of(const struct comm *comm, int peer);
HIDDEN int neighbours(MPI_Comm comm);

static inline struct comm *comm_of(MPI_Comm comm)
{
    const uint64_t handle = HANDLE(comm);
    struct table *table = table_here();
    struct cached *at = &table->comms[(handle >> 4 ^ handle) % COMM_CACHE];
    extern HIDDEN unsigned profile_generation;
    if (table->generation == __atomic_load_n(&profile_generation, __ATOMIC_ACQUIRE) && at->handle == handle && at->comm)
        return at->comm;
    return comm_find(comm);
}

/* instances.c */
HIDDEN void instance_keep(struct comm *comm, struct row *row, uint64_t spent);
HIDDEN void instances_flush(struct comm *comm);
HIDDEN void instances_flush_all(void);

/* requests.c. `spent`: ticks of the call that began it; `comm`: of a receive from any source, 0 of others. */
struct pending {
    uint64_t handle, key, bytes, spent, comm;
    uint32_t n;
    int is_persistent;
};
HIDDEN void request_put(const struct pending *pending);
HIDDEN int request_take(uint64_t handle, struct pending *taken);

/* files.c */
HIDDEN void files_start(void);
HIDDEN int mount_of_path(const char *path);
HIDDEN const char *mount_type(int mount);
HIDDEN const char *mount_point(int mount);

static inline uint64_t file_key(int operation, int mount)
{
    return 3ull << 62 | (uint64_t)operation << 40 | (uint32_t)mount;
}

/* report.c */
HIDDEN void report_write(const char *path, double wall_s, double call_cost_s);

#endif
