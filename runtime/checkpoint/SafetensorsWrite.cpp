// Writes safetensors files, one tensor at a time.
#include "runtime/checkpoint/SafetensorsWrite.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/SafetensorsRead.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Operands.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dtc::rt {
using format::text;
using Json = nlohmann::json;

// Returns the JSON text of `value`; replaces bytes that are not UTF-8.
static std::string dump(const Json &value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

static Status checkWord(const std::string &path, const std::string &word) {
  Json back = Json::parse(dump(Json(word)), nullptr, /*allow_exceptions=*/false);
  if (back.is_string() && back.get_ref<const std::string &>() == word)
    return Status::okStatus();
  return Status::invalidArgument(text("writing '", path, "': the name '", word, "' is not UTF-8"));
}

Status makeSafetensorsHeader(const std::string &path, const std::vector<SafetensorsTensor> &tensors,
                             const std::map<std::string, std::string> &metadata,
                             std::string &bytesBefore, uint64_t &tensorBytes) {
  Json header = Json::object();
  for (const auto &[key, value] : metadata) {
    DTC_RETURN_IF_ERROR(checkWord(path, key));
    DTC_RETURN_IF_ERROR(checkWord(path, value));
    header["__metadata__"][key] = value;
  }
  format::Checked bytes = 0;
  for (const auto &[name, shape, dtype] : tensors) {
    DTC_RETURN_IF_ERROR(checkWord(path, name));
    if (name == "__metadata__" || header.contains(name))
      return Status::invalidArgument(
          text("writing '", path, "': two tensors are named '", name, "'"));
    std::optional<format::DType> type = format::storedType(dtype);
    if (!type)
      return Status::invalidArgument(text("writing '", path, "': tensor '", name, "' has dtype ",
                                          dtype, "; wanted F32, BF16, F16, I32, I64 or U8"));
    format::Checked elements = 1;
    for (uint64_t extent : shape)
      elements = elements * extent;
    format::Checked end = bytes + elements * format::bytesOf(*type);
    if (!end.ok())
      return Status::invalidArgument(
          text("writing '", path, "': tensor '", name, "' has more bytes than 64 bits count"));
    header[name] = {
        {"dtype", dtype}, {"shape", shape}, {"data_offsets", {bytes.value(), end.value()}}};
    bytes = end;
  }
  std::string words = dump(header);
  // Pads with spaces to a cache line, so that the first tensor is aligned when the file is mapped.
  constexpr uint64_t alignment = 64;
  words.append((alignment - (sizeof(uint64_t) + words.size()) % alignment) % alignment, ' ');
  uint64_t length = words.size();
  bytesBefore.assign(reinterpret_cast<const char *>(&length), sizeof(length));
  bytesBefore += words;
  tensorBytes = bytes.value();
  return {};
}

Status SafetensorsWriter::open(const std::string &path,
                               const std::vector<SafetensorsTensor> &tensors,
                               const std::map<std::string, std::string> &metadata) {
  fileName = path;
  std::string header;
  uint64_t bytes = 0;
  DTC_RETURN_IF_ERROR(makeSafetensorsHeader(path, tensors, metadata, header, bytes));
  pending.clear();
  for (size_t i = tensors.size(); i-- > 0;) {
    uint64_t elements = 1;
    for (uint64_t extent : tensors[i].shape)
      elements *= extent;
    if (elements > 0)
      pending.push_back({*format::storedType(tensors[i].dtype), elements});
  }
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.reserve(header.size() + bytes));
  return file.write(header.data(), header.size());
}

uint64_t SafetensorsWriter::left() const {
  uint64_t elements = 0;
  for (const Pending &tensor : pending)
    elements += tensor.elements;
  return elements;
}

Status SafetensorsWriter::write(std::span<const float> values) {
  if (values.size() > left())
    return Status::internal(
        text("writing '", fileName, "': ", values.size(), " elements where ", left(), " are left"));
  while (!values.empty()) {
    auto [dtype, elements] = pending.back();
    auto now = values.first(std::min<uint64_t>(values.size(), elements));
    values = values.subspan(now.size());
    pending.back().elements -= now.size();
    if (pending.back().elements == 0)
      pending.pop_back();
    if (dtype == format::DType::f32) {
      DTC_RETURN_IF_ERROR(file.write(now.data(), now.size_bytes()));
      continue;
    }
    std::vector<std::byte> bytes = encode(dtype, now);
    DTC_RETURN_IF_ERROR(file.write(bytes.data(), bytes.size()));
  }
  return Status::okStatus();
}

Status SafetensorsWriter::writeBytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (pending.empty())
      return Status::internal(
          text("writing '", fileName, "': ", bytes.size(), " bytes where no tensor is left"));
    auto &[dtype, elements] = pending.back();
    uint64_t width = format::bytesOf(dtype);
    auto now = bytes.first(std::min<uint64_t>(bytes.size(), elements * width));
    bytes = bytes.subspan(now.size());
    elements -= now.size() / width;
    if (elements == 0)
      pending.pop_back();
    DTC_RETURN_IF_ERROR(file.write(now.data(), now.size()));
  }
  return {};
}

Status SafetensorsWriter::finish() {
  if (uint64_t elements = left())
    return Status::internal(
        text("writing '", fileName, "': ", elements, " elements were not written"));
  return file.commit();
}

} // namespace dtc::rt
