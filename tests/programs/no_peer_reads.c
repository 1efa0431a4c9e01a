// To be preloaded: another process's memory seems to be readable, and most of it is not, as where it is a device's.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long tos, const struct iovec* from, unsigned long froms,
                         unsigned long flags) {
  if (tos == 1 && to->iov_len == 1) return syscall(SYS_process_vm_readv, pid, to, tos, from, froms, flags);
  errno = EFAULT;
  return -1;
}
