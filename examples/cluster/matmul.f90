! The product of two matrices, by OpenMP, in allocatable arrays:
!
!     plait fc --cluster -O2 matmul.f90 -o matmul && plait run -n 4 ./matmul
!
! Columns are divided, as Fortran's arrays lie by columns: each thread writes memory of its own.
program product_of_matrices
  implicit none
  integer, parameter :: n = 200
  real(8), allocatable :: a(:, :), b(:, :), c(:, :)
  integer :: i, j, k
  allocate (a(n, n), b(n, n), c(n, n))
  !$omp parallel do schedule(static) private(i)
  do j = 1, n
    do i = 1, n
      a(i, j) = 1d0 / (i + j)
      b(i, j) = mod(i * j, 7)
      c(i, j) = 0
    end do
  end do
  !$omp parallel do schedule(static) private(i, k)
  do j = 1, n
    do k = 1, n
      do i = 1, n
        c(i, j) = c(i, j) + a(i, k) * b(k, j)
      end do
    end do
  end do
  print '(a, i0, a, f18.9)', 'product of side ', n, ', sum ', sum(c)
end program product_of_matrices
