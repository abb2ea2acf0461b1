// Writes safetensors files (SafetensorsRead.h has the format).
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A tensor to be written, of a dtype that format::storedType knows.
struct SafetensorsTensor {
  std::string name;
  std::vector<uint64_t> shape;
  std::string dtype = "F32";
};

// Returns the bytes of a file before its tensors, a multiple of 64, and the bytes of all tensors,
// which follow each other in this order; `path` is for messages.
Status makeSafetensorsHeader(const std::string &path, const std::vector<SafetensorsTensor> &tensors,
                             const std::map<std::string, std::string> &metadata,
                             std::string &bytesBefore, uint64_t &tensorBytes);

// Writes a file, one tensor at a time. The file appears under its name by finish(); open() takes
// its space.
class SafetensorsWriter {
public:
  // Opens a file of `tensors`, which have to be written in this order. They are laid out in this
  // order and the header is sorted by name, so that the same tensors give the same bytes.
  Status open(const std::string &path, const std::vector<SafetensorsTensor> &tensors,
              const std::map<std::string, std::string> &metadata = {});
  // Writes the next elements, rounded to their tensors' dtypes; a tensor may come in pieces.
  Status write(std::span<const float> values);
  // Writes the next elements as they are stored, whole ones.
  Status writeBytes(std::span<const std::byte> bytes);
  // Completes the file. Internal if elements are missing.
  Status finish();
  // Returns the path of the file that finish() makes, as AtomicFile::target.
  const std::string &target() const { return file.target(); }

private:
  AtomicFile file;
  struct Pending {
    format::DType dtype;
    uint64_t elements; // still to come
  };
  uint64_t left() const; // elements
  std::string fileName;
  std::vector<Pending> pending; // tensors, the next one last; none that has no elements
};

} // namespace dtc::rt
