/* Calls whose arguments say less than they seem to: the first argument says which. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 70000 /* more requests than the profile keeps */

static int me, n;
static char buffer[4096], other[4096];
static MPI_Request many[MANY];

/* Rows of a chain: its ends have one neighbour. */
static void chain(void)
{
    const int before = me > 0 ? me - 1 : MPI_PROC_NULL, after = me < n - 1 ? me + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(buffer, 100, MPI_BYTE, after, 0, other, 1000, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(buffer, 300, MPI_BYTE, after, 0, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* The same, without blocking. */
static void started_chain(void)
{
    const int before = me > 0 ? me - 1 : MPI_PROC_NULL, after = me < n - 1 ? me + 1 : MPI_PROC_NULL;
    MPI_Request request;
    MPI_Isendrecv(buffer, 100, MPI_BYTE, after, 0, other, 100, MPI_BYTE, before, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(buffer, 300, MPI_BYTE, after, 0, before, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Each rank sends ten parts of 30 bytes to the next one, three times. */
static void parts(void)
{
    MPI_Request requests[2];
    MPI_Psend_init(buffer, 10, 30, MPI_BYTE, (me + 1) % n, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(other, 10, 30, MPI_BYTE, (me + n - 1) % n, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 8, requests[0]);
        MPI_Pready(9, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}
#define HAS_MPI_4
#endif

/* The first rank sends 10 bytes and gets 500. */
static void unequal(void)
{
    MPI_Status status;
    if (me < 2)
        MPI_Sendrecv(buffer, me ? 500 : 10, MPI_BYTE, 1 - me, 0, other, 1000, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD,
                     &status);
}

static void nobody(void)
{
    MPI_Request requests[4];
    MPI_Message message;
    int flag;
    MPI_Send(buffer, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(other, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Isend(buffer, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(other, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Send_init(buffer, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(other, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Startall(2, requests + 2);
    MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[2]);
    MPI_Request_free(&requests[3]);
    MPI_Sendrecv(buffer, 19, MPI_BYTE, MPI_PROC_NULL, 0, other, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(other, 19, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

/* A rank without neighbours has no counts. */
static void alone(void)
{
    MPI_Comm graph;
    int peer = 1 - me, counts[1] = {7}, at[1] = {0};
    const int n_peers = me < 2, weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_peers, &peer, &weight, n_peers, &peer, &weight, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Neighbor_alltoallv(buffer, n_peers ? counts : NULL, n_peers ? at : NULL, MPI_BYTE, other,
                           n_peers ? counts : NULL, n_peers ? at : NULL, MPI_BYTE, graph);
    MPI_Comm_free(&graph);
}

/* Calls that ignore an operand and its type. */
static void ignored(void)
{
    MPI_Win window;
    MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, other, 3, MPI_INT, (me + 1) % n, 0, 3, MPI_INT, MPI_NO_OP, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* Two groups: all ranks but the last, and the last one. */
static void groups(void)
{
    MPI_Comm half, both;
    const int is_last = me == n - 1;
    int counts[64];
    MPI_Comm_split(MPI_COMM_WORLD, is_last, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_last ? 0 : n - 1, 0, &both);
    for (int i = 0; i < n; i++)
        counts[i] = is_last ? (i == 0 ? 8 * (n - 1) : 1 << 20) : 8; /* behind its one own part nothing counts */
    MPI_Reduce_scatter(buffer, other, counts, MPI_BYTE, MPI_BOR, both);
    const int root = is_last ? MPI_ROOT : 0;
    MPI_Bcast(buffer, 48, MPI_BYTE, root, both);
    if (is_last)
        MPI_Gather(NULL, 1 << 20, MPI_BYTE, other, 20, MPI_BYTE, MPI_ROOT, both);
    else
        MPI_Gather(buffer, 20, MPI_BYTE, NULL, 0, MPI_BYTE, 0, both);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* More requests than there is room for: each start counts as something. */
static void lost(void)
{
    for (int i = 0; i < MANY; i++)
        MPI_Recv_init(other, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &many[i]);
    MPI_Startall(MANY, many);
    MPI_Waitall(MANY, many, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        MPI_Request_free(&many[i]);
}

static void make_window(void)
{
    MPI_Win window;
    MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
}

static void make_graph(void)
{
    MPI_Comm graph;
    const int peer = (me + 1) % n, degree = 1, weight = 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, &peer, &weight, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_free(&graph);
}

static void make_rows(void)
{
    MPI_Comm line, row;
    const int periodic = 0, remains = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &line);
    if (me == 0)
        usleep(200000);
    MPI_Cart_sub(line, &remains, &row);
    MPI_Comm_free(&row);
    MPI_Comm_free(&line);
}

/* Communicators of two sizes in turn: the handle of one that was freed comes back as that of the next. */
static void reused(void)
{
    for (int i = 0; i < 10; i++) {
        MPI_Comm made;
        int rank;
        MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? 0 : me / 2, me, &made);
        MPI_Comm_rank(made, &rank);
        if (rank == 0)
            MPI_Send(buffer, 100, MPI_BYTE, 1, 0, made);
        if (rank == 1)
            MPI_Recv(other, 100, MPI_BYTE, 0, 0, made, MPI_STATUS_IGNORE);
        MPI_Comm_free(&made);
    }
}

/* All ranks wait for a late one, in calls that make something. */
static void late(void)
{
    if (me == 0)
        usleep(200000);
    make_window();
    if (me == 0)
        usleep(200000);
    make_graph();
    make_rows();
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    int is_known = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (strcmp(what, "chain") == 0)
        chain();
    else if (strcmp(what, "unequal") == 0)
        unequal();
    else if (strcmp(what, "nobody") == 0)
        nobody();
    else if (strcmp(what, "alone") == 0)
        alone();
    else if (strcmp(what, "ignored") == 0)
        ignored();
    else if (strcmp(what, "groups") == 0)
        groups();
    else if (strcmp(what, "lost") == 0)
        lost();
    else if (strcmp(what, "late") == 0)
        late();
    else if (strcmp(what, "reused") == 0)
        reused();
#ifdef HAS_MPI_4
    else if (strcmp(what, "started_chain") == 0)
        started_chain();
    else if (strcmp(what, "parts") == 0)
        parts();
#endif
    else
        is_known = 0;
    MPI_Finalize();
    return is_known ? 0 : 77;
}
