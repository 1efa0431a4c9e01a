! fortran_*: what programs in Fortran do most, and each completion call on persistent requests. Built with `mpif.h`, with the module
! mpi and with mpi_f08, and never linked with plait: they are carried by preloading. received_in_c (received.c) takes what Fortran sends.
#if defined(F08)
#define REQUEST(NAMES) type(MPI_Request) :: NAMES
#define STATUS(NAME) type(MPI_Status) :: NAME
#define STATUSES(NAME, N) type(MPI_Status) :: NAME(N)
#define ONE(NAME, I) NAME(I)
#define SOURCE_OF(S) S%MPI_SOURCE
#define TAG_OF(S) S%MPI_TAG
#define TAG_AT(NAME, I) NAME(I)%MPI_TAG
#define COMM(NAMES) type(MPI_Comm) :: NAMES
#define MESSAGE(NAMES) type(MPI_Message) :: NAMES
#else
#define REQUEST(NAMES) integer :: NAMES
#define STATUS(NAME) integer :: NAME(MPI_STATUS_SIZE)
#define STATUSES(NAME, N) integer :: NAME(MPI_STATUS_SIZE, N)
#define ONE(NAME, I) NAME(:, I)
#define SOURCE_OF(S) S(MPI_SOURCE)
#define TAG_OF(S) S(MPI_TAG)
#define TAG_AT(NAME, I) NAME(MPI_TAG, I)
#define COMM(NAMES) integer :: NAMES
#define MESSAGE(NAMES) integer :: NAMES
#endif
#if defined(F08)
#define MPI_MODULE use mpi_f08
#define HEADER
#elif defined(MPIF_H)
#define MPI_MODULE
#define HEADER include 'mpif.h'
#else
#define MPI_MODULE use mpi
#define HEADER
#endif

subroutine check(right, line)
  MPI_MODULE
  implicit none
  HEADER
  logical, intent(in) :: right
  integer, intent(in) :: line
  integer :: ierr
  if (right) return
  print *, 'carried.F90: not so, line', line
  call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
end subroutine

program carried
  MPI_MODULE
  implicit none
  HEADER
  integer, parameter :: n = 5000
  integer :: rank, size, next, last, provided, ierr
  integer :: sent(n), got(n)

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  next = mod(rank + 1, size)
  last = mod(rank + size - 1, size)
  call point_to_point()
  call reordering()
  call nonblocking()
  call persistent()
  call found_first()
  call collectives()
  call from_fortran_to_c()
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a)', 'Fortran: right'
  call MPI_Finalize(ierr)

