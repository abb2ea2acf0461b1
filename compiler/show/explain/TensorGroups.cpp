// Parameters of identical layers under one name.
#include "compiler/show/explain/TensorGroups.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace dtc {

std::string layerPattern(const std::string &name) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(name).split(parts, '.');
  for (llvm::StringRef &part : parts) {
    bool isFamily = part.starts_with("{") && part.ends_with("}");
    if (isFamily || (!part.empty() && llvm::all_of(part, llvm::isDigit))) {
      part = "*";
      break;
    }
  }
  return llvm::join(parts, ".");
}

std::vector<TensorGroup> groupTensors(const Plan &plan) {
  std::vector<TensorGroup> groups;
  std::map<std::pair<std::string, std::map<std::string, std::string>>, size_t> known;
  std::vector<std::string> only; // the name of a group's first tensor
  for (const auto &[name, placements] : plan.tensors) {
    std::string pattern = layerPattern(name);
    auto [it, isNew] = known.try_emplace({pattern, placements}, groups.size());
    if (isNew) {
      groups.push_back({pattern, 0, placements});
      only.push_back(name);
    }
    ++groups[it->second].count;
  }
  for (size_t group = 0; group < groups.size(); ++group)
    if (groups[group].count == 1)
      groups[group].pattern = only[group];
  return groups;
}

} // namespace dtc
