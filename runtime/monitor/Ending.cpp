#include "runtime/monitor/Ending.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Launch.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

namespace dtc::rt {
using format::text;

// Exit codes of dtrun (docs/running.md, "Exit codes").
enum : int { kError = 1, kDiverged = 4, kInternalError = 70 };

bool isOwn(const Ending &ending) {
  return ending.signal != 0 || ending.exitCode == 0 || ending.words.empty();
}

int exitCodeOf(const Ending &ending) {
  return ending.signal != 0 || ending.exitCode == 0 ? kExitRankDied : ending.exitCode;
}

bool isWorthRecord(const Ending &ending, bool hasTrained) {
  if (ending.signal != 0 || ending.exitCode == 0 || !ending.words.empty())
    return true;
  return ending.exitCode != kExitRankStopped && (hasTrained || ending.exitCode == kInternalError);
}

// Returns the meaning of an exit code of dtrun; empty if the code has none.
static const char *meaningOf(int exitCode) {
  switch (exitCode) {
  case kError:
    return ", an error that it has told";
  case kDiverged:
    return ", as training diverged";
  case kInternalError:
    return ", an internal error";
  default:
    return "";
  }
}

std::string describe(const Ending &ending) {
  if (ending.signal == 0 && ending.exitCode == 0)
    return "exited with code 0 before the job's end";
  if (ending.signal == 0)
    return text("exited with code ", ending.exitCode, meaningOf(ending.exitCode));
  const char *name = ::strsignal(ending.signal);
  std::string out = text("died (signal ", ending.signal, ", ", name ? name : "unknown", ")");
  if (ending.outOfMemory)
    out += "; memory ran out: the kernel's out-of-memory killer chose it";
  else if (ending.signal == SIGKILL)
    out += "; somebody sent it, as the kernel's out-of-memory killer has noted nothing";
  return out;
}

// The number behind `key` in a file of lines "KEY NUMBER"; false where there is none.
static bool readCount(const std::string &path, const char *key, uint64_t &count) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "re"),
                                                        &std::fclose);
  char line[256];
  unsigned long long value = 0;
  size_t length = std::strlen(key);
  while (file && std::fgets(line, sizeof(line), file.get()))
    if (std::strncmp(line, key, length) == 0 && line[length] == ' ' &&
        std::sscanf(line + length, "%llu", &value) == 1) {
      count = value;
      return true;
    }
  return false;
}

uint64_t countMemoryKills(const std::string &root) {
  uint64_t kills = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen((root + "/proc/self/cgroup").c_str(), "re"), &std::fclose);
  char line[4352];
  while (file && std::fgets(line, sizeof(line), file.get())) {
    line[std::strcspn(line, "\n")] = 0;
    if (std::strncmp(line, "0::", 3) == 0 &&
        readCount(text(root, "/sys/fs/cgroup", line + 3, "/memory.events"), "oom_kill", kills))
      return kills;
    if (const char *memory = std::strstr(line, ":memory:");
        memory && readCount(text(root, "/sys/fs/cgroup/memory", memory + 8, "/memory.oom_control"),
                            "oom_kill", kills))
      return kills;
  }
  (void)readCount(root + "/proc/vmstat", "oom_kill", kills);
  return kills;
}

} // namespace dtc::rt
