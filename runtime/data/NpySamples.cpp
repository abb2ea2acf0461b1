// Rows of a .npy file as samples, converted to the input's element type while they are read.
#include "runtime/data/NpySamples.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/data/NpyHeader.h"
#include "runtime/data/SampleSource.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace dtc::rt {
using format::text;

namespace {

// IEEE half precision in the bits of an integer: 1 sign, 5 exponent (bias 15), 10 fraction bits.
struct Half {
  uint16_t bits;
  explicit operator float() const {
    int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent     ? std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25)
                                : std::ldexp(static_cast<float>(fraction), -24);
    return bits & 0x8000 ? -size : size;
  }
};

bool isFloat(NpyType type) {
  return type == NpyType::F16 || type == NpyType::F32 || type == NpyType::F64;
}

// Calls run(T()) with the C++ type of `type`. A bool is read as its byte.
template <typename Run> auto withType(NpyType type, Run run) {
  switch (type) {
  case NpyType::I8:
    return run(int8_t());
  case NpyType::I16:
    return run(int16_t());
  case NpyType::I32:
    return run(int32_t());
  case NpyType::I64:
    return run(int64_t());
  case NpyType::U16:
    return run(uint16_t());
  case NpyType::U32:
    return run(uint32_t());
  case NpyType::U64:
    return run(uint64_t());
  case NpyType::F16:
    return run(Half());
  case NpyType::F32:
    return run(float());
  case NpyType::F64:
    return run(double());
  case NpyType::Bool:
  case NpyType::U8:
    break;
  }
  return run(uint8_t());
}

class NpySamples final : public SampleSource {
public:
  NpySamples(InputFile file, NpyHeader header, SampleType type)
      : file(std::move(file)), header(std::move(header)), type(std::move(type)),
        perSample(this->type.elements()) {}

  const std::string &name() const override { return file.path(); }
  uint64_t samples() const override { return header.shape[0]; }
  Status read(uint64_t index, uint64_t begin, std::span<std::byte> out) const override;

private:
  bool takes(int64_t value) const {
    constexpr uint64_t all = uint64_t(1) << 31;
    uint64_t limit = type.below ? type.below : all;
    bool negative = !type.below && value >= std::numeric_limits<int32_t>::min() && value < 0;
    return negative || static_cast<uint64_t>(value) < limit || value == type.ignored;
  }

  template <typename T>
  Status readIntegers(const uint8_t *from, uint64_t index, uint64_t begin,
                      std::span<std::byte> out) const;
  template <typename T> static Status readFloats(const uint8_t *from, std::span<std::byte> out);
  template <typename T>
  Status convert(const uint8_t *from, uint64_t index, uint64_t begin,
                 std::span<std::byte> out) const;
  Status refuse(const std::string &value, uint64_t index, uint64_t element) const;

  InputFile file;
  NpyHeader header;
  SampleType type;
  uint64_t perSample;
};

Status NpySamples::refuse(const std::string &value, uint64_t index, uint64_t element) const {
  std::string wanted = type.below ? text("0 to ", type.below - 1)
                                  : text(std::numeric_limits<int32_t>::min(), " to ",
                                         std::numeric_limits<int32_t>::max());
  if (type.ignored)
    wanted += text(", or ", *type.ignored, ", which is ignored");
  else if (value == "-100") // PyTorch's ignore_index
    wanted += "; for targets that do not count, write 'ignoring -100' behind the operands of the "
              "model's graph.cross_entropy ('dtc import' writes the model as text)";
  std::string position = type.shape.empty() ? "" : text(", element ", element);
  return Status::dataLoss(text("reading '", name(), "' for input '", type.input, "': sample ",
                               index, position, " is ", value, "; wanted ", wanted));
}

template <typename T>
Status NpySamples::readIntegers(const uint8_t *from, uint64_t index, uint64_t begin,
                                std::span<std::byte> out) const {
  for (size_t i = 0; i < out.size() / kSampleElementBytes; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    auto wide = static_cast<int64_t>(value);
    bool wraps = std::is_unsigned_v<T> && wide < 0; // past the largest i64
    if (wraps || !takes(wide))
      return refuse(text(+value), index, begin + i);
    auto narrow = static_cast<int32_t>(wide);
    std::memcpy(out.data() + i * kSampleElementBytes, &narrow, sizeof(narrow));
  }
  return {};
}

template <typename T> Status NpySamples::readFloats(const uint8_t *from, std::span<std::byte> out) {
  for (size_t i = 0; i < out.size() / kSampleElementBytes; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    auto narrow = static_cast<float>(value);
    std::memcpy(out.data() + i * kSampleElementBytes, &narrow, sizeof(narrow));
  }
  return {};
}

template <typename T>
Status NpySamples::convert(const uint8_t *from, uint64_t index, uint64_t begin,
                           std::span<std::byte> out) const {
  if (type.element == SampleElement::F32)
    return readFloats<T>(from, out);
  if constexpr (std::is_integral_v<T>)
    return readIntegers<T>(from, index, begin, out);
  else
    return Status::internal("reading floats as integers");
}

Status NpySamples::read(uint64_t index, uint64_t begin, std::span<std::byte> out) const {
  uint64_t count = out.size() / kSampleElementBytes;
  if (index >= samples() || begin > perSample || count > perSample - begin)
    return Status::invalidArgument(text("reading '", name(), "': wanted ", count, " elements from ",
                                        begin, " on of sample ", index, ", there are ", samples(),
                                        " samples of ", perSample));
  return withType(header.type, [&]<typename T>(T) -> Status {
    constexpr uint64_t most = 4096; // elements on the stack at once
    std::array<uint8_t, most * sizeof(T)> bytes;
    for (uint64_t done = 0; done < count; done += most) {
      uint64_t now = std::min(count - done, most), first = begin + done;
      DTC_RETURN_IF_ERROR(file.read(header.dataOffset + (index * perSample + first) * sizeof(T),
                                    std::span(bytes).first(now * sizeof(T))));
      DTC_RETURN_IF_ERROR(
          convert<T>(bytes.data(), index, first,
                     out.subspan(done * kSampleElementBytes, now * kSampleElementBytes)));
    }
    return {};
  });
}

} // namespace

Status openNpy(const std::string &path, const SampleType &type,
               std::unique_ptr<SampleSource> &source) {
  InputFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  NpyHeader header;
  DTC_RETURN_IF_ERROR(readNpyHeader(file, header));
  auto wrong = [&](const std::string &what) {
    return Status::invalidArgument(
        text("opening '", path, "' for input '", type.input, "': ", what));
  };
  std::string found;
  for (uint64_t size : header.shape)
    found += text(found.empty() ? "" : ", ", size);
  std::string wanted = "samples";
  for (uint64_t size : type.shape)
    wanted += text(", ", size);
  if (header.shape.empty() || !std::equal(header.shape.begin() + 1, header.shape.end(),
                                          type.shape.begin(), type.shape.end()))
    return wrong(text("it has shape [", found, "]; wanted [", wanted, "]"));
  if (header.shape[0] == 0)
    return wrong("it has no samples");
  if (type.element == SampleElement::I32 && isFloat(header.type))
    return wrong(text("it holds ", nameOf(header.type),
                      "; wanted integers, as the input is i32: save x.astype('<i4')"));
  source = std::make_unique<NpySamples>(std::move(file), std::move(header), type);
  return {};
}

} // namespace dtc::rt
