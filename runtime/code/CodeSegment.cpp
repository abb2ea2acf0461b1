#include "runtime/code/CodeSegment.h"

#include "runtime/base/Text.h"
#include "runtime/format/CodeObject.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace dtc::rt {

using format::text;

CodeSegment::~CodeSegment() {
  if (handle)
    ::dlclose(handle);
  if (descriptor >= 0)
    ::close(descriptor);
}

CodeSegment::CodeSegment(CodeSegment &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)),
      descriptor(std::exchange(other.descriptor, -1)) {}

// Seals the bytes, so that those that were checked are mapped: other processes of this user may
// open the file through /proc.
static Status seal(int descriptor) {
  constexpr int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(descriptor, F_ADD_SEALS, seals) == 0)
    return {};
  return Status::unavailable(text("loading code: sealing its memory: ", std::strerror(errno)));
}

// Reads back the sealed bytes and checks them: until they are sealed they could be changed.
static Status checkSealed(int descriptor, size_t bytes) {
  format::CodeFacts facts;
  if (bytes == 0)
    return format::readCode({}, facts);
  void *mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED)
    return Status::resourceExhausted(
        text("loading code of ", bytes, " bytes: mmap: ", std::strerror(errno)));
  Status status = format::readCode({static_cast<const uint8_t *>(mapped), bytes}, facts);
  ::munmap(mapped, bytes);
  return status;
}

Status CodeSegment::load(std::span<const uint8_t> object) {
  descriptor = ::memfd_create("dtc-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0)
    return Status::unavailable(
        text("loading code of ", object.size(), " bytes: memfd_create: ", std::strerror(errno)));
  size_t written = 0;
  while (written < object.size()) {
    ssize_t now = ::write(descriptor, object.data() + written, object.size() - written);
    if (now < 0 && errno == EINTR)
      continue;
    if (now <= 0) {
      return Status::resourceExhausted(
          text("loading code of ", object.size(), " bytes: write: ", std::strerror(errno)));
    }
    written += static_cast<size_t>(now);
  }
  DTC_RETURN_IF_ERROR(seal(descriptor));
  DTC_RETURN_IF_ERROR(checkSealed(descriptor, object.size()));
  handle = ::dlopen(text("/proc/self/fd/", descriptor).c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *reason = handle ? nullptr : ::dlerror();
  if (!handle)
    return Status::invalidArgument(text("loading code of ", object.size(),
                                        " bytes: ", reason ? reason : "no reason given",
                                        "; recompile with dtc for this machine"));
  return {};
}

void *CodeSegment::find(const std::string &symbol) const {
  return handle ? ::dlsym(handle, symbol.c_str()) : nullptr;
}

} // namespace dtc::rt
