// Writes and reads OpSplits.
#include "compiler/plan/OpSplitsJson.h"

#include "passes/shard/OpSplit.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

std::string readOp(const Json &entry, std::vector<OpSplits::Op> &ops) {
  auto [name, choice] = entry.is_string()
                            ? llvm::StringRef(entry.get_ref<const std::string &>()).split(' ')
                            : std::pair<llvm::StringRef, llvm::StringRef>();
  std::optional<int> read = splitFromText(choice);
  if (name.empty() || !read)
    return "has " + entry.dump() +
           ", wanted an op and the loop to split, \"none\" or \"partial\", "
           "e.g. \"linear 2\"";
  ops.push_back({name.str(), *read});
  return "";
}

} // namespace

Json splitsToJson(const OpSplits &splits) {
  Json json{{"functions", Json::object()}};
  for (const auto &[function, ops] : splits.functions)
    for (const OpSplits::Op &op : ops)
      json["functions"][function].push_back(op.name + " " + splitToText(op.choice));
  return json;
}

std::string splitsFromJson(const Json &json, OpSplits &splits) {
  auto it = json.is_object() ? json.find("functions") : json.end();
  if (!json.is_object() || it == json.end() || !it->is_object())
    return "has no object 'functions'";
  for (const auto &[function, entries] : it->items()) {
    if (!entries.is_array())
      return "has '" + function + "' that is not a list";
    for (const Json &entry : entries)
      if (std::string error = readOp(entry, splits.functions[function]); !error.empty())
        return error;
  }
  return "";
}

} // namespace dtc
