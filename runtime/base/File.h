// Files: reads at any offset, and writes that are complete or not there at all.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// A file that is open for reading at any offset. Nothing is mapped: a file that somebody cuts short
// while it is in use gives an error, where a mapping would end the process.
// Example: InputFile file; DTC_RETURN_IF_ERROR(file.open("x.bin"));
class InputFile {
public:
  InputFile() = default;
  ~InputFile();
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;

  // Opens a file. NotFound if there is no such file; InvalidArgument for a directory, a pipe or an
  // unreadable file.
  Status open(const std::string &path);
  const std::string &path() const { return name; }
  // Returns the bytes that the file had when it was opened.
  uint64_t size() const { return bytes; }

  // Copies bytes [offset, offset + out.size()). Any thread may call it. DataLoss if the file ends
  // before, or was written to since it was opened, so that only bytes that were checked are read.
  Status read(uint64_t offset, std::span<uint8_t> out) const;
  // Copies the whole file.
  Status readAll(std::vector<uint8_t> &out) const;

private:
  std::string name;
  uint64_t bytes = 0;
  int64_t changedSeconds = 0, changedNanos = 0; // time of the last write
  int descriptor = -1;
};

// A file that appears under its name when it is complete: commit() makes it durable and puts it at
// `path`. Without commit() there is nothing, and an earlier file at `path` stays. Until then the
// file has no name at all, so that nothing is left however the process ends. On file systems
// without such files, as NFS, its name is PATH.tmp-PROCESS-NUMBER; the destructor removes it, and
// so does a signal by which people and job managers end programs.
class AtomicFile {
public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  // Opens a file to be written. InvalidArgument if `path` exists and is no regular file, or if its
  // folder cannot be written. `named`: give the file a name from the start, as on file systems
  // without nameless files.
  Status open(const std::string &path, bool named = false);
  // Returns true between open() and commit().
  bool isOpen() const { return descriptor >= 0; }
  // Returns the path of the file that commit() makes, without symbolic links and "..".
  const std::string &target() const { return path; }

  // Takes the space of a file of `bytes`, so that it is there when it is written, hours later
  // perhaps. ResourceExhausted if there is less.
  Status reserve(uint64_t bytes);
  // Appends bytes.
  Status write(const void *data, size_t bytes);
  // Makes the file durable and puts it at its path.
  Status commit();

private:
  void discard();
  Status openNamed();
  Status finish();

  std::string path, temporary; // `temporary` is empty while the file has no name
  uint64_t written = 0;
  int descriptor = -1;
  int removal = -1; // number of the removal of `temporary` by a signal
};

// Writes a durable file with this content.
Status writeFile(const std::string &path, std::string_view words);

// Reads a whole file of at most `most` bytes; DataLoss if it has more.
Status readWhole(const std::string &path, uint64_t most, std::string &words);

} // namespace dtc::rt
