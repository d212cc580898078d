/* Programs whose profile is known: the first argument says which. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int me, n;
static char *buffer, *other;
#define MIB (1 << 20)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(double seconds)
{
    for (const double end = now() + seconds; now() < end;)
        ;
}

static void allreduces(int times)
{
    double mine = me, sum;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void sends(int times)
{
    for (int i = 0; i < times; i++)
        if (me == 0)
            MPI_Send(buffer, MIB, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else if (me == 1)
            MPI_Recv(buffer, MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void slow_rank(void)
{
    for (int i = 0; i < 20; i++) {
        if (me == 0)
            usleep(20000);
        allreduces(1);
    }
}

/* Messages that arrive while both ranks compute: the waits find them done. */
static void overlap(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 10; i++) {
        MPI_Irecv(other, 1000, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(buffer, 1000, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &requests[1]);
        usleep(20000);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

/* A wait that pays for a receive: rank 1 waits for what rank 0 sends late. */
static void late_sender(void)
{
    MPI_Request request;
    for (int i = 0; i < 10; i++) {
        if (me == 0) {
            usleep(20000);
            MPI_Isend(buffer, 1000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        } else {
            MPI_Irecv(other, 1000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void files(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/file.%d", folder, me);
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 100; i++)
        if (write(fd, buffer, MIB) != MIB)
            abort();
    fsync(fd);
    close(fd);
    FILE *file = fopen(path, "r");
    if (fread(other, 1, 1000, file) != 1000)
        abort();
    fclose(file);
    int ends[2];
    if (pipe(ends) || write(ends[1], buffer, 10) != 10) /* no file */
        abort();
    MPI_File shared;
    snprintf(path, sizeof path, "%s/shared", folder);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &shared);
    MPI_File_write_at_all(shared, me * 1000, buffer, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&shared);
}

static void *thread_sends(void *number)
{
    const int tag = (int)(long)number;
    int value = tag;
    for (int i = 0; i < 50; i++) {
        if (me == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (me == 1) {
            MPI_Request request;
            MPI_Irecv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        }
    }
    return NULL;
}

static void threads(void)
{
    pthread_t made[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&made[i], NULL, thread_sends, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(made[i], NULL);
}

static void communicators(void)
{
    MPI_Comm made[1024];
    double mine = 1, sum;
    for (int i = 0; i < 1024; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
    for (int i = 0; i < 1024; i++) /* the order of the last exchanges must not depend on this one */
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, made[(i * 7) % 1024]);
    for (int i = 0; i < 512; i++)
        MPI_Comm_free(&made[i]);
    for (int i = 0; i < 100; i++) { /* handles come back */
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
        MPI_Barrier(half);
        MPI_Comm_free(&half);
    }
}

static void persistent(void)
{
    MPI_Request requests[2];
    const int peer = me ^ 1;
    MPI_Send_init(buffer, 100, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(other, 100, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 50; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Each kind of call once or a few times, with sizes that tell them apart. */
static void each(void)
{
    int counts[64], at[64];
    MPI_Request request;
    MPI_Datatype types[64];
    for (int i = 0; i < n; i++) {
        counts[i] = 3;
        at[i] = 3 * i;
        types[i] = MPI_BYTE;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(buffer, 5, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Reduce(buffer, other, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, buffer, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(buffer, 7, MPI_BYTE, other, 7, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gatherv(buffer, 3, MPI_BYTE, other, counts, at, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Scatter(buffer, 9, MPI_BYTE, other, 9, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(buffer, counts, at, MPI_BYTE, other, 3, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allgather(buffer, 11, MPI_BYTE, other, 11, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Allgatherv(buffer, 3, MPI_BYTE, other, counts, at, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(buffer, 13, MPI_BYTE, other, 13, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoallv(buffer, counts, at, MPI_BYTE, other, counts, at, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoallw(buffer, counts, at, types, other, counts, at, types, MPI_COMM_WORLD);
    MPI_Reduce_scatter(buffer, other, counts, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(buffer, other, 3, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Scan(buffer, other, 6, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Exscan(buffer, other, 6, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Iallreduce(buffer, other, 6, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int flag = 0; !flag;)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Sendrecv(buffer, 17, MPI_BYTE, (me + 1) % n, 0, other, 100, MPI_BYTE, (me + n - 1) % n, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (me == 0)
        MPI_Send(buffer, 19, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    if (me == 0)
        MPI_Ssend(buffer, 21, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (me == 1)
        MPI_Recv(other, 1000, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm ring;
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
    MPI_Neighbor_alltoall(buffer, 23, MPI_BYTE, other, 23, MPI_BYTE, ring);
    MPI_Comm_free(&ring);
    MPI_Win window;
    MPI_Win_create(other, 1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(buffer, 25, MPI_BYTE, (me + 1) % n, 0, 25, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    int level;
    const char *const what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "no-init") == 0)
        return 0;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* else resident memory differs by huge pages of 2 MiB from run to run */
    if (strcmp(what, "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    buffer = calloc(1, MIB);
    other = calloc(1, MIB);
    if (strcmp(what, "allreduces") == 0)
        allreduces(argc > 2 ? atoi(argv[2]) : 5000);
    else if (strcmp(what, "sends") == 0)
        sends(300);
    else if (strcmp(what, "slow-rank") == 0)
        slow_rank();
    else if (strcmp(what, "overlap") == 0)
        overlap();
    else if (strcmp(what, "late-sender") == 0)
        late_sender();
    else if (strcmp(what, "compute") == 0)
        compute(0.5);
    else if (strcmp(what, "files") == 0)
        files(argv[2]);
    else if (strcmp(what, "threads") == 0 && level == MPI_THREAD_MULTIPLE)
        threads();
    else if (strcmp(what, "communicators") == 0)
        communicators();
    else if (strcmp(what, "persistent") == 0)
        persistent();
    else if (strcmp(what, "each") == 0)
        each();
    else if (strcmp(what, "killed") == 0 && me == 1)
        raise(SIGKILL);
    else if (strcmp(what, "killed") == 0)
        allreduces(1);
    else if (strcmp(what, "no-finalize") == 0)
        _exit(0);
    FILE *memory = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (memory && fscanf(memory, "%*s %ld", &pages) == 1 && me == 0)
        printf("resident %ld\n", pages);
    MPI_Finalize();
    return 0;
}
