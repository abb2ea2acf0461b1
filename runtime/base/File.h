// Files: reads at any place, and writes that are complete or not there at all.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A file that is open for reading at any place. Nothing is mapped: a file that somebody cuts short
// while it is in use gives an error, where a mapping would end the process.
// Example: InputFile file; DTC_RETURN_IF_ERROR(file.open("x.bin"));
class InputFile {
public:
  InputFile() = default;
  ~InputFile();
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;

  // NotFound when there is no such file; InvalidArgument for a directory, a pipe or an unreadable
  // file.
  Status open(const std::string &path);
  const std::string &path() const { return name; }
  // Bytes when it was opened.
  uint64_t size() const { return bytes; }

  // Copies bytes [offset, offset + out.size()). Any thread may call it. DataLoss where the file
  // ends before, or was written to since it was opened: what has been checked is what is read.
  Status read(uint64_t offset, std::span<uint8_t> out) const;
  // Copies all of it.
  Status readAll(std::vector<uint8_t> &out) const;

private:
  std::string name;
  uint64_t bytes = 0;
  int64_t changedSeconds = 0, changedNanos = 0; // when it was written to last
  int descriptor = -1;
};

// A file that appears under its name when it is complete: commit() makes it durable and puts it at
// `path`. Without commit() there is nothing, and what was at `path` before stays.
// Until then the file has no name at all, so that nothing is left however the process ends; where a
// file system makes no such files, as NFS, it is PATH.tmp-PROCESS-NUMBER, which the destructor
// removes, and a signal by which people and job managers end programs.
class AtomicFile {
public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  // InvalidArgument where `path` is there and no regular file, or its folder cannot be written.
  // `named`: make the file as where there are no files without a name.
  Status open(const std::string &path, bool named = false);
  bool isOpen() const { return descriptor >= 0; }
  // The file that commit() makes, without symbolic links and "..".
  const std::string &target() const { return path; }

  // Takes the space of a file of `bytes`, so that it is there when it is written, hours later
  // perhaps. ResourceExhausted where there is less.
  Status reserve(uint64_t bytes);
  Status write(const void *data, size_t bytes);
  Status commit();

private:
  void discard();
  Status openNamed();
  Status finish();

  std::string path, temporary; // `temporary` is empty while the file has no name
  uint64_t written = 0;
  int descriptor = -1;
  int removal = -1; // of `temporary`, by a signal
};

} // namespace dtc::rt
