! A chain of ranks whose ends have one neighbour, and a reduction in place.
program chain
   use mpi_f08
   implicit none
   integer :: me, n, before, after
   real(8) :: sent(16), received(16)
   type(MPI_Status) :: status
   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, me)
   call MPI_Comm_size(MPI_COMM_WORLD, n)
   before = merge(me - 1, MPI_PROC_NULL, me > 0)
   after = merge(me + 1, MPI_PROC_NULL, me < n - 1)
   sent = me
   call MPI_Sendrecv(sent, 4, MPI_DOUBLE_PRECISION, after, 0, received, 16, MPI_DOUBLE_PRECISION, before, 0, &
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE)
   call MPI_Sendrecv_replace(sent, 16, MPI_DOUBLE_PRECISION, after, 0, before, 0, MPI_COMM_WORLD, status)
   call MPI_Allreduce(MPI_IN_PLACE, sent, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
   call MPI_Finalize()
end program chain
