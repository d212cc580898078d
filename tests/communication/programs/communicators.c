/* Communicators that end in unusual ways, and that others share: the first argument says which. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, n;
static const char *program;

/* Print `value` where it is not the one that was sent. */
static int expect(const char *what, int value, int sent)
{
    if (value != sent)
        fprintf(stderr, "%s: %d instead of %d\n", what, value, sent);
    return value != sent;
}

/* What all ranks of a merged communicator call, those of the program that was started too. */
static int together(MPI_Comm all)
{
    int sum = 0, wrong = 0;
    for (int i = 0; i < 100; i++) {
        int number = me == 0 ? 4711 + i : 0;
        const int one = 1;
        MPI_Bcast(&number, 1, MPI_INT, 0, all);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
        wrong |= expect("broadcast", number, 4711 + i);
    }
    return wrong;
}

/* Start one more rank, and use a communicator with it. */
static int spawn(void)
{
    MPI_Comm parent, between, all;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        char *arguments[] = {"spawn", NULL};
        MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    } else {
        between = parent;
        me = 1; /* it sends nothing */
    }
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    const int wrong = together(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    return wrong;
}

/* The first rank is late each time that a communicator ends on which a collective was called. */
static int ended_late(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Barrier(copy);
        if (me == 0)
            usleep(10000);
        MPI_Comm_free(&copy);
    }
    return 0;
}

static int free_copy(MPI_Comm comm, int key, void *copy, void *extra)
{
    (void)comm, (void)key, (void)extra;
    MPI_Comm_free(copy);
    return MPI_SUCCESS;
}

/* A library keeps a copy of its caller's communicator as an attribute, and MPI frees it with that. */
static int callback(void)
{
    int key, sum;
    const int one = 1;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_copy, &key, NULL);
    for (int i = 0; i < 10; i++) {
        static MPI_Comm own, copy;
        MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? 0 : me / 2, me, &own);
        MPI_Comm_dup(own, &copy);
        MPI_Comm_set_attr(own, key, &copy);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
        MPI_Comm_free(&own);
        if (expect("sum", sum, i % 2 ? n : 2))
            return 1;
    }
    MPI_Comm_free_keyval(&key);
    return 0;
}

/* A receive that fails leaves its status as it was. */
static int failed(void)
{
    char buffer[8];
    MPI_Status status;
    memset(&status, 0x7f, sizeof status);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_Recv(buffer, 8, MPI_BYTE, n + 5, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS;
}

/* Only the first rank has a part, then all have; the last rank is late. */
static int empty_parts(void)
{
    static char own[1000], all[8000];
    int sizes[8] = {1000}, offsets[8] = {0};
    for (int i = 0; i < 2; i++) {
        if (me == n - 1)
            usleep(50000);
        MPI_Allgatherv(own, sizes[me], MPI_BYTE, all, sizes, offsets, MPI_BYTE, MPI_COMM_WORLD);
        for (int rank = 0; rank < n; rank++) {
            sizes[rank] = 1000;
            offsets[rank] = 1000 * rank;
        }
    }
    return 0;
}

/* The first rank receives from any source: from the second one, then from the third. */
static int any_source(void)
{
    char bytes[100] = "";
    MPI_Request request;
    for (int source = 1; source < 3; source++) {
        if (me == 0) {
            MPI_Irecv(bytes, 100, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (me == source) {
            MPI_Send(bytes, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return 0;
}

/* As mpi4py receives an object: find a message from anywhere, then receive it. */
static int matched(void)
{
    char bytes[100] = "";
    MPI_Message message;
    MPI_Request request;
    for (int source = 1; source < 3; source++)
        for (int is_started = 0; is_started < 2; is_started++) {
            int found = 0;
            if (me == source)
                MPI_Send(bytes, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            if (me == 0 && !is_started) {
                MPI_Mprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(bytes, 100, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            } else if (me == 0) {
                while (!found)
                    MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
                MPI_Imrecv(bytes, 100, MPI_BYTE, &message, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } known[] = {{"spawn", spawn},   {"ended_late", ended_late},   {"callback", callback},
                 {"failed", failed}, {"empty_parts", empty_parts}, {"any_source", any_source},
                 {"matched", matched}};
    int result = 77;
    program = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (size_t i = 0; argc > 1 && i < sizeof known / sizeof *known; i++)
        if (strcmp(argv[1], known[i].name) == 0)
            result = known[i].run();
    MPI_Finalize();
    return result;
}
