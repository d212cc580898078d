/*
 * Conjugate gradients for the five-point Laplacian of a square, split by rows: what NAS CG and many solvers do.
 * Each iteration exchanges a row with each neighbour (MPI_Sendrecv) and sums two numbers (MPI_Allreduce of 8 bytes).
 *
 * mpicc -O2 -o cg cg.c -lm; mpiexec -n 2 ./cg POINTS ITERATIONS
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int me, ranks, side, rows;

static double *field(void)
{
    double *made = calloc((size_t)(rows + 2) * (size_t)side, sizeof *made);
    if (!made)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return made;
}

static void exchange(double *x)
{
    const int up = me ? me - 1 : MPI_PROC_NULL, down = me + 1 < ranks ? me + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(x + side, side, MPI_DOUBLE, up, 0, x + (rows + 1) * side, side, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(x + rows * side, side, MPI_DOUBLE, down, 1, x, side, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void multiply(double *x, double *y)
{
    exchange(x);
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < side; j++) {
            const int at = i * side + j;
            y[at] = 4 * x[at] - x[at - side] - x[at + side] - (j ? x[at - 1] : 0) - (j + 1 < side ? x[at + 1] : 0);
        }
}

static double dot(const double *x, const double *y)
{
    double own = 0, sum = 0;
    for (int at = side; at < (rows + 1) * side; at++)
        own += x[at] * y[at];
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    side = argc > 1 ? atoi(argv[1]) : 256;
    const int iterations = argc > 2 ? atoi(argv[2]) : 500;
    rows = side / ranks;
    double *x = field(), *r = field(), *p = field(), *q = field();
    for (int at = side; at < (rows + 1) * side; at++)
        r[at] = p[at] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    double square = dot(r, r);
    for (int i = 0; i < iterations; i++) {
        multiply(p, q);
        const double step = square / dot(p, q);
        for (int at = side; at < (rows + 1) * side; at++) {
            x[at] += step * p[at];
            r[at] -= step * q[at];
        }
        const double next = dot(r, r), ratio = next / square;
        for (int at = side; at < (rows + 1) * side; at++)
            p[at] = r[at] + ratio * p[at];
        square = next;
    }
    if (me == 0)
        printf("took %.6f s, residual %.3e\n", MPI_Wtime() - start, sqrt(square));
    MPI_Finalize();
    return 0;
}
