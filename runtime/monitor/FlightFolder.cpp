#include "runtime/monitor/FlightFolder.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

static std::string ownName() {
  const char *temporary = std::getenv("TMPDIR");
  const char *job = std::getenv("PMIX_NAMESPACE");
  std::string name = job ? job : text("parent ", ::getppid());
  return text(temporary && *temporary ? temporary : "/tmp", "/dtrun-flights-", ::getuid(), "-",
              XXH3_64bits(name.data(), name.size()));
}

Status openFlightFolder(const std::string &wanted, std::string &folder) {
  folder = wanted.empty() ? ownName() : wanted;
  struct stat info = {};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Status::unavailable(text("making folder '", folder, "': ", std::strerror(errno)));
  // In a folder that all may write to, somebody else may have been first.
  if (wanted.empty() &&
      (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::getuid()))
    return Status::unavailable(
        text("folder '", folder, "' is somebody else's; name one by --log-dir"));
  return {};
}

} // namespace dtc::rt
