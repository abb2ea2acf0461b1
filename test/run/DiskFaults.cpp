// Disk faults for tests of checkpoints, loaded before dtrun (LD_PRELOAD): counts the calls that
// change files below FAULT_DIR, and at one of them ends the process or reports a full disk. The
// tests go through all of those moments.
//
// FAULT_DIR     an absolute path; nothing happens without it
// FAULT_RANK    the rank of Open MPI that has the faults; default 0
// FAULT_AT      the number of the call, from 1; 0: none
// FAULT_COUNT   how many calls fail from there on; default 1
// FAULT_KIND    kill: SIGKILL before the call, of a write after half of it
//               full: this call and the FAULT_COUNT - 1 after it give ENOSPC
//               readonly: they give EROFS
//               slow: they take FAULT_SECONDS longer
//               stall: counts the reads of files there instead, which take FAULT_SECONDS longer
// FAULT_ONCE    a file: nothing happens if it exists, and it is made before the first fault, so
//               that a job that is started again has none
// FAULT_REPORT  a file that gets the number of calls at the end
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Plan {
  const char *folder = nullptr;
  long at = 0, count = 1;
  bool kills = false;
  bool countsReads = false;
  long slowSeconds = 0;
  int error = ENOSPC;
  const char *once = nullptr;
};

long numberOf(const char *variable, long otherwise) {
  const char *value = std::getenv(variable);
  return value ? std::atol(value) : otherwise;
}

Plan readPlan() {
  Plan plan;
  if (numberOf("OMPI_COMM_WORLD_RANK", 0) != numberOf("FAULT_RANK", 0))
    return plan;
  const char *kind = std::getenv("FAULT_KIND");
  plan.folder = std::getenv("FAULT_DIR");
  plan.at = numberOf("FAULT_AT", 0);
  plan.count = numberOf("FAULT_COUNT", 1);
  plan.kills = kind && std::strcmp(kind, "kill") == 0;
  plan.countsReads = kind && std::strcmp(kind, "stall") == 0;
  if (plan.countsReads || (kind && std::strcmp(kind, "slow") == 0))
    plan.slowSeconds = numberOf("FAULT_SECONDS", 1);
  if (kind && std::strcmp(kind, "readonly") == 0)
    plan.error = EROFS;
  plan.once = std::getenv("FAULT_ONCE");
  if (plan.once && ::access(plan.once, F_OK) == 0)
    plan.folder = nullptr;
  return plan;
}

const Plan &plan() {
  static const Plan found = readPlan();
  return found;
}

std::atomic<long> calls = 0;

bool isMeant(const char *path) {
  return plan().folder && std::strncmp(path, plan().folder, std::strlen(plan().folder)) == 0;
}

bool isMeant(int descriptor) {
  char name[64], path[4096];
  std::snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
  ssize_t length = plan().folder ? ::readlink(name, path, sizeof(path) - 1) : -1;
  if (length < 0)
    return false;
  path[length] = 0;
  return isMeant(path);
}

// Returns true if the call is to fail. A call that takes no space does not fail.
template <typename Target>
bool strikes(Target target, bool mayBeKilled = true, bool takesSpace = true, bool reads = false) {
  if (reads != plan().countsReads || !isMeant(target))
    return false;
  long number = ++calls;
  if (number < plan().at || number >= plan().at + plan().count || plan().at == 0)
    return false;
  if (plan().once && number == plan().at)
    if (FILE *file = std::fopen(plan().once, "w"))
      std::fclose(file);
  if (plan().slowSeconds > 0) {
    // A signal, such as the one by which a keeper asks for stacks, does not shorten the delay of
    // a disk.
    for (auto left = static_cast<unsigned>(plan().slowSeconds); left > 0;)
      left = ::sleep(left);
    return false;
  }
  if (!plan().kills) {
    errno = plan().error;
    return takesSpace;
  }
  if (mayBeKilled)
    ::kill(::getpid(), SIGKILL);
  return true;
}

template <typename F> F *real(const char *name) {
  return reinterpret_cast<F *>(::dlsym(RTLD_NEXT, name));
}

struct Report {
  ~Report() {
    const char *path = std::getenv("FAULT_REPORT");
    if (!path || !plan().folder || calls == 0)
      return;
    if (FILE *file = std::fopen(path, "w")) {
      std::fprintf(file, "%ld\n", calls.load());
      std::fclose(file);
    }
  }
} report;

} // namespace

extern "C" {

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  bool changes = (flags & O_ACCMODE) != O_RDONLY;
  if (changes && strikes(path))
    return -1;
  return real<int(const char *, int, ...)>("open")(path, flags, mode);
}

ssize_t pread(int descriptor, void *data, size_t bytes, off_t offset) {
  (void)strikes(descriptor, false, false, /*reads=*/true);
  return real<ssize_t(int, void *, size_t, off_t)>("pread")(descriptor, data, bytes, offset);
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  auto *next = real<ssize_t(int, const void *, size_t)>("write");
  if (strikes(descriptor, /*mayBeKilled=*/false)) {
    if (!plan().kills)
      return -1;
    (void)!next(descriptor, data, bytes / 2);
    ::kill(::getpid(), SIGKILL);
  }
  return next(descriptor, data, bytes);
}

int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  return strikes(descriptor)
             ? -1
             : real<int(int, int, off_t, off_t)>("fallocate")(descriptor, mode, offset, bytes);
}

int ftruncate(int descriptor, off_t bytes) noexcept {
  return strikes(descriptor) ? -1 : real<int(int, off_t)>("ftruncate")(descriptor, bytes);
}

int fsync(int descriptor) { return strikes(descriptor) ? -1 : real<int(int)>("fsync")(descriptor); }

int rename(const char *from, const char *to) noexcept {
  return strikes(to) ? -1 : real<int(const char *, const char *)>("rename")(from, to);
}

int linkat(int fromFolder, const char *from, int toFolder, const char *to, int flags) noexcept {
  return strikes(to) ? -1
                     : real<int(int, const char *, int, const char *, int)>("linkat")(
                           fromFolder, from, toFolder, to, flags);
}

int unlink(const char *path) noexcept {
  return strikes(path, true, /*takesSpace=*/false) ? -1 : real<int(const char *)>("unlink")(path);
}

int mkdir(const char *path, mode_t mode) noexcept {
  return strikes(path) ? -1 : real<int(const char *, mode_t)>("mkdir")(path, mode);
}

int rmdir(const char *path) noexcept {
  return strikes(path, true, /*takesSpace=*/false) ? -1 : real<int(const char *)>("rmdir")(path);
}
}
