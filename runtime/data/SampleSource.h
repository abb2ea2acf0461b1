// The samples that one input of a model reads, in any order: windows of tokens, or rows of a .npy
// file.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

enum class SampleElement { F32, I32 }; // 4 bytes each
inline constexpr uint64_t kSampleElementBytes = 4;

// The type of an input's samples.
struct SampleType {
  std::string input; // its name, for messages
  SampleElement element = SampleElement::F32;
  std::vector<uint64_t> shape; // shape of one sample; empty: one value
  // I32: values are from 0 to below `below` (0: any), or `ignored`.
  uint64_t below = 0;
  std::optional<int64_t> ignored;

  // Returns the number of elements of a sample.
  uint64_t elements() const;
};

// Returns a type in words: "f32 [8, 8]"; "i32 []" for one value.
std::string describe(const SampleType &type);

// The samples of one file or token source.
class SampleSource {
public:
  virtual ~SampleSource() = default;
  virtual const std::string &name() const = 0; // the file's name
  // Returns the number of samples.
  virtual uint64_t samples() const = 0;
  // Copies elements of sample `index`, from its element `begin` on, row-major, to fill `out`. Any
  // thread may call it. Errors: InvalidArgument past the end; DataLoss for a value that the input
  // does not accept, with the file and its index.
  virtual Status read(uint64_t index, uint64_t begin, std::span<std::byte> out) const = 0;
};

} // namespace dtc::rt
