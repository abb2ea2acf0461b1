// Input files, and output files that are complete or absent.
#include "runtime/base/File.h"

#include "runtime/base/RemoveOnSignal.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dtc::rt {
using format::text;

// Linux moves at most 2^31 - 4096 bytes a call.
constexpr size_t kMostPerCall = size_t(1) << 30;
// The system counts the bytes of a read when the call returns: smaller pieces of a slow file show
// progress.
constexpr size_t kMostPerRead = size_t(16) << 20;

// A Status for errno after `doing` something to `path`.
static Status systemError(const char *doing, const std::string &path) {
  int error = errno;
  std::string message = text(doing, " '", path, "': ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR)
    return Status::notFound(std::move(message));
  if (error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EFBIG)
    return Status::resourceExhausted(std::move(message));
  return Status::invalidArgument(std::move(message));
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}
InputFile::InputFile(InputFile &&other) noexcept { *this = std::move(other); }
InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(bytes, other.bytes);
  std::swap(changedSeconds, other.changedSeconds);
  std::swap(changedNanos, other.changedNanos);
  std::swap(descriptor, other.descriptor);
  return *this;
}

Status InputFile::open(const std::string &path) {
  InputFile fresh;
  fresh.name = path;
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  fresh.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fresh.descriptor < 0)
    return systemError("opening", path);
  struct stat info;
  if (::fstat(fresh.descriptor, &info) != 0)
    return systemError("reading the size of", path);
  if (!S_ISREG(info.st_mode))
    return Status::invalidArgument(text("opening '", path, "': it is ",
                                        S_ISDIR(info.st_mode) ? "a directory" : "no file",
                                        "; wanted a regular file"));
  fresh.bytes = static_cast<uint64_t>(info.st_size);
  fresh.changedSeconds = info.st_mtim.tv_sec;
  fresh.changedNanos = info.st_mtim.tv_nsec;
  *this = std::move(fresh);
  return {};
}

Status InputFile::read(uint64_t offset, std::span<uint8_t> out) const {
  for (size_t done = 0; done < out.size();) {
    ssize_t got = ::pread(descriptor, out.data() + done, std::min(out.size() - done, kMostPerRead),
                          static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("reading", name);
    if (got == 0)
      return Status::dataLoss(text("reading '", name, "': bytes ", offset + done, " to ",
                                   offset + out.size() - 1, " are not there; it had ", bytes,
                                   " when it was opened"));
    done += static_cast<size_t>(got);
  }
  struct stat now;
  if (::fstat(descriptor, &now) != 0)
    return systemError("looking at", name);
  if (static_cast<uint64_t>(now.st_size) != bytes)
    return Status::dataLoss(text("reading '", name, "': it has ", now.st_size, " bytes, and had ",
                                 bytes, " when it was opened"));
  if (now.st_mtim.tv_sec != changedSeconds || now.st_mtim.tv_nsec != changedNanos)
    return Status::dataLoss(
        text("reading '", name,
             "': it was written to after it was opened; run on a file that stays "
             "as it is"));
  return {};
}

Status InputFile::readAll(std::vector<uint8_t> &out) const {
  out.resize(bytes);
  return read(0, out);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor >= 0)
    ::close(std::exchange(descriptor, -1));
  if (!temporary.empty())
    ::unlink(std::exchange(temporary, {}).c_str());
  dropRemoval(std::exchange(removal, -1));
}

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Returns `path` without symbolic links and "..", as far as it exists.
static std::string resolved(const std::string &path) {
  auto real = [](const std::string &of) {
    char *found = ::realpath(of.c_str(), nullptr);
    std::string result = found ? found : "";
    std::free(found);
    return result;
  };
  if (std::string whole = real(path); !whole.empty())
    return whole;
  std::string folder = real(folderOf(path));
  return folder.empty() ? path
                        : text(folder == "/" ? "" : folder, "/", path.substr(path.rfind('/') + 1));
}

static std::string temporaryName(const std::string &path, int number) {
  return text(path, ".tmp-", static_cast<int64_t>(::getpid()), "-", number);
}
constexpr int kMostNames = 100; // the most names to try that others may have taken

namespace {
// Holds back the signals by which people and job managers end programs.
class HoldSignals {
public:
  HoldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (int signal : {SIGHUP, SIGINT, SIGTERM})
      sigaddset(&held, signal);
    ::pthread_sigmask(SIG_BLOCK, &held, &before);
  }
  ~HoldSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  HoldSignals(const HoldSignals &) = delete;
  HoldSignals &operator=(const HoldSignals &) = delete;

private:
  sigset_t before;
};
} // namespace

