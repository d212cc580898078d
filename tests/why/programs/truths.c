/* Programs whose difference between two sides has a known cause: the first argument says which. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)
#define SIZE 1000 /* goes out in MPI_Isend, without the receiver's help */

static int me;
static char *buffer, *other;

static void sleep_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void work(long rounds)
{
    volatile double sum = 0;
    for (long i = 0; i < rounds; i++)
        sum += (double)i;
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
        else
            MPI_Recv(buffer, MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 is slower by TRUTH_SLOW_MS in each step; the others wait for it. */
static void steps(int times)
{
    const char *const slow = getenv("TRUTH_SLOW_MS");
    for (int i = 0; i < times; i++) {
        sleep_ms(5 + (me == 1 && slow ? atol(slow) : 0));
        allreduces(1);
    }
}

static void *flood(void *unused)
{
    const int out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (;;)
        for (int i = 0; i < 100; i++)
            if (sendto(out, buffer, 64, 0, (struct sockaddr *)&to, sizeof to) < 0 && i == 99)
                sleep_ms(1);
    return unused;
}

/* The same work on both sides; with TRUTH_PACKETS a thread of each rank sends packets, which cost its core time. */
static void beside_packets(int times)
{
    pthread_t sender;
    if (getenv("TRUTH_PACKETS"))
        pthread_create(&sender, NULL, flood, NULL);
    for (int i = 0; i < times; i++)
        work(2000000);
}

/* The same messages, in steps of the same length. Hidden ones arrive while both ranks are busy elsewhere, so that
 * the wait finds them done; exposed ones are waited for at once. */
static void exchanges(int times, int is_hidden)
{
    MPI_Request requests[2];
    for (int i = 0; i < times; i++) {
        MPI_Irecv(other, SIZE, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(buffer, SIZE, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &requests[1]);
        if (is_hidden)
            sleep_ms(30);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (!is_hidden)
            sleep_ms(30);
    }
}

static void writes(int times, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/file.%d", folder, me);
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < times; i++) {
        if (write(fd, buffer, MIB) != MIB)
            abort();
        fsync(fd);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    const char *const what = argc > 2 ? argv[1] : "";
    const int times = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    buffer = calloc(1, MIB);
    other = calloc(1, MIB);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (strcmp(what, "allreduces") == 0)
        allreduces(times);
    else if (strcmp(what, "sends") == 0)
        sends(times);
    else if (strcmp(what, "steps") == 0)
        steps(times);
    else if (strcmp(what, "work") == 0)
        beside_packets(times);
    else if (strcmp(what, "hidden") == 0)
        exchanges(times, 1);
    else if (strcmp(what, "exposed") == 0)
        exchanges(times, 0);
    else if (strcmp(what, "writes") == 0 && argc > 3)
        writes(times, argv[3]);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (me == 0)
        printf("took %.6f s\n", MPI_Wtime() - start);
    MPI_Finalize();
    return 0;
}
