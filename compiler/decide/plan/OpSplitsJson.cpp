// Writes and reads OpSplits.
#include "compiler/decide/plan/OpSplitsJson.h"

#include "passes/shard/OpSplit.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

std::string readOp(const Json &entry, std::vector<OpSplits::Op> &ops) {
  auto [name, choice] = entry.is_string()
                            ? llvm::StringRef(entry.get_ref<const std::string &>()).split(' ')
                            : std::pair<llvm::StringRef, llvm::StringRef>();
  OpSplits::Op op{name.str(), {}};
  llvm::SmallVector<llvm::StringRef, 2> texts;
  choice.split(texts, '/');
  for (llvm::StringRef text : texts) {
    std::optional<int> read = splitFromText(text);
    if (name.empty() || !read)
      return "has " + entry.dump() +
             ", wanted an op and the loop to split, \"none\" or \"partial\", "
             "e.g. \"linear 2\", or two where kv heads split tensor parallelism in two, e.g. "
             "\"attention 1/2\"";
    op.choices.push_back(*read);
  }
  ops.push_back(std::move(op));
  return "";
}

std::string textOf(const OpSplits::Op &op) {
  std::string text;
  for (int choice : op.choices)
    text += (text.empty() ? " " : "/") + splitToText(choice);
  return op.name + text;
}

} // namespace

Json splitsToJson(const OpSplits &splits) {
  Json json{{"functions", Json::object()}};
  for (const auto &[function, ops] : splits.functions)
    for (const OpSplits::Op &op : ops)
      json["functions"][function].push_back(textOf(op));
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