static int openUnnamed(const std::string &path) {
  return ::open(folderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

// Links a file without a name to a name beside `path`; returns false with errno set. Only a file
// with a name can replace another.
static bool giveName(int descriptor, const std::string &path, std::string &name) {
  std::string self = text("/proc/self/fd/", descriptor);
  errno = EEXIST;
  for (int i = 0; i < kMostNames && errno == EEXIST; ++i) {
    name = temporaryName(path, i);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return true;
  }
  name.clear();
  return false;
}

// Returns true if giveName will work when the file is complete: it needs /proc and a file system
// that links such files. Tried with another file, as a file that had a name gets no second one.
static bool canGiveNames(const std::string &path) {
  HoldSignals whileNamed;
  int probe = openUnnamed(path);
  std::string name;
  bool can = probe >= 0 && giveName(probe, path, name);
  if (can)
    ::unlink(name.c_str());
  if (probe >= 0)
    ::close(probe);
  return can;
}

Status AtomicFile::open(const std::string &wanted, bool named) {
  discard();
  written = 0;
  struct stat info;
  // Renaming onto a device such as /dev/null would replace it.
  if (::stat(wanted.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return Status::invalidArgument(
        text("writing '", wanted, "': it exists and is not a regular file"));
  path = resolved(wanted); // writes through a symbolic link
  if (!named && canGiveNames(path))
    descriptor = openUnnamed(path);
  return descriptor >= 0 ? Status() : openNamed();
}

Status AtomicFile::openNamed() {
  HoldSignals untilKnown; // until the file's removal is registered
  errno = EEXIST;
  for (int i = 0; i < kMostNames && errno == EEXIST; ++i) {
    std::string name = temporaryName(path, i);
    descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      removal = removeOnSignal(name);
      temporary = std::move(name);
      return {};
    }
  }
  return systemError("creating a file for writing", path);
}

Status AtomicFile::reserve(uint64_t bytes) {
  int result = 0;
  do
    result = ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
  while (bytes > 0 && result != 0 && errno == EINTR);
  // Some file systems cannot: then the space is found out when it is written.
  if (bytes == 0 || result == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
    return {};
  return systemError(text("reserving ", bytes, " bytes for").c_str(), path);
}

Status AtomicFile::write(const void *data, size_t bytes) {
  if (descriptor < 0)
    return Status::internal("writing to a file that is not open");
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t now = ::write(descriptor, from, std::min(bytes, kMostPerCall));
    if (now < 0 && errno == EINTR)
      continue;
    if (now < 0)
      return systemError("writing", path);
    from += now;
    bytes -= static_cast<size_t>(now);
    written += static_cast<uint64_t>(now);
  }
  return Status::okStatus();
}

// Makes the new name of `path` survive a crash.
static Status syncFolderOf(const std::string &path) {
  std::string folder = folderOf(path);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError("opening the folder", folder);
  // Some file systems cannot sync a folder (EINVAL): then there is nothing more to do.
  bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
  Status status = failed ? systemError("syncing the folder", folder) : Status::okStatus();
  ::close(descriptor);
  return status;
}

Status AtomicFile::finish() {
  // Gives back the space reserved beyond the end.
  if (::ftruncate(descriptor, static_cast<off_t>(written)) != 0 || ::fsync(descriptor) != 0)
    return systemError("syncing", path);
  HoldSignals whileNamed;
  if (temporary.empty() && !giveName(descriptor, path, temporary))
    return systemError("naming", path);
  if (::close(std::exchange(descriptor, -1)) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
    return systemError("finishing", path);
  temporary.clear();
  return syncFolderOf(path);
}

Status AtomicFile::commit() {
  if (descriptor < 0)
    return Status::internal("committing a file that is not open");
  Status status = finish();
  discard();
  return status;
}

Status writeFile(const std::string &path, std::string_view words) {
  AtomicFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.write(words.data(), words.size()));
  return file.commit();
}

Status readWhole(const std::string &path, uint64_t most, std::string &words) {
  InputFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  if (file.size() > most)
    return Status::dataLoss(
        text("reading '", path, "': it has ", file.size(), " bytes, wanted at most ", most));
  words.resize(file.size());
  return file.read(0, {reinterpret_cast<uint8_t *>(words.data()), words.size()});
}

} // namespace dtc::rt
