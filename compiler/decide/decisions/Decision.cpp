// Looks decisions up, and makes keys of them.
#include "compiler/decide/decisions/Decision.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace dtc {
namespace {

// The fields that a key leaves out, with their usual values.
struct UsualField {
  DecisionField field;
  int64_t usual;
};

const std::vector<UsualField> &fieldsOutside(KeptResult result) {
  static const auto all = [] {
    std::vector<std::vector<UsualField>> lists;
    for (KeptResult of : kKeptResults) {
      std::vector<UsualField> &list = lists.emplace_back();
      for (const Decision *each : allDecisions())
        if (!each->whyLeftOut(of).empty())
          list.push_back({each->field, each->field.get(Decisions())});
    }
    return lists;
  }();
  return all[static_cast<size_t>(result)];
}

} // namespace

std::string InPins::values() const {
  if (!isNumber())
    return words.str();
  if (high >= kMostPinned)
    return std::to_string(low) + " or more";
  return std::to_string(low) + (high == low + 1 ? " or " : " to ") + std::to_string(high);
}

llvm::StringRef Decision::whyLeftOut(KeptResult of) const {
  const LeftOut *found = llvm::find_if(leftOut, [&](const LeftOut &each) { return each.of == of; });
  return found == leftOut.end() ? "" : found->why;
}

const Decision *findDecision(llvm::StringRef key) {
  auto all = decisions();
  const auto *found = llvm::find_if(all, [&](const Decision *each) { return each->key == key; });
  return found == all.end() ? nullptr : *found;
}

std::string valueOf(const Decisions &d, llvm::StringRef key) {
  const Decision *decision = findDecision(key);
  assert(decision && "a key of decisions()");
  return decision->valueOf(d);
}

const Decision *findUncompilable(const Decisions &d) {
  auto all = decisions();
  const auto *found = llvm::find_if(
      all, [&](const Decision *each) { return each->program.holds && !each->program.holds(d); });
  return found == all.end() ? nullptr : *found;
}

Decisions keyOf(KeptResult result, const Decisions &d) {
  Decisions key = d;
  for (const UsualField &each : fieldsOutside(result))
    each.field.set(key, each.usual);
  return key;
}

llvm::SmallVector<int64_t, 16> restOf(KeptResult result, const Decisions &d) {
  llvm::SmallVector<int64_t, 16> rest;
  for (const UsualField &each : fieldsOutside(result))
    rest.push_back(each.field.get(d));
  return rest;
}

} // namespace dtc
