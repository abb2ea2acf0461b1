// Writes and reads OpSplits.
#include "compiler/plan/OpSplitsJson.h"

#include "compiler/plan/PlacementText.h"
#include "passes/shard/OpSplit.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

std::string operandToText(int64_t told) {
  return told == split::kKeep ? "keep" : told == split::kNone ? "whole" : shardText(told);
}

std::optional<int64_t> operandFromText(llvm::StringRef text) {
  if (text == "keep")
    return split::kKeep;
  if (text == "whole")
    return split::kNone;
  return shardDimOf(text);
}

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

std::string readOperand(const Json &entry, std::vector<int64_t> &operands) {
  std::optional<int64_t> told =
      entry.is_string() ? operandFromText(entry.get_ref<const std::string &>()) : std::nullopt;
  if (!told)
    return "has " + entry.dump() + ", wanted \"keep\", \"whole\" or \"shard(DIM)\"";
  operands.push_back(*told);
  return "";
}

template <typename Entry, typename Read>
std::string readLists(const Json &json, const char *key,
                      std::map<std::string, std::vector<Entry>> &lists, Read read) {
  auto it = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || it == json.end() || !it->is_object())
    return std::string("has no object '") + key + "'";
  for (const auto &[function, entries] : it->items()) {
    if (!entries.is_array())
      return "has '" + function + "' that is not a list";
    for (const Json &entry : entries)
      if (std::string error = read(entry, lists[function]); !error.empty())
        return error;
  }
  return "";
}

} // namespace

Json splitsToJson(const OpSplits &splits) {
  Json json{{"functions", Json::object()}, {"calls", Json::object()}};
  for (const auto &[function, ops] : splits.functions)
    for (const OpSplits::Op &op : ops)
      json["functions"][function].push_back(op.name + " " + splitToText(op.choice));
  for (const auto &[callee, operands] : splits.calls)
    for (int64_t told : operands)
      json["calls"][callee].push_back(operandToText(told));
  return json;
}

std::string splitsFromJson(const Json &json, OpSplits &splits) {
  std::string error = readLists(json, "functions", splits.functions, readOp);
  return error.empty() ? readLists(json, "calls", splits.calls, readOperand) : error;
}

} // namespace dtc
