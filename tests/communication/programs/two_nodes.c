/* Stands for two nodes on one machine: each two ranks share one. Preloaded behind the profiling library. */
#include <mpi.h>

int PMPI_Comm_split_type(MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made)
{
    int rank;
    (void)kind, (void)info;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, rank / 2, key, made);
}
