/* The functions of MPI themselves: each calls the MPI's own, and counts it. */
#define _GNU_SOURCE
#include "profile.h"
#include <stdlib.h>

#define MOST_ON_STACK 32
#define HALF_BANDWIDTH_BYTES 4096
/* A wait for several requests is shared among them by their bytes plus this: about the size at which latency and
 * transfer cost the same on common networks (Hockney's n1/2). */

const char *const profile_names[N_FUNCTIONS] = {
#define FUNCTION(name, params, args, after) "MPI_" #name,
#include "functions.h"
#undef FUNCTION
    "other",
};

/* Requests that a call may complete, taken out of the table of requests while it runs, and its statuses. `own` are
 * ticks that the profile itself took within the call. */
struct taken {
    int is_on, n;
    uint64_t own;
    struct pending *list, few[MOST_ON_STACK];
    MPI_Status *statuses, *made, few_statuses[MOST_ON_STACK];
};

static inline uint64_t bytes_of(MPI_Count n, MPI_Datatype type)
{
    int size = 0;
    if (n == 0 || type == MPI_DATATYPE_NULL) /* where a call ignores both */
        return 0;
    if (type == MPI_BYTE) /* the common types need no call */
        return (uint64_t)n;
    if (type == MPI_DOUBLE)
        return (uint64_t)n * sizeof(double);
    PMPI_Type_size(type, &size);
    if (size >= 0)
        return (uint64_t)n * (uint64_t)size;
    MPI_Count large = 0;
    PMPI_Type_size_x(type, &large);
    return (uint64_t)n * (uint64_t)large;
}

static inline uint64_t bytes_received(const MPI_Status *status)
{
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(MPICH_VERSION) /* which has its ABI in common with Intel MPI */
    return (uint64_t)((unsigned)status->count_hi_and_cancelled >> 1) << 32 | (unsigned)status->count_lo;
#else
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : (uint64_t)bytes;
#endif
}

/* Return the ranks that one exchanges data with: those of the other group, if there is one. */
static int ranks_of(MPI_Comm comm)
{
    const struct comm *known = comm_of(comm);
    return known && known->is_inter ? known->n_peers : known ? known->size : 1;
}

static int own_ranks_of(MPI_Comm comm)
{
    const struct comm *known = comm_of(comm);
    return known ? known->size : 1;
}

static uint64_t element(const void *counts, size_t width, int i)
{
    if (width == sizeof(int))
        return (uint64_t)((const int *)counts)[i];
    return (uint64_t)((const MPI_Count *)counts)[i];
}

static uint64_t sum_of(const void *counts, size_t width, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += element(counts, width, i);
    return sum;
}

static uint64_t mean_of_types(const void *counts, size_t width, const MPI_Datatype *types, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += element(counts, width, i) ? bytes_of((MPI_Count)element(counts, width, i), types[i]) : 0;
    return n > 0 ? sum / (uint64_t)n : 0;
}

static uint64_t at_self(const void *counts, size_t width, MPI_Comm comm)
{
    int me = 0;
    PMPI_Comm_rank(comm, &me);
    return element(counts, width, me);
}

/* Return how a collective splits whose parts have sizes of their own: a rank need not wait for an empty part. */
static enum split split_of_parts(const void *counts, size_t width, int n)
{
    for (int i = 0; i < n; i++)
        if (element(counts, width, i) == 0)
            return SPLIT_BOUND;
    return SPLIT_EXACT;
}

static int at_least_one(int n)
{
    return n < 1 ? 1 : n;
}

#define sum_bytes(n, type, ranks) bytes_of((MPI_Count)sum_of(n, sizeof *(n), ranks), type)
#define mean_bytes(n, type, ranks) (sum_bytes(n, type, ranks) / (uint64_t)at_least_one(ranks))
#define mean_bytes_of_types(n, types, ranks) mean_of_types(n, sizeof *(n), types, ranks)
#define SPLIT_OF_PARTS(n, comm) split_of_parts(n, sizeof *(n), own_ranks_of(comm))
#define bytes_at_self(n, type, comm) bytes_of((MPI_Count)at_self(n, sizeof *(n), comm), type)

