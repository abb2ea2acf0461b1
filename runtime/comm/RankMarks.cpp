// Marks of ranks as sockets with abstract names "dtrun-JOB-RANK-PHASE-PROCESS".
#include "runtime/comm/RankMarks.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

// Returns a name that only the ranks of one job on this machine share.
static std::string jobName(const LaunchEnvironment &launch) {
  std::string name;
  for (const char *variable : {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID",
                               "TORCHELASTIC_RUN_ID", "MASTER_PORT", "DTC_JOB_ID"})
    if (const char *value = std::getenv(variable))
      name += text(variable, "=", value, " ");
  return name.empty()
             ? text("parent ", static_cast<int64_t>(launch.parent ? launch.parent : ::getppid()))
             : name;
}

RankMarks::RankMarks(const LaunchEnvironment &launch, const std::string &job) : rank(launch.rank) {
  std::string name =
      text(static_cast<uint64_t>(::getuid()), " ", job.empty() ? jobName(launch) : job);
  prefix = text("dtrun-", XXH3_64bits(name.data(), name.size()), "-");
}

RankMarks::~RankMarks() {
  if (socket >= 0)
    ::close(socket);
}

void RankMarks::leave(int phase) {
  std::string name = text(prefix, rank, "-", phase, "-", static_cast<int64_t>(::getpid()));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A name that begins with a zero byte is abstract; it is as long as it says.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  int fresh = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fresh >= 0 && ::bind(fresh, reinterpret_cast<sockaddr *>(&address), length) != 0) {
    ::close(fresh);
    fresh = -1;
  }
  // The new mark is there before the old one goes.
  if (socket >= 0)
    ::close(socket);
  socket = fresh;
}

// The state of process `number` by /proc: 'T' stopped, 't' traced; 0 unknown.
static char stateOf(int number) {
  std::FILE *file = std::fopen(text("/proc/", number, "/stat").c_str(), "re");
  char line[512] = {};
  size_t read = file ? std::fread(line, 1, sizeof(line) - 1, file) : 0;
  if (file)
    std::fclose(file);
  // "NUMBER (NAME) STATE ...", where the name may hold anything.
  const char *end = read > 0 ? std::strrchr(line, ')') : nullptr;
  return end && end[1] == ' ' ? end[2] : '\0';
}

std::vector<RankMark> RankMarks::read() const {
  std::vector<RankMark> marks;
  std::FILE *file = std::fopen("/proc/net/unix", "re");
  if (!file)
    return marks;
  char line[512];
  std::string wanted = "@" + prefix;
  while (std::fgets(line, sizeof(line), file)) {
    const char *at = std::strstr(line, wanted.c_str());
    RankMark mark;
    if (!at ||
        std::sscanf(at + wanted.size(), "%d-%d-%d", &mark.rank, &mark.phase, &mark.process) != 3)
      continue;
    char state = stateOf(mark.process);
    mark.isStopped = state == 'T' || state == 't';
    marks.push_back(mark);
  }
  std::fclose(file);
  // A rank on its way from one phase to the next has two.
  std::sort(marks.begin(), marks.end(), [](const RankMark &a, const RankMark &b) {
    return a.rank != b.rank ? a.rank < b.rank : a.phase > b.phase;
  });
  marks.erase(std::unique(marks.begin(), marks.end(),
                          [](const RankMark &a, const RankMark &b) { return a.rank == b.rank; }),
              marks.end());
  return marks;
}

} // namespace dtc::rt
