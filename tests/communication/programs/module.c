/* A module that uses MPI, as those of Python do: what loads it is not linked with MPI. */
#include <mpi.h>

int run(void);

int run(void)
{
    int size = 0;
    MPI_Init(0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    return size;
}
