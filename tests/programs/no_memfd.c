// To be preloaded: a system without memfd_create, and so without plait's shared memory.
#include <errno.h>

int memfd_create(const char* name, unsigned flags);
int memfd_create(const char* name, unsigned flags) {
  (void)name;
  (void)flags;
  errno = EACCES;
  return -1;
}
