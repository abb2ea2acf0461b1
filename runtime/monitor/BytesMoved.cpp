// Reads /proc/PROCESS/task/PROCESS/io, whose lines are "rchar: 123".
#include "runtime/monitor/BytesMoved.h"

#include "runtime/base/Text.h"

#include <cinttypes>
#include <cstdio>
#include <string_view>

namespace dtc::rt {

uint64_t bytesMovedBy(pid_t process) {
  std::FILE *file =
      std::fopen(format::text("/proc/", process, "/task/", process, "/io").c_str(), "re");
  if (!file)
    return 0;
  uint64_t all = 0, bytes = 0;
  char name[32];
  while (std::fscanf(file, "%31[^:]: %" SCNu64 " ", name, &bytes) == 2)
    if (std::string_view(name) == "rchar" || std::string_view(name) == "wchar")
      all += bytes;
  std::fclose(file);
  return all;
}

} // namespace dtc::rt
