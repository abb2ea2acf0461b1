// Files: read-only mappings, and writes that are complete or not there at all.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dtc::rt {

// A file mapped for reading. Example: MappedFile file; DTC_RETURN_IF_ERROR(file.open("x.bin"));
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;

  // NotFound when there is no such file; InvalidArgument for a directory or an unreadable file. An
  // empty file has empty bytes().
  Status open(const std::string &path);
  std::span<const uint8_t> bytes() const { return {data, size}; }

private:
  const uint8_t *data = nullptr;
  size_t size = 0;
};

// Writes to a temporary file beside `path`; commit() makes it durable and renames it, and without
// commit() the destructor removes it. A commit that fails leaves what was at `path` before.
class AtomicFile {
public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  Status open(const std::string &path);
  Status write(const void *data, size_t bytes);
  Status commit();

private:
  void discard();
  std::string path, temporary;
  int descriptor = -1;
};

} // namespace dtc::rt
