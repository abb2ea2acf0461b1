// Mapped input files and atomic output files.
#include "runtime/base/File.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dtc::rt {
using format::text;

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

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), size);
}
MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}
MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

Status MappedFile::open(const std::string &path) {
  MappedFile fresh;
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError("opening", path);
  struct stat info;
  Status status;
  if (::fstat(descriptor, &info) != 0) {
    status = systemError("reading the size of", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = Status::invalidArgument(text("opening '", path, "': it is ",
                                          S_ISDIR(info.st_mode) ? "a directory" : "no file",
                                          "; wanted a regular file"));
  } else if (info.st_size > 0) {
    void *mapping =
        ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapping == MAP_FAILED) {
      status = systemError("mapping", path);
    } else {
      fresh.data = static_cast<const uint8_t *>(mapping);
      fresh.size = static_cast<size_t>(info.st_size);
    }
  }
  ::close(descriptor);
  if (status.ok())
    *this = std::move(fresh);
  return status;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor < 0)
    return;
  ::close(std::exchange(descriptor, -1));
  ::unlink(temporary.c_str());
}

Status AtomicFile::open(const std::string &wanted) {
  discard();
  path = wanted;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    // Renaming onto a device such as /dev/null would replace it.
    if (!S_ISREG(info.st_mode))
      return Status::invalidArgument(
          text("writing '", path, "': it exists and is not a regular file"));
    // Through a symbolic link, write what it points to.
    if (char *real = ::realpath(path.c_str(), nullptr)) {
      path = real;
      std::free(real);
    }
  }
  temporary = text(path, ".tmp-", static_cast<int64_t>(::getpid()));
  descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0)
    return systemError("creating a file for writing", temporary);
  return Status::okStatus();
}

Status AtomicFile::write(const void *data, size_t bytes) {
  if (descriptor < 0)
    return Status::internal("writing to a file that is not open");
  const char *from = static_cast<const char *>(data);
  // Linux moves at most 2^31 - 4096 bytes a call.
  constexpr size_t most = size_t(1) << 30;
  while (bytes > 0) {
    ssize_t written = ::write(descriptor, from, bytes < most ? bytes : most);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError("writing", temporary);
    from += written;
    bytes -= static_cast<size_t>(written);
  }
  return Status::okStatus();
}

// Makes the new name of `path` survive a crash.
static Status syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError("opening the folder", folder);
  // Some file systems cannot sync a folder (EINVAL): then there is nothing more to do.
  bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
  Status status = failed ? systemError("syncing the folder", folder) : Status::okStatus();
  ::close(descriptor);
  return status;
}

Status AtomicFile::commit() {
  if (descriptor < 0)
    return Status::internal("committing a file that is not open");
  if (::fsync(descriptor) != 0) {
    Status status = systemError("syncing", temporary);
    discard();
    return status;
  }
  if (::close(std::exchange(descriptor, -1)) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = systemError("finishing", path);
    ::unlink(temporary.c_str());
    return status;
  }
  return syncFolderOf(path);
}

} // namespace dtc::rt
