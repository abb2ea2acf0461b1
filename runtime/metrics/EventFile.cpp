#include "runtime/metrics/EventFile.h"

#include "runtime/base/Text.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace

EventFile::~EventFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status EventFile::open(const std::string &folder) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || std::strchr(host.data(), '/'))
    std::snprintf(host.data(), host.size(), "localhost");
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%010lld", static_cast<long long>(now()));
  path = text(folder, "/events.out.tfevents.", seconds.data(), ".", host.data(), ".", ::getpid(),
              ".0");
  if (::access(folder.c_str(), W_OK) == 0)
    return {};
  return Status::unavailable(
      text("writing events for TensorBoard to '", folder, "': ", std::strerror(errno)));
}

Status EventFile::create() {
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return descriptor >= 0 ? append(versionRecord(now()))
                         : Status::unavailable(text("creating '", path,
                                                    "' for TensorBoard: ", std::strerror(errno)));
}

Status EventFile::append(const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR)
      return Status::unavailable(
          text("writing '", path, "' for TensorBoard: ", std::strerror(errno)));
    done += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return {};
}

// Ends the file after an error: half a record would hide all that come after it.
Status EventFile::write(int64_t step, const std::vector<Scalar> &scalars) {
  if (path.empty() || isOver || scalars.empty())
    return {};
  Status status = descriptor < 0 ? create() : Status();
  if (status.ok())
    status = append(scalarsRecord(now(), step, scalars));
  isOver = !status.ok();
  return status;
}

} // namespace dtc::rt
