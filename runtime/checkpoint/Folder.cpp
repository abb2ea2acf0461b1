#include "runtime/checkpoint/Folder.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Manifest.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

constexpr std::string_view kStep = "step-", kWriting = ".writing-", kRemoving = ".removing-",
                           kProbe = ".probe";

Status systemError(const char *doing, const std::string &path) {
  int error = errno;
  std::string message = text(doing, " '", path, "': ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? Status::resourceExhausted(std::move(message))
                                            : Status::invalidArgument(std::move(message));
}

Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError("opening the folder", path);
  // Some file systems cannot sync a folder (EINVAL): then there is nothing more to do.
  bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
  Status status = failed ? systemError("syncing the folder", path) : Status();
  ::close(descriptor);
  return status;
}

Status namesIn(const std::string &path, std::vector<std::string> &names) {
  DIR *folder = ::opendir(path.c_str());
  if (!folder)
    return errno == ENOENT ? Status() : systemError("reading the folder", path);
  while (const dirent *entry = ::readdir(folder))
    if (std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  ::closedir(folder);
  return {};
}

// A checkpoint's folder has files alone.
void removeFolder(const std::string &path) {
  std::vector<std::string> names;
  (void)namesIn(path, names).ok();
  for (const std::string &name : names)
    ::unlink(text(path, "/", name).c_str());
  ::rmdir(path.c_str());
}

// The number after `prefix`; false for any other name: "step-07" is none.
bool numberAfter(std::string_view prefix, const std::string &name, uint64_t &number) {
  if (name.compare(0, prefix.size(), prefix) != 0)
    return false;
  errno = 0;
  number = std::strtoull(name.c_str() + prefix.size(), nullptr, 10);
  return errno == 0 && name == text(prefix, number);
}

Status writeFile(const std::string &path, std::string_view words) {
  AtomicFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.write(words.data(), words.size()));
  return file.commit();
}

} // namespace

std::string markerOf(std::string_view manifest) {
  return text("dtc.checkpoint/1 ", hashOf(std::as_bytes(std::span(manifest))), "\n");
}

std::string CheckpointFolder::stepPath(const std::string &path, uint64_t step) {
  return text(path, "/", kStep, step);
}
std::string CheckpointFolder::writingPath(const std::string &path, uint64_t step) {
  return text(path, "/", kWriting, step);
}

CheckpointFolder::~CheckpointFolder() {
  if (lock >= 0)
    ::close(lock);
}

Status CheckpointFolder::openForWriting(const std::string &wanted) {
  path = wanted;
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return systemError("making the folder of checkpoints", path);
  lock = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0)
    return systemError("opening the folder of checkpoints", path);
  // Where a file system knows no locks, there is none.
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Status::invalidArgument(
        text("another run writes its checkpoints to '", path, "'; name another folder"));
  std::vector<std::string> names;
  DTC_RETURN_IF_ERROR(namesIn(path, names));
  uint64_t step = 0;
  for (const std::string &name : names)
    if (numberAfter(kWriting, name, step) || numberAfter(kRemoving, name, step))
      removeFolder(text(path, "/", name));
    else if (name.compare(0, kProbe.size(), kProbe) == 0)
      ::unlink(text(path, "/", name).c_str());
  // That it can be written to is found out now, not after hours.
  AtomicFile probe;
  return probe.open(text(path, "/", kProbe));
}

Status CheckpointFolder::steps(const std::string &path, std::vector<uint64_t> &steps) {
  std::vector<std::string> names;
  DTC_RETURN_IF_ERROR(namesIn(path, names));
  steps.clear();
  uint64_t step = 0;
  for (const std::string &name : names)
    if (numberAfter(kStep, name, step))
      steps.push_back(step);
  std::sort(steps.rbegin(), steps.rend());
  return {};
}

Status CheckpointFolder::begin(uint64_t step) {
  std::string folder = writingPath(path, step);
  removeFolder(folder); // of an attempt that failed
  return ::mkdir(folder.c_str(), 0777) == 0 ? Status() : systemError("making the folder", folder);
}

Status CheckpointFolder::commit(uint64_t step, const std::string &manifest) {
  std::string from = writingPath(path, step), to = stepPath(path, step);
  DTC_RETURN_IF_ERROR(writeFile(text(from, "/", kManifestFile), manifest));
  DTC_RETURN_IF_ERROR(writeFile(text(from, "/", kMarkerFile), markerOf(manifest)));
  DTC_RETURN_IF_ERROR(syncFolder(from));
  if (::rename(from.c_str(), to.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST)
      return systemError("naming the checkpoint", to);
    // A run went back before this step and has come here again.
    std::string old = text(path, "/", kRemoving, step);
    removeFolder(old);
    if (::rename(to.c_str(), old.c_str()) != 0 || ::rename(from.c_str(), to.c_str()) != 0)
      return systemError("naming the checkpoint", to);
    removeFolder(old);
  }
  return syncFolder(path);
}

void CheckpointFolder::discard(uint64_t step) { removeFolder(writingPath(path, step)); }

Status CheckpointFolder::prune(uint64_t newest, uint64_t keep) {
  std::vector<uint64_t> all;
  DTC_RETURN_IF_ERROR(steps(path, all));
  uint64_t kept = 1;
  for (uint64_t step : all) {
    if (step >= newest)
      continue;
    std::string folder = stepPath(path, step);
    bool hasMarker = ::access(text(folder, "/", kMarkerFile).c_str(), F_OK) == 0;
    if (hasMarker && kept < keep) {
      ++kept;
      continue;
    }
    std::string old = text(path, "/", kRemoving, step);
    removeFolder(old);
    if (::rename(folder.c_str(), old.c_str()) != 0)
      return systemError("removing the checkpoint", folder);
    removeFolder(old);
  }
  return {};
}

} // namespace dtc::rt
