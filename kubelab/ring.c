/* A ring of ranks: each hands a number to the next one. The first prints how many there are. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
  int rank, size, token;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  token = rank;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  if (token != (rank + size - 1) % size)
    MPI_Abort(MPI_COMM_WORLD, 3);
  if (rank == 0)
    printf("value: %d\n", size);
  MPI_Finalize();
  return 0;
}