static inline uint64_t peer_key(int fn, uint64_t bytes, int peer, const struct comm *comm)
{
    return row_key(fn, bytes, comm ? comm->size : 0, locality_of(comm, peer), SPLIT_NONE);
}

/* The row of a thread's last message, by function: most messages are like the one before. The kernel, which sends
 * them, leaves little of the profile in the caches, and this needs a few lines of them. */
struct recent {
    uint64_t comm;
    struct row *row;
    int fn, peer;
    unsigned size, generation;
};
#define N_RECENT 8
static THREAD_LOCAL struct recent recents[N_RECENT];

static inline struct row *message_row(int fn, uint64_t bytes, int peer, MPI_Comm comm)
{
    extern HIDDEN unsigned profile_generation;
    const unsigned generation = __atomic_load_n(&profile_generation, __ATOMIC_ACQUIRE), size = size_class(bytes);
    const uint64_t handle = HANDLE(comm);
    struct recent *at = &recents[fn % N_RECENT];
    if (UNLIKELY(at->generation != generation || at->comm != handle || at->fn != fn || at->peer != peer ||
                 at->size != size))
        *at = (struct recent){handle, row_of(peer_key(fn, bytes, peer, comm_of(comm))), fn, peer, size, generation};
    return at->row;
}

static inline void count_message(int fn, uint64_t bytes, int peer, MPI_Comm comm, uint64_t spent)
{
    bytes = peer == MPI_PROC_NULL ? 0 : bytes;
    struct row *row = message_row(fn, bytes, peer, comm);
    row->calls++;
    row->bytes += bytes;
    row->ticks += spent;
}

/* Count a receive as the message that came, and one that failed as none: its status says nothing. */
static inline void count_received(int fn, MPI_Comm comm, uint64_t spent, const MPI_Status *status, int result)
{
    if (result == MPI_SUCCESS)
        count_message(fn, bytes_received(status), status->MPI_SOURCE, comm, spent);
    else
        count_message(fn, 0, MPI_ANY_SOURCE, comm, spent);
}

/* Count a send and a receive in one call as the receive. Without a source it is a send. */
static inline void count_both(int fn, uint64_t bytes, int peer, int source, MPI_Comm comm, uint64_t spent,
                              const MPI_Status *status, int result)
{
    if (source != MPI_PROC_NULL)
        count_received(fn, comm, spent, status, result);
    else
        count_message(peer == MPI_PROC_NULL ? fn : FN_Send, bytes, peer, comm, spent);
}

/* Whether the status of a request is that of a message. MPICH 5 does not fill in those of MPI_Isendrecv. */
static int is_receive(int fn)
{
    return fn == FN_Irecv || fn == FN_Imrecv || fn == FN_Recv_init;
}

static void count_request_of(uint64_t key, uint64_t bytes, uint64_t any, uint64_t spent, MPI_Request *request,
                             int is_persistent)
{
    if (is_persistent)
        row_of(key)->ticks += spent; /* its calls are the messages that it starts */
    else
        count(key, bytes, spent);
    if (*request != MPI_REQUEST_NULL)
        request_put(&(struct pending){HANDLE(*request), key, bytes, spent, any, 1, is_persistent});
}

static void count_request(int fn, uint64_t bytes, int peer, MPI_Comm comm, uint64_t spent, MPI_Request *request,
                          int is_persistent)
{
    bytes = peer == MPI_PROC_NULL ? 0 : bytes;
    const uint64_t any = peer == MPI_ANY_SOURCE && is_receive(fn) ? HANDLE(comm) : 0;
    count_request_of(peer_key(fn, bytes, peer, comm_of(comm)), bytes, any, spent, request, is_persistent);
}

