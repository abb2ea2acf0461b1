#include "runtime/checkpoint/FolderFiles.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

Status folderError(const char *doing, const std::string &path) {
  int error = errno;
  std::string message = text(doing, " '", path, "': ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? Status::resourceExhausted(std::move(message))
                                            : Status::invalidArgument(std::move(message));
}

Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return folderError("opening the folder", path);
  // Some file systems cannot sync a folder (EINVAL): then there is nothing more to do.
  bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
  Status status = failed ? folderError("syncing the folder", path) : Status();
  ::close(descriptor);
  return status;
}

Status namesIn(const std::string &path, std::vector<std::string> &names) {
  DIR *folder = ::opendir(path.c_str());
  if (!folder)
    return errno == ENOENT ? Status() : folderError("reading the folder", path);
  while (const dirent *entry = ::readdir(folder))
    if (std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  ::closedir(folder);
  return {};
}

void removeFolder(const std::string &path) {
  std::vector<std::string> names;
  (void)namesIn(path, names).ok();
  for (const std::string &name : names)
    ::unlink(text(path, "/", name).c_str());
  ::rmdir(path.c_str());
}

} // namespace dtc::rt
