program counts
  use mpi
  implicit none
  integer :: me, n, i, error, request, status(MPI_STATUS_SIZE)
  double precision :: mine, total, values(10)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n, error)
  mine = me
  values = 0
  do i = 1, 100
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  do i = 1, 50
    if (me == 0) call MPI_Send(values, 10, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, error)
    if (me == 1) then
      call MPI_Irecv(values, 10, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, request, error)
      call MPI_Wait(request, status, error)
    end if
  end do
  call MPI_Bcast(values, 10, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
