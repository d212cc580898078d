! The same as allreduces and sends in truths.c, by Fortran's bindings.
program truths
  use mpi_f08
  implicit none
  character(len=32) :: what, number
  character, allocatable :: buffer(:)
  double precision :: mine, total, start
  integer :: me, times, i
  call get_command_argument(1, what)
  call get_command_argument(2, number)
  read (number, *) times
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  allocate (buffer(1048576))
  buffer = 'a'
  mine = me
  call MPI_Barrier(MPI_COMM_WORLD)
  start = MPI_Wtime()
  do i = 1, times
    if (what == 'allreduces') then
      call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    else if (me == 0) then
      call MPI_Send(buffer, size(buffer), MPI_CHARACTER, 1, 0, MPI_COMM_WORLD)
    else
      call MPI_Recv(buffer, size(buffer), MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end if
  end do
  if (me == 0) print '(a,f0.6,a)', 'took 0', MPI_Wtime() - start, ' s'
  call MPI_Finalize()
end program
