// Reads whole files, and writes them by a temporary file and a rename.
#include "compiler/support/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc {
namespace {

class FileDescriptor {
public:
  explicit FileDescriptor(int fd) : fd(fd) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;

  int get() const { return fd; }
  // Returns 0, or -1 with errno set: a full disk may only be reported here.
  int close() {
    int result = fd >= 0 ? ::close(fd) : 0;
    fd = -1;
    return result;
  }

private:
  int fd;
};

UserError systemError(const std::string &doing, const std::string &path, int number) {
  return UserError(doing + " '" + path + "': " + std::strerror(number));
}

bool writeAll(int fd, llvm::StringRef contents) {
  while (!contents.empty()) {
    ssize_t written = ::write(fd, contents.data(), std::min<size_t>(contents.size(), 1 << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    contents = contents.drop_front(written);
  }
  return true;
}

// Blocks the signals by which people and job managers end programs.
class HoldSignals {
public:
  HoldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (int signal : {SIGHUP, SIGINT, SIGTERM})
      sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before);
  }
  ~HoldSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  HoldSignals(const HoldSignals &) = delete;
  HoldSignals &operator=(const HoldSignals &) = delete;

private:
  sigset_t before;
};

// Opens a new file beside `target`, which a signal removes. Returns -1 with errno set if that
// fails.
int openTemporary(const std::string &target, std::string &name) {
  HoldSignals untilRegistered;
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = target + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
    int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
      llvm::sys::RemoveFileOnSignal(name);
    if (fd >= 0 || errno != EEXIST)
      return fd;
  }
  return -1;
}

// Uses O_NONBLOCK for opening only: opening a pipe without a reader would wait forever, but its
// reader may be slow.
Status writeDirectly(const std::string &path, bool isPipe, llvm::StringRef contents) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
  if (isPipe && file.get() < 0 && errno == ENXIO)
    return UserError("writing '" + path + "': nobody reads this pipe",
                     "start its reader first, or name a file");
  if (file.get() < 0 || ::fcntl(file.get(), F_SETFL, O_APPEND) != 0 ||
      !writeAll(file.get(), contents) || file.close() != 0)
    return systemError("writing", path, errno);
  return {};
}

} // namespace

Result<std::string> readFile(const std::string &path, int64_t limitBytes) {
  // O_NONBLOCK, because opening a pipe without a writer would wait forever.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return systemError("reading", path, errno);
  if (!S_ISREG(info.st_mode))
    return UserError("reading '" + path + "': it is " +
                     (S_ISDIR(info.st_mode) ? "a directory" : "no file") +
                     ", wanted a regular file");
  std::string text;
  char buffer[1 << 16];
  while (true) {
    ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("reading", path, errno);
    if (got == 0)
      return text;
    if (static_cast<int64_t>(text.size()) + got > limitBytes)
      return UserError("reading '" + path + "': it is larger than the limit of " +
                       std::to_string(limitBytes) + " bytes");
    text.append(buffer, got);
  }
}

Status checkWritable(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return UserError("writing '" + path + "': it is a directory");
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder))
    return UserError("writing '" + path + "': there is no folder '" + folder.str() + "'");
  return {};
}

Status writeFileAtomically(const std::string &path, llvm::StringRef contents) {
  if (Status checked = checkWritable(path); !checked)
    return checked;
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  // "/dev/stdout" may be a file, but the shell holds it open: a rename over it would lose what the
  // shell writes.
  bool isOpenFile =
      llvm::StringRef(path).starts_with("/dev/") || llvm::StringRef(path).starts_with("/proc/");
  if (exists && (isOpenFile || !S_ISREG(info.st_mode)))
    return writeDirectly(path, S_ISFIFO(info.st_mode), contents);

  // Replaces the link's target, not the link.
  std::string target = path;
  if (char *resolved = ::realpath(path.c_str(), nullptr)) {
    target = resolved;
    std::free(resolved);
  }
  std::string temporary;
  int fd = openTemporary(target, temporary);
  if (fd < 0)
    return systemError("writing", path, errno);
  FileDescriptor file(fd);
  bool done = (!exists || ::fchmod(fd, info.st_mode & 07777) == 0) && writeAll(fd, contents) &&
              ::fsync(fd) == 0 && file.close() == 0 &&
              ::rename(temporary.c_str(), target.c_str()) == 0;
  int number = errno;
  llvm::sys::DontRemoveFileOnSignal(temporary);
  if (!done) {
    ::unlink(temporary.c_str());
    return systemError("writing", path, number);
  }
  return {};
}

} // namespace dtc
