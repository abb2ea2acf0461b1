// Writes safetensors files, one tensor at a time.
#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Safetensors.h"

#include <nlohmann/json.hpp>

namespace dtc::rt {
using format::text;
using Json = nlohmann::json;

// JSON text of `value`; what is not UTF-8 in it is replaced.
static std::string dump(const Json &value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

static Status checkWord(const std::string &path, const std::string &word) {
  Json back = Json::parse(dump(Json(word)), nullptr, /*allow_exceptions=*/false);
  if (back.is_string() && back.get_ref<const std::string &>() == word)
    return Status::okStatus();
  return Status::invalidArgument(text("writing '", path, "': the name '", word, "' is not UTF-8"));
}

Status SafetensorsWriter::open(const std::string &path,
                               std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors,
                               const std::map<std::string, std::string> &metadata) {
  fileName = path;
  Json header = Json::object();
  for (const auto &[key, value] : metadata) {
    DTC_RETURN_IF_ERROR(checkWord(path, key));
    DTC_RETURN_IF_ERROR(checkWord(path, value));
    header["__metadata__"][key] = value;
  }
  format::Checked bytes = 0;
  for (const auto &[name, shape] : tensors) {
    DTC_RETURN_IF_ERROR(checkWord(path, name));
    if (name == "__metadata__" || header.contains(name))
      return Status::invalidArgument(
          text("writing '", path, "': two tensors are named '", name, "'"));
    format::Checked size = 4;
    for (uint64_t extent : shape)
      size = size * extent;
    format::Checked end = bytes + size;
    if (!end.ok())
      return Status::invalidArgument(
          text("writing '", path, "': tensor '", name, "' has more bytes than 64 bits count"));
    header[name] = {
        {"dtype", "F32"}, {"shape", shape}, {"data_offsets", {bytes.value(), end.value()}}};
    bytes = end;
  }
  pending = bytes.value() / 4;
  std::string words = dump(header);
  // Spaces up to a cache line, so that the first tensor is aligned when the file is mapped.
  constexpr uint64_t alignment = 64;
  words.append((alignment - (sizeof(uint64_t) + words.size()) % alignment) % alignment, ' ');
  uint64_t length = words.size();
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.reserve(sizeof(length) + words.size() + bytes.value()));
  DTC_RETURN_IF_ERROR(file.write(&length, sizeof(length)));
  return file.write(words.data(), words.size());
}

Status SafetensorsWriter::write(std::span<const float> values) {
  if (values.size() > pending)
    return Status::internal(text("writing '", fileName, "': ", values.size(), " elements where ",
                                 pending, " are left"));
  pending -= values.size();
  return file.write(values.data(), values.size_bytes());
}

Status SafetensorsWriter::finish() {
  if (pending != 0)
    return Status::internal(
        text("writing '", fileName, "': ", pending, " elements were not written"));
  return file.commit();
}

} // namespace dtc::rt
