/* What is known about a communicator or window: its size, and which peers are on the same node. */
#define _GNU_SOURCE
#include "profile.h"
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 1024

unsigned profile_generation = 1; /* changes when a communicator ends: its handle may come back as another's */

static struct comm *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *node_of_rank; /* by rank in MPI_COMM_WORLD: the first rank on its node */
static int my_node, n_world;
static MPI_Group world;

/* Find the node of each rank of MPI_COMM_WORLD. Collective. Returns 0 if that fails. */
int nodes_find(void)
{
    MPI_Comm here;
    int me;
    PMPI_Comm_size(MPI_COMM_WORLD, &n_world);
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    node_of_rank = malloc((size_t)n_world * sizeof *node_of_rank);
    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &here) != MPI_SUCCESS)
        return 0;
    my_node = me;
    PMPI_Bcast(&my_node, 1, MPI_INT, 0, here);
    PMPI_Comm_free(&here);
    if (!node_of_rank)
        return 0;
    PMPI_Allgather(&my_node, 1, MPI_INT, node_of_rank, 1, MPI_INT, MPI_COMM_WORLD);
    return PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
}

const int *nodes_of_ranks(void)
{
    return node_of_rank;
}

/* Fill in which members of `group` are on this node. */
static void place_peers(struct comm *comm, MPI_Group group)
{
    PMPI_Group_size(group, &comm->n_peers);
    const size_t n = (size_t)comm->n_peers;
    int *ranks = malloc(2 * n * sizeof *ranks);
    comm->is_local = calloc(n / 8 + 1, 1);
    comm->spans_nodes = 1;
    if (!ranks || !comm->is_local) {
        free(ranks);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ranks[i] = (int)i;
    PMPI_Group_translate_ranks(group, comm->n_peers, ranks, world, ranks + n);
    comm->spans_nodes = 0;
    for (size_t i = 0; i < n; i++) {
        const int rank = ranks[n + i];
        comm->is_foreign |= rank == MPI_UNDEFINED;
        if (rank >= 0 && rank < n_world && node_of_rank[rank] == my_node)
            comm->is_local[i / 8] |= (unsigned char)(1u << i % 8);
        else
            comm->spans_nodes = 1;
    }
    free(ranks);
}

static struct comm *look_up(uint64_t handle)
{
    struct comm *at = buckets[(handle >> 4 ^ handle) % BUCKETS];
    while (at && at->handle != handle)
        at = at->next;
    return at;
}

static struct comm *add(uint64_t handle, MPI_Comm comm, MPI_Win win, int is_window)
{
    struct comm *made = calloc(1, sizeof *made);
    MPI_Group group;
    if (!made)
        return NULL;
    made->handle = handle;
    made->comm = comm;
    made->is_window = is_window;
    made->degree = -1;
    if (is_window) {
        PMPI_Win_get_group(win, &group);
    } else {
        PMPI_Comm_test_inter(comm, &made->is_inter);
        if (made->is_inter)
            PMPI_Comm_remote_group(comm, &group);
        else
            PMPI_Comm_group(comm, &group);
    }
    place_peers(made, group);
    PMPI_Group_free(&group);
    made->size = made->n_peers;
    if (!is_window)
        PMPI_Comm_size(comm, &made->size);
    struct comm **bucket = &buckets[(handle >> 4 ^ handle) % BUCKETS];
    made->next = *bucket;
    return *bucket = made;
}

static struct comm *find(uint64_t handle, MPI_Comm comm, MPI_Win win, int is_window)
{
    struct table *table = table_here();
    struct cached *at = &table->comms[(handle >> 4 ^ handle) % COMM_CACHE];
    const unsigned generation = __atomic_load_n(&profile_generation, __ATOMIC_ACQUIRE);
    if (table->generation != generation) {
        memset(table->comms, 0, sizeof table->comms);
        table->generation = generation;
    }
    pthread_mutex_lock(&lock);
    struct comm *found = look_up(handle);
    if (!found)
        found = add(handle, comm, win, is_window);
    pthread_mutex_unlock(&lock);
    *at = (struct cached){handle, found};
    return found;
}

/* Return what is known about `comm`; NULL if there is no memory for it. */
struct comm *comm_find(MPI_Comm comm)
{
    return find(HANDLE(comm), comm, MPI_WIN_NULL, 0);
}

struct comm *window_find(MPI_Win win)
{
    return find(HANDLE(win), MPI_COMM_NULL, win, 1);
}

/* Return a communicator or window that is known; NULL if it has ended. */
struct comm *comm_known(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct comm *found = look_up(handle);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Forget a communicator or window that ends, and the instances that it has not split. */
void comm_forget(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct comm **at = &buckets[(handle >> 4 ^ handle) % BUCKETS];
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    struct comm *gone = *at;
    if (gone)
        *at = gone->next;
    __atomic_add_fetch(&profile_generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    if (gone) {
        __atomic_add_fetch(&profile_dropped, gone->n_kept, __ATOMIC_RELAXED);
        free(gone->is_local);
        free(gone->rows);
        free(gone->seconds);
        free(gone);
    }
}

/* Return all communicators that are known, and their number; free the list. */
struct comm **comm_list(int *n)
{
    size_t count = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct comm *at = buckets[i]; at; at = at->next)
            count++;
    struct comm **list = malloc((count + 1) * sizeof *list);
    *n = 0;
    for (int i = 0; list && i < BUCKETS; i++)
        for (struct comm *at = buckets[i]; at; at = at->next)
            list[(*n)++] = at;
    return list;
}

/* Return where a peer is; for all peers together, or one that is not known, MIXED if some are on other nodes. */
enum locality locality_of(const struct comm *comm, int peer)
{
    if (!comm)
        return MIXED;
    if (peer == MPI_PROC_NULL)
        return INTRA;
    if (peer < 0 || peer >= comm->n_peers || !comm->is_local)
        return comm->spans_nodes ? MIXED : INTRA;
    return comm->is_local[peer / 8] >> peer % 8 & 1 ? INTRA : INTER;
}

/* Return the number of neighbours that this rank sends to in the topology of `comm`. */
int neighbours(MPI_Comm comm)
{
    struct comm *known = comm_of(comm);
    int kind, me, in, is_weighted, n = 0;
    if (known && known->degree >= 0)
        return known->degree;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        n *= 2;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &n, &is_weighted);
    } else if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &me);
        PMPI_Graph_neighbors_count(comm, me, &n);
    }
    if (known)
        known->degree = n;
    return n;
}