#define count_started(fn, bytes, peer, comm, spent, request) count_request(fn, bytes, peer, comm, spent, request, 0)
#define count_persistent(fn, bytes, peer, comm, spent, request) count_request(fn, bytes, peer, comm, spent, request, 1)
#define count_persistent_collective(fn, bytes, comm, spent, request)                                                   \
    count_request(fn, bytes, MPI_ANY_SOURCE, comm, spent, request, 1)
/* Count the start of a send and a receive as that of the receive. Without a source it is that of a send. */
#define count_started_both(fn, bytes, peer, bytes_posted, source, comm, spent, request)                                \
    ((source) != MPI_PROC_NULL                                                                                         \
         ? count_started(fn, bytes_posted, source, comm, spent, request)                                               \
         : count_started((peer) == MPI_PROC_NULL ? (int)fn : (int)FN_Isend, bytes, peer, comm, spent, request))
#define count_icollective(fn, bytes, comm, spent, request)                                                             \
    count_request(fn, bytes, MPI_ANY_SOURCE, comm, spent, request, 0)

static inline void count_collective(int fn, uint64_t bytes, MPI_Comm comm, uint64_t spent, enum split split)
{
    struct comm *known = comm_of(comm);
    if (!known || known->is_inter || known->is_foreign)
        split = SPLIT_NONE;
    const enum locality where = known && !known->spans_nodes ? INTRA : MIXED;
    struct row *row = count(row_key(fn, bytes, known ? known->size : 0, where, split), bytes, spent);
    if (split == SPLIT_NONE)
        return;
    if (known->size == 1)
        __atomic_add_fetch(&row->transfer, spent, __ATOMIC_RELAXED);
    else
        instance_keep(known, row, spent);
}

static void count_one_sided(int fn, uint64_t bytes, int target, MPI_Win win, uint64_t spent, MPI_Request *request)
{
    const struct comm *known = window_find(win);
    bytes = target == MPI_PROC_NULL ? 0 : bytes;
    const uint64_t key = peer_key(fn, bytes, target, known);
    count(key, bytes, spent);
    if (request && *request != MPI_REQUEST_NULL)
        request_put(&(struct pending){HANDLE(*request), key, bytes, spent, 0, 1, 0});
}

/* Take `n` requests out of the table; return them as they are, for the call. */
static MPI_Request *take_requests(struct taken *taken, int n, MPI_Request *requests)
{
    if (!taken->is_on)
        return requests;
    taken->n = n > 0 ? n : 0;
    taken->list = n <= MOST_ON_STACK ? taken->few : malloc((size_t)n * sizeof *taken->list);
    if (!taken->list)
        taken->n = 0;
    for (int i = 0; i < taken->n; i++) {
        taken->list[i].n = 0;
        if (requests[i] != MPI_REQUEST_NULL)
            request_take(HANDLE(requests[i]), &taken->list[i]);
    }
    return requests;
}

/* Messages that a probe matched stand in the table of requests, under handles that no request has. */
#define MESSAGE_HANDLE(message) (HANDLE(message) | 1ull << 63)

/* Count a probe, and keep where the message that it matched came from, if any, until that is received. */
static void count_match(int fn, int peer, MPI_Comm comm, uint64_t spent, const MPI_Message *message, int source)
{
    count_message(fn, 0, peer, comm, spent);
    if (message && *message != MPI_MESSAGE_NULL && *message != MPI_MESSAGE_NO_PROC)
        request_put(&(struct pending){MESSAGE_HANDLE(*message), peer_key(fn, 0, source, comm_of(comm)), 0, 0, 0, 1, 0});
}

/* Take a message out of the table; return it as it is, for the call. */
static MPI_Message *take_message(struct taken *taken, MPI_Message *message)
{
    taken->few[0].n = 0;
    if (taken->is_on)
        request_take(MESSAGE_HANDLE(*message), &taken->few[0]);
    return message;
}

