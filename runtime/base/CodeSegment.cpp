#include "runtime/base/CodeSegment.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
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

Status CodeSegment::load(std::span<const uint8_t> object) {
  descriptor = ::memfd_create("dtc-code", MFD_CLOEXEC);
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
