#include "runtime/simt/HostThread.h"

#include <sys/mman.h>

namespace dtc::simt {

HostThread &HostThread::current() {
  static thread_local HostThread own;
  return own;
}

HostThread::~HostThread() {
  if (shared)
    ::munmap(shared, sharedArenaBytes);
}

bool HostThread::prepareShared() {
  if (!shared) {
    void *mapping = ::mmap(nullptr, sharedArenaBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (mapping == MAP_FAILED)
      return false;
    shared = static_cast<uint8_t *>(mapping);
    sharedWritten.resize(sharedArenaBytes);
  }
  return true;
}

} // namespace dtc::simt