/* Return the row of the message that was taken. */
static uint64_t taken_key(int fn, const struct taken *taken, uint64_t bytes)
{
    if (!taken->few[0].n) /* it comes from nobody, or its probe was not seen */
        return peer_key(fn, bytes, MPI_ANY_SOURCE, comm_of(MPI_COMM_WORLD));
    return key_of_function(key_of_size(taken->few[0].key, bytes), fn);
}

/* Return the statuses for a call on `n` requests: the caller's, or own ones where the caller ignores them. */
static MPI_Status *statuses_of(struct taken *taken, int n, MPI_Status *statuses)
{
    if (!taken->is_on || (statuses != MPI_STATUSES_IGNORE && statuses != MPI_STATUS_IGNORE))
        return taken->statuses = statuses;
    taken->statuses = n <= MOST_ON_STACK ? taken->few_statuses : malloc((size_t)n * sizeof *statuses);
    if (n > MOST_ON_STACK)
        taken->made = taken->statuses;
    return taken->statuses ? taken->statuses : statuses;
}

static void free_taken(struct taken *taken)
{
    if (taken->list != taken->few)
        free(taken->list);
    free(taken->made);
}

/* Count a receive that began as one of the posted buffer as that of the message that came, whose row is `key`. */
static void message_came(struct pending *one, uint64_t key, uint64_t bytes)
{
    struct row *posted = row_of(one->key);
    const uint64_t began = one->spent < posted->ticks ? one->spent : posted->ticks;
    posted->calls--;
    posted->bytes -= one->bytes;
    const uint64_t moved = posted->calls || one->key == key ? began : posted->ticks;
    posted->ticks -= moved;
    one->key = key;
    one->bytes = bytes;
    count(one->key, bytes, moved);
}

/* Note that request `i` of a call may have ended with status `k`. */
static void request_ended(struct taken *taken, int i, int k)
{
    if (i < 0 || i >= taken->n || !taken->statuses)
        return;
    struct pending *one = &taken->list[i];
    const MPI_Status *status = &taken->statuses[k];
    int is_cancelled = 0;
    if (!one->n || !is_receive(function_of(one->key)))
        return;
    PMPI_Test_cancelled(status, &is_cancelled);
    if (status->MPI_SOURCE == MPI_ANY_SOURCE && !is_cancelled) /* the empty status: it was not started */
        return;
    const uint64_t bytes = is_cancelled ? 0 : bytes_received(status);
    uint64_t key = key_of_size(one->key, bytes);
    if (one->comm && !is_cancelled)
        key = key_of_place(key, locality_of(comm_known(one->comm), status->MPI_SOURCE));
    if (bytes != one->bytes || key != one->key)
        message_came(one, key, bytes);
}

static void all_ended(struct taken *taken)
{
    for (int i = 0; i < taken->n; i++)
        request_ended(taken, i, i);
}

static void some_ended(struct taken *taken, int n_done, const int *indices)
{
    for (int k = 0; n_done != MPI_UNDEFINED && k < n_done; k++)
        request_ended(taken, indices[k], k);
}

/* Share the time of a wait among `n_chosen` of the taken requests: those that ended, or all if none did. */
static uint64_t share(const struct taken *taken, const MPI_Request *requests, int only_ended, uint64_t spent)
{
    uint64_t weight = 0, left = spent;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < taken->n; i++) {
            const struct pending *one = &taken->list[i];
            const int has_ended = HANDLE(requests[i]) != one->handle || one->is_persistent;
            if (!one->n || (only_ended && !has_ended))
                continue;
            const uint64_t own = one->bytes + HALF_BANDWIDTH_BYTES;
            if (pass == 0) {
                weight += own;
            } else {
                const uint64_t part = own >= weight ? left : (uint64_t)((double)left * (double)own / (double)weight);
                row_of(one->key)->ticks += part;
                left -= part;
                weight -= own;
            }
        }
    return left;
}

