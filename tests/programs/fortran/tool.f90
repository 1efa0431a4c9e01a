! A tool, as a profiler written in Fortran is: it counts nonblocking sends and goes on by their profiling name.
subroutine mpi_isend(buf, count, datatype, dest, tag, comm, request, ierror)
  implicit none
  integer :: buf(*), count, datatype, dest, tag, comm, request, ierror
  integer :: sends
  common /counted/ sends
  sends = sends + 1
  call pmpi_isend(buf, count, datatype, dest, tag, comm, request, ierror)
end subroutine

subroutine mpi_finalize(ierror)
  implicit none
  integer :: ierror, sends
  common /counted/ sends
  write (0, '(a,i0)') 'tool in Fortran: sends ', sends
  call pmpi_finalize(ierror)
end subroutine
