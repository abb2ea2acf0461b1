#include "test/fuzz/MutateJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace dtc::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// Adds every value of the tree, the root first. Values below the depth that readers accept are left
// out.
void collect(Json &value, std::vector<Json *> &all, int depth = 0) {
  all.push_back(&value);
  if (depth < 64 && value.is_structured())
    for (Json &child : value)
      collect(child, all, depth + 1);
}

Json interestingValue(Random &random) {
  switch (random.below(16)) {
  case 0:
    return nullptr;
  case 1:
    return "";
  case 2:
    return "x\x1b[31m\x7f";
  case 3:
    return Json::array();
  case 4:
    return Json::object();
  case 5:
    return true;
  case 6:
    return -1;
  case 7:
    return 0.5;
  case 8:
    return 1e300;
  case 9:
    return 5e-324;
  case 10:
    return std::string(5000, 'a');
  default: {
    uint64_t size = uint64_t(1) << random.below(64);
    return size + random.below(3) - 1;
  }
  }
}

// Increases or decreases a number slightly, or doubles or halves it. The result often passes a
// check of its range and contradicts another value.
void nudge(Json &value, Random &random) {
  if (value.is_number_integer()) {
    int64_t number = value.get<int64_t>();
    auto wide = static_cast<uint64_t>(number);
    switch (random.below(4)) {
    case 0:
      wide *= 2;
      break;
    case 1:
      wide = static_cast<uint64_t>(number / 2);
      break;
    default:
      wide += random.below(9) - 4;
    }
    value = static_cast<int64_t>(wide);
  } else if (value.is_number()) {
    value = -value.get<double>();
  } else if (value.is_string()) {
    std::string words = value.get<std::string>();
    words.insert(random.below(words.size() + 1), 1, static_cast<char>(32 + random.below(95)));
    value = words;
  } else {
    value = interestingValue(random);
  }
}

void changeEntries(Json &value, Random &random) {
  if (value.empty()) {
    value = interestingValue(random);
    return;
  }
  auto at = value.begin();
  std::advance(at, random.below(value.size()));
  if (value.is_array()) {
    if (random.below(2))
      value.erase(at);
    else
      value.push_back(Json(*at));
    return;
  }
  std::string key = at.key();
  Json held = *at;
  value.erase(key);
  if (random.below(2))
    value[key + "x"] = std::move(held);
}

void change(Json &root, Random &random) {
  std::vector<Json *> all;
  collect(root, all);
  Json &value = *all[random.below(all.size())];
  switch (random.below(5)) {
  case 0:
    value = interestingValue(random);
    break;
  case 1: {
    Json other = *all[random.below(all.size())];
    value = std::move(other);
    break;
  }
  case 2:
    if (value.is_structured()) {
      changeEntries(value, random);
      break;
    }
    [[fallthrough]];
  default:
    nudge(value, random);
  }
}

} // namespace

std::optional<std::string> mutateJson(std::string_view text, Random &random) {
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return std::nullopt;
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
    change(root, random);
  return root.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::string> mutateSafetensors(std::string_view file, Random &random) {
  uint64_t length = 0;
  if (file.size() < sizeof(length))
    return std::nullopt;
  std::memcpy(&length, file.data(), sizeof(length));
  std::string_view rest = file.substr(sizeof(length));
  std::optional<std::string> header = mutateJson(rest.substr(0, length), random);
  if (!header)
    return std::nullopt;
  uint64_t changed = header->size();
  std::string out(reinterpret_cast<const char *>(&changed), sizeof(changed));
  return out + *header + std::string(rest.substr(std::min<uint64_t>(length, rest.size())));
}

} // namespace dtc::fuzz
