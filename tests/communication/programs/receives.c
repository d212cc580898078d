/* Receives into buffers that have more room than their messages fill: the first argument says how they end. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1 << 20)
#define TIMES 40 /* more requests than the profile keeps statuses for on its stack */
#define BYTES 100

static int me;
static char buffer[MIB];
static MPI_Request requests[TIMES];
static MPI_Status statuses[TIMES];

static void send_all(int times, int bytes)
{
    for (int i = 0; i < times; i++)
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
}

static void post(int times)
{
    for (int i = 0; i < times; i++)
        MPI_Irecv(buffer, MIB / (int)sizeof(int), MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                  &requests[i]);
}

static void one_after_another(int are_tested)
{
    for (int i = 0; i < TIMES; i++)
        if (are_tested)
            for (int flag = 0; !flag;)
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        else
            MPI_Wait(&requests[i], &statuses[i]);
}

static void whichever_comes(const char *how)
{
    int indices[TIMES], n_done = 0, flag = 0;
    for (int left = TIMES; left > 0; left -= n_done) {
        n_done = 1;
        if (strcmp(how, "MPI_Waitany") == 0)
            MPI_Waitany(TIMES, requests, indices, MPI_STATUS_IGNORE);
        else if (strcmp(how, "MPI_Testany") == 0)
            for (flag = 0; !flag;)
                MPI_Testany(TIMES, requests, indices, &flag, statuses);
        else if (strcmp(how, "MPI_Waitsome") == 0)
            MPI_Waitsome(TIMES, requests, &n_done, indices, statuses);
        else
            MPI_Testsome(TIMES, requests, &n_done, indices, MPI_STATUSES_IGNORE);
    }
}

static void all_at_once(int are_tested)
{
    if (!are_tested)
        MPI_Waitall(TIMES, requests, MPI_STATUSES_IGNORE);
    else
        for (int flag = 0; !flag;)
            MPI_Testall(TIMES, requests, &flag, MPI_STATUSES_IGNORE);
}

/* A persistent receive of messages of two sizes, and waits for it while it is not started. */
static void persistent(void)
{
    MPI_Request request;
    if (me == 0) {
        send_all(10, BYTES);
        send_all(5, 3000);
        return;
    }
    MPI_Recv_init(buffer, MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 15; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* A receive that is given up: no message came. */
static void cancelled(void)
{
    if (me == 1) {
        MPI_Irecv(buffer, MIB, MPI_BYTE, 0, 7, MPI_COMM_WORLD, requests);
        MPI_Cancel(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
}

/* Receives of empty messages, and from nobody. */
static void empty(void)
{
    if (me == 0)
        send_all(3, 0);
    if (me == 1) {
        post(3);
        MPI_Irecv(buffer, MIB, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, statuses);
    }
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (strcmp(how, "persistent") == 0)
        persistent();
    else if (strcmp(how, "cancelled") == 0)
        cancelled();
    else if (strcmp(how, "empty") == 0)
        empty();
    else if (me == 0)
        send_all(TIMES, BYTES);
    else {
        post(TIMES);
        if (strstr(how, "any") || strstr(how, "some"))
            whichever_comes(how);
        else if (strstr(how, "all"))
            all_at_once(strstr(how, "Test") != NULL);
        else
            one_after_another(strstr(how, "Test") != NULL);
    }
    MPI_Finalize();
    return 0;
}
