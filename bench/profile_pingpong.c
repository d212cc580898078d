/*
 * What the profiling library adds to a ping-pong of 8 bytes, within one run: rounds that call the MPI through the
 * library and rounds that call it directly, in turn. So what differs from run to run is in both.
 *
 * mpicc -O2 -o profile_pingpong profile_pingpong.c -ldl; mpiexec -n 2 ./profile_pingpong ROUNDS
 *
 * Without the library both kinds of rounds are the same. A round has 200 messages each way; times are medians.
 */
#define _GNU_SOURCE
#include "of_the_mpi.h"
#include <stdlib.h>

#define MESSAGES 200
#define BYTES 8

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int receive_function(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

static double round_s(int me, send_function *send, receive_function *receive)
{
    char message[BYTES] = "";
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (int i = 0; i < MESSAGES; i++)
        if (me == 0) {
            send(message, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            receive(message, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            receive(message, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            send(message, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    return MPI_Wtime() - began;
}

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    double *through = calloc((size_t)rounds, sizeof *through), *direct = calloc((size_t)rounds, sizeof *direct);
    send_function *send = (send_function *)of_the_mpi("PMPI_Send");
    receive_function *receive = (receive_function *)of_the_mpi("PMPI_Recv");
    for (int i = -rounds / 10; i < rounds; i++)
        for (int turn = 0; turn < 2; turn++) {
            const int is_direct = (turn + (i & 1)) % 2; /* each goes first in every other pair */
            const double spent = is_direct ? round_s(me, send, receive) : round_s(me, MPI_Send, MPI_Recv);
            if (i >= 0)
                (is_direct ? direct : through)[i] = spent;
        }
    qsort(through, (size_t)rounds, sizeof *through, compare);
    qsort(direct, (size_t)rounds, sizeof *direct, compare);
    if (me == 0)
        printf("through %.6f us direct %.6f us\n", 1e6 * through[rounds / 2] / (2 * MESSAGES),
               1e6 * direct[rounds / 2] / (2 * MESSAGES));
    free(through);
    free(direct);
    MPI_Finalize();
    return 0;
}
