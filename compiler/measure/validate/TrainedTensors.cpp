// Tensors that a run wrote.
#include "compiler/measure/validate/TrainedTensors.h"

#include "compiler/support/File.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"

#include <nlohmann/json.hpp>

#include <cstring>

namespace dtc {
namespace {

using Json = nlohmann::json;

float decode(llvm::StringRef dtype, const char *at) {
  if (dtype == "F32") {
    float value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  llvm::APInt bits(16, llvm::support::endian::read16le(at));
  return llvm::APFloat(dtype == "BF16" ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(), bits)
      .convertToFloat();
}

bool isPair(const Json &value) {
  return value.is_array() && value.size() == 2 && value[0].is_number_unsigned() &&
         value[1].is_number_unsigned();
}

} // namespace

Result<std::map<std::string, std::vector<float>>> readTrainedTensors(const std::string &path) {
  auto broken = [&](const std::string &what) {
    return UserError("reading '" + path + "': " + what, "run again", {path});
  };
  Result<std::string> text = readFile(path);
  if (!text)
    return text.error();
  if (text->size() < 8)
    return broken("it has no header");
  uint64_t size = llvm::support::endian::read64le(text->data());
  if (size > text->size() - 8)
    return broken("its header ends after the file");
  Json header = Json::parse(text->substr(8, size), nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return broken("its header is no JSON object");
  llvm::StringRef data = llvm::StringRef(*text).drop_front(8 + size);
  std::map<std::string, std::vector<float>> tensors;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    std::string dtype = entry.is_object() ? entry.value("dtype", "") : "";
    size_t width = dtype == "F32" ? 4 : dtype == "BF16" || dtype == "F16" ? 2 : 0;
    Json range = entry.is_object() ? entry.value("data_offsets", Json()) : Json();
    if (width == 0 || !isPair(range))
      return broken("tensor '" + name + "' has no dtype or place that dtc knows");
    uint64_t begin = range[0].get<uint64_t>(), end = range[1].get<uint64_t>();
    if (begin > end || end > data.size() || (end - begin) % width != 0)
      return broken("tensor '" + name + "' is not within the file");
    std::vector<float> &values = tensors[name];
    values.reserve((end - begin) / width);
    for (uint64_t at = begin; at < end; at += width)
      values.push_back(decode(dtype, data.data() + at));
  }
  return tensors;
}

} // namespace dtc
