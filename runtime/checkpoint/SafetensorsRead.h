// Reads safetensors files: u64 header length, JSON header, tensors.
//
// Files are not trusted: the reader checks lengths, names, types, shapes and offsets (no holes, no
// overlap) before anything is used. Source: huggingface/safetensors, safetensors/src/tensor.rs.
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

// A tensor of a file.
struct SafetensorsEntry {
  std::string name, dtype; // dtype as in the file: "F32", "BF16", ...
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0; // bytes, from the start of the data
};

// A file that is open for reading.
class SafetensorsFile {
public:
  // Opens a file. DataLoss says what is wrong with it, with the tensor's name.
  Status open(const std::string &path);

  // Returns the path of the file.
  const std::string &path() const { return file.path(); }
  const std::vector<SafetensorsEntry> &entries() const { return tensors; } // in order of offset
  const std::map<std::string, std::string> &metadata() const { return meta; }
  const SafetensorsEntry *find(const std::string &name) const; // null if there is none
  uint64_t dataBegin() const { return dataAt; }                // offset of the data in the file

  // Copies bytes [first, first + out.size()) of an entry, which must have them.
  Status readBytes(const SafetensorsEntry &entry, uint64_t first, std::span<uint8_t> out) const;

  // Copies elements [first, first + out.size()) of an F32, BF16 or F16 tensor as float.
  // InvalidArgument names the tensor and its type if it has another one.
  Status readFloats(const SafetensorsEntry &entry, uint64_t first, std::span<float> out) const;

private:
  InputFile file;
  uint64_t dataAt = 0;
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, size_t> byName;
  std::map<std::string, std::string> meta;
};

} // namespace dtc::rt
