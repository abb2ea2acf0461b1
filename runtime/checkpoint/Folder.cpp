#include "runtime/checkpoint/Folder.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/FolderFiles.h"
#include "runtime/checkpoint/Manifest.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

constexpr std::string_view kStep = "step-", kWriting = ".writing-", kRemoving = ".removing-",
                           kProbe = ".probe";

// Returns the number after `prefix`; false for any other name, such as "step-07".
bool numberAfter(std::string_view prefix, const std::string &name, uint64_t &number) {
  if (name.compare(0, prefix.size(), prefix) != 0)
    return false;
  errno = 0;
  number = std::strtoull(name.c_str() + prefix.size(), nullptr, 10);
  return errno == 0 && name == text(prefix, number);
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

static Status noParent(const std::string &path) {
  return Status::notFound(text("making the folder of checkpoints '", path,
                               "': the folder that it is to be in is not there; make that first"));
}
static Status takenByAnother(const std::string &path) {
  return Status::invalidArgument(
      text("another run writes its checkpoints to '", path, "'; name another folder"));
}

CheckpointFolder::~CheckpointFolder() {
  if (isMade)
    ::rmdir(path.c_str()); // keeps the folder if anything is in it
  if (lock >= 0)
    ::close(lock);
}

Status CheckpointFolder::openForWriting(const std::string &wanted) {
  path = wanted;
  isMade = ::mkdir(path.c_str(), 0777) == 0;
  if (!isMade && errno == ENOENT)
    return noParent(path);
  if (!isMade && errno != EEXIST)
    return folderError("making the folder of checkpoints", path);
  lock = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0)
    return folderError("opening the folder of checkpoints", path);
  // File systems without locks are used without one.
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return takenByAnother(path);
  std::vector<std::string> names;
  DTC_RETURN_IF_ERROR(namesIn(path, names));
  uint64_t step = 0;
  for (const std::string &name : names)
    if (numberAfter(kWriting, name, step) || numberAfter(kRemoving, name, step))
      removeFolder(text(path, "/", name));
    else if (name.compare(0, kProbe.size(), kProbe) == 0)
      ::unlink(text(path, "/", name).c_str());
  // Checks now, not after hours, that the folder can be written to.
  AtomicFile probe;
  return probe.open(text(path, "/", kProbe));
}

Status CheckpointFolder::checkWritable(const std::string &path) {
  int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno == ENOENT) {
    size_t slash = path.find_last_not_of('/');
    slash = slash == std::string::npos ? slash : path.rfind('/', slash);
    std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::access(parent.c_str(), F_OK) != 0)
      return noParent(path);
    errno = 0;
    return ::access(parent.c_str(), W_OK | X_OK) == 0
               ? Status()
               : folderError("making the folder of checkpoints", path);
  }
  if (folder < 0)
    return folderError("opening the folder of checkpoints", path);
  bool isTaken = ::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(folder);
  if (isTaken)
    return takenByAnother(path);
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
  removeFolder(folder); // left by an attempt that failed
  return ::mkdir(folder.c_str(), 0777) == 0 ? Status() : folderError("making the folder", folder);
}

Status CheckpointFolder::commit(uint64_t step, const std::string &manifest) {
  std::string from = writingPath(path, step), to = stepPath(path, step);
  DTC_RETURN_IF_ERROR(writeFile(text(from, "/", kManifestFile), manifest));
  DTC_RETURN_IF_ERROR(writeFile(text(from, "/", kMarkerFile), markerOf(manifest)));
  DTC_RETURN_IF_ERROR(syncFolder(from));
  if (::rename(from.c_str(), to.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST)
      return folderError("naming the checkpoint", to);
    // A run that went back before this step has reached it again.
    std::string old = text(path, "/", kRemoving, step);
    removeFolder(old);
    if (::rename(to.c_str(), old.c_str()) != 0 || ::rename(from.c_str(), to.c_str()) != 0)
      return folderError("naming the checkpoint", to);
    removeFolder(old);
  }
  return syncFolder(path);
}

void CheckpointFolder::discard(uint64_t step) { removeFolder(writingPath(path, step)); }

Status CheckpointFolder::prune(uint64_t newest, uint64_t keep, uint64_t every) {
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
    if (hasMarker && every > 0 && step % every == 0)
      continue;
    DTC_RETURN_IF_ERROR(remove(step));
  }
  return {};
}

Status CheckpointFolder::removeAfter(uint64_t step) {
  std::vector<uint64_t> all;
  DTC_RETURN_IF_ERROR(steps(path, all));
  for (uint64_t each : all)
    if (each > step)
      DTC_RETURN_IF_ERROR(remove(each));
  return {};
}

// Renames a checkpoint before it removes it, so that no half of one is taken for a checkpoint.
Status CheckpointFolder::remove(uint64_t step) {
  std::string folder = stepPath(path, step), old = text(path, "/", kRemoving, step);
  removeFolder(old);
  if (::rename(folder.c_str(), old.c_str()) != 0)
    return folderError("removing the checkpoint", folder);
  removeFolder(old);
  return {};
}

} // namespace dtc::rt