contains

  ! Ranks dealt to the nodes one by one, then put in a line: one link leaves each node but the last.
  subroutine reordering()
    COMM(dealt)
    COMM(line)
    STATUS(st)
    character(len=MPI_MAX_PROCESSOR_NAME) :: here, there
    character(len=MPI_MAX_PROCESSOR_NAME), allocatable :: all(:)
    integer :: i, length, before, nodes, left, right, slow, dims(1)
    logical :: periods(1)
    allocate (all(size))
    here = ' '
    call MPI_Get_processor_name(here, length, ierr)
    here = here(1:length)
    call MPI_Allgather(here, MPI_MAX_PROCESSOR_NAME, MPI_CHARACTER, all, MPI_MAX_PROCESSOR_NAME, MPI_CHARACTER, MPI_COMM_WORLD, ierr)
    nodes = 0
    before = 0
    do i = 1, size
      if (.not. any(all(1:i - 1) == all(i))) nodes = nodes + 1
      if (i <= rank .and. all(i) == here) before = before + 1
    end do
    call MPI_Comm_split(MPI_COMM_WORLD, 0, before, dealt, ierr)
    dims(1) = size
    periods(1) = .false.
    call MPI_Cart_create(dealt, 1, dims, periods, .true., line, ierr)
    call MPI_Cart_shift(line, 0, 1, left, right, ierr)
    there = here
    call MPI_Sendrecv(here, MPI_MAX_PROCESSOR_NAME, MPI_CHARACTER, left, 1, there, MPI_MAX_PROCESSOR_NAME, MPI_CHARACTER, right, 1, line, st, ierr)
    i = merge(1, 0, here /= there)
    call MPI_Allreduce(i, slow, 1, MPI_INTEGER, MPI_SUM, line, ierr)
    call check(slow == nodes - 1, __LINE__)
    call MPI_Comm_free(line, ierr)
    call MPI_Comm_free(dealt, ierr)
  end subroutine

  subroutine point_to_point()
    STATUS(status)
    integer :: i, count
    do i = 1, 3
      sent = 10 * rank + i
      call MPI_Sendrecv(sent, n, MPI_INTEGER, next, i, got, n, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, count, ierr)
      call check(count == n .and. SOURCE_OF(status) == last .and. TAG_OF(status) == i .and. all(got == 10 * last + i), __LINE__)
    end do
    call MPI_Sendrecv(sent, n, MPI_INTEGER, next, 0, got, n, MPI_INTEGER, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(ierr == MPI_SUCCESS, __LINE__)
  end subroutine

  ! More than fit into the arrays that plait keeps on the stack, and requests that are null.
  subroutine nonblocking()
    integer, parameter :: many = 40
    REQUEST(requests(2 * many))
    STATUSES(statuses, 2 * many)
    integer :: i, index, numbers(many), wanted(many)
    logical :: flag
    numbers = [(100 * rank + i, i = 1, many)]
    wanted = 0
    do i = 1, many
      call MPI_Irecv(wanted(i), 1, MPI_INTEGER, last, i, MPI_COMM_WORLD, requests(i), ierr)
    end do
    do i = 1, many
      call MPI_Isend(numbers(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(many + i), ierr)
    end do
    call MPI_Waitall(2 * many, requests, statuses, ierr)
    do i = 1, many
      call check(wanted(i) == 100 * last + i .and. TAG_AT(statuses, i) == i, __LINE__)
    end do
    do i = 1, 2 * many
      call check(requests(i) == MPI_REQUEST_NULL, __LINE__)
    end do
    call MPI_Waitany(2 * many, requests, index, MPI_STATUS_IGNORE, ierr)
    call check(index == MPI_UNDEFINED .or. WRONG_INDEX, __LINE__)
    call MPI_Testany(2 * many, requests, index, flag, MPI_STATUS_IGNORE, ierr)
    call check((index == MPI_UNDEFINED .or. WRONG_INDEX) .and. flag, __LINE__)
    call MPI_Waitsome(2 * many, requests, index, wanted, MPI_STATUSES_IGNORE, ierr)
    call check(index == MPI_UNDEFINED, __LINE__)
  end subroutine

  subroutine persistent()
    REQUEST(requests(2))
    STATUSES(statuses, 2)
    integer :: i, index, found, indices(2), left
    logical :: flag
    call MPI_Recv_init(got, n, MPI_INTEGER, last, 7, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Send_init(sent, n, MPI_INTEGER, next, 7, MPI_COMM_WORLD, requests(2), ierr)
    do i = 0, 31
      sent = 1000 * rank + i
      call MPI_Startall(2, requests, ierr)
      flag = .false.
      left = 2
      select case (mod(i, 8))
      case (0)
        call MPI_Waitall(2, requests, statuses, ierr)
        call check(TAG_AT(statuses, 1) == 7, __LINE__)
      case (1)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
      case (2)
        call MPI_Wait(requests(1), ONE(statuses, 1), ierr)
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
        call check(TAG_AT(statuses, 1) == 7, __LINE__)
      case (3)
        do while (.not. flag)
          call MPI_Testall(2, requests, flag, statuses, ierr)
        end do
      case (4)
        do while (left > 0)
          call MPI_Waitany(2, requests, index, ONE(statuses, 1), ierr)
          call check(index == 1 .or. index == 2 .or. WRONG_INDEX, __LINE__)
          left = left - 1
        end do
      case (5)
        do while (left > 0)
          call MPI_Testany(2, requests, index, flag, ONE(statuses, 1), ierr)
          if (flag) left = left - 1
        end do
      case (6)
        do while (left > 0)
          call MPI_Waitsome(2, requests, found, indices, statuses, ierr)
          call check(all(indices(1:found) >= 1 .and. indices(1:found) <= 2) .or. WRONG_INDEX, __LINE__)
          left = left - found
        end do
      case (7)
        do while (left > 0)
          call MPI_Testsome(2, requests, found, indices, MPI_STATUSES_IGNORE, ierr)
          left = left - found
        end do
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierr)  ! not active
        call check(flag, __LINE__)
      end select
      call check(all(got == 1000 * last + i), __LINE__)
      call check(requests(1) /= MPI_REQUEST_NULL .and. requests(2) /= MPI_REQUEST_NULL, __LINE__)
    end do
    do i = 1, 2
      call MPI_Request_free(requests(i), ierr)
      call check(requests(i) == MPI_REQUEST_NULL, __LINE__)
    end do
  end subroutine

  subroutine found_first()
    REQUEST(request)
    STATUS(status)
    MESSAGE(message)
    integer :: count
    call MPI_Isend(sent, n, MPI_INTEGER, next, 9, MPI_COMM_WORLD, request, ierr)
    call MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, message, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == n .and. SOURCE_OF(status) == last, __LINE__)
    call MPI_Mrecv(got, n, MPI_INTEGER, message, status, ierr)
    call MPI_Wait(request, status, ierr)
    call check(message == MPI_MESSAGE_NULL, __LINE__)
  end subroutine

  subroutine collectives()
    COMM(halves)
    COMM(again)
    integer :: mine, sum, members
    mine = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, mine, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(mine == size * (size + 1) / 2, __LINE__)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, halves, ierr)
    call MPI_Comm_dup(halves, again, ierr)
    call MPI_Comm_size(again, members, ierr)
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, again, ierr)
    call check(sum == members, __LINE__)
    call MPI_Comm_free(again, ierr)
    call MPI_Comm_free(halves, ierr)
    call check(halves == MPI_COMM_NULL, __LINE__)
  end subroutine

  subroutine from_fortran_to_c()
    interface
      subroutine received_in_c(source, number) bind(C)
        use iso_c_binding
        integer(c_int), value :: source, number
      end subroutine
    end interface
    sent = 77 + rank
    if (mod(rank, 2) == 0 .and. rank + 1 < size) call MPI_Send(sent, n, MPI_INTEGER, rank + 1, 11, MPI_COMM_WORLD, ierr)
    if (mod(rank, 2) == 1) call received_in_c(rank - 1, 77 + rank - 1)
  end subroutine

end program