/* Count a wait or test: its call under its own name, its time with the requests that it was for. */
static void wait_ended(int fn, struct taken *taken, const MPI_Request *requests, uint64_t spent)
{
    int n_ended = 0;
    for (int i = 0; i < taken->n; i++)
        n_ended += taken->list[i].n && HANDLE(requests[i]) != taken->list[i].handle;
    const uint64_t rest = share(taken, requests, n_ended > 0, spent);
    for (int i = 0; i < taken->n; i++)
        if (taken->list[i].n && HANDLE(requests[i]) == taken->list[i].handle)
            request_put(&taken->list[i]);
    count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, rest);
    free_taken(taken);
}

static void count_taken(int fn, struct taken *taken, uint64_t spent)
{
    count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent);
    free_taken(taken);
}

/* Count messages that persistent requests start. */
static void count_starts(int fn, int n, const MPI_Request *requests, uint64_t spent)
{
    for (int i = 0; i < n; i++) {
        struct pending one;
        if (!request_take(HANDLE(requests[i]), &one)) {
            count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent / (uint64_t)n);
            continue;
        }
        one.spent = spent / (uint64_t)n;
        request_put(&one);
        count(one.key, one.bytes, one.spent);
    }
}

/* Split what a communicator keeps, and forget it. One that a callback of MPI frees is only forgotten. */
static MPI_Comm *end_comm(struct taken *taken, MPI_Comm *comm)
{
    taken->own = 0;
    if (!profile_active || *comm == MPI_COMM_NULL)
        return comm;
    if (taken->is_on) {
        const uint64_t began = ticks();
        struct comm *known = comm_of(*comm);
        if (known && known->id)
            instances_flush(known);
        taken->own = ticks() - began; /* with what ranks wait for each other in the exchange */
        table_here()->own_ticks += taken->own;
    }
    comm_forget(HANDLE(*comm));
    return comm;
}

static MPI_Win *end_window(MPI_Win *win)
{
    if (profile_active && *win != MPI_WIN_NULL)
        comm_forget(HANDLE(*win));
    return win;
}

#define matched(message) take_message(&taken, message)
#define count_mrecv(bytes, spent) count(taken_key(fn, &taken, bytes), bytes, spent)
#define count_imrecv(bytes, spent, request) count_request_of(taken_key(fn, &taken, bytes), bytes, 0, spent, request, 0)
#define comm_ends(comm) end_comm(&taken, comm)
#define window_ends(win) end_window(win)
#define OWN_STATUS(status) ((status) == MPI_STATUS_IGNORE ? &own_status : (status))
#define status_here OWN_STATUS(status)

/* Define MPI_<symbol>, and PMPI_<symbol> as another name of it. */
#define DEFINE(symbol, id, params, args, after)                                                                        \
    int MPI_##symbol params                                                                                            \
    {                                                                                                                  \
        static __typeof__(&MPI_##symbol) real;                                                                         \
        enum { fn = FN_##id };                                                                                         \
        struct taken taken __attribute__((unused));                                                                    \
        MPI_Status own_status __attribute__((unused));                                                                 \
        if (UNLIKELY(!real))                                                                                           \
            real = (__typeof__(real))real_function("PMPI_" #symbol);                                                   \
        taken.made = taken.statuses = NULL;                                                                            \
        taken.is_on = profile_active && !profile_depth;                                                                \
        if (UNLIKELY(!taken.is_on))                                                                                    \
            return real args;                                                                                          \
        profile_depth = 1;                                                                                             \
        const uint64_t began = ticks();                                                                                \
        const int result = real args;                                                                                  \
        const uint64_t spent = ticks() - began;                                                                        \
        after;                                                                                                         \
        profile_depth = 0;                                                                                             \
        return result;                                                                                                 \
    }                                                                                                                  \
    int PMPI_##symbol params __attribute__((alias("MPI_" #symbol)));

#define FUNCTION(name, params, args, after) DEFINE(name, name, params, args, after)
#include "functions.h"
#undef FUNCTION

#if MPI_VERSION >= 4
#undef COUNT
#undef DISPLACEMENT
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define ONLY_COUNTS
#define FUNCTION(name, params, args, after) DEFINE(name##_c, name, params, args, after)
#include "functions.h"
#endif
