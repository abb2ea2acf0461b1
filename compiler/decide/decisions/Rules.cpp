// Checks the rules between decisions.
#include "compiler/decide/decisions/Rules.h"

#include "compiler/decide/decisions/AllDecisions.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

llvm::SmallVector<const Decision *, 4> decisionsOf(llvm::StringRef keys) {
  llvm::SmallVector<llvm::StringRef, 4> list;
  keys.split(list, ',');
  llvm::SmallVector<const Decision *, 4> all;
  for (llvm::StringRef key : list)
    all.push_back(findDecision(key));
  return all;
}

// Returns the text with values in place of keys in braces.
std::string filled(llvm::StringRef text, const Decisions &d) {
  std::string out;
  while (!text.empty()) {
    auto [before, rest] = text.split('{');
    auto [key, after] = rest.split('}');
    out += before.str() + (key.empty() ? "" : valueOf(d, key));
    text = after;
  }
  return out;
}

// Returns the first rule of a scope that `isBroken`.
const Rule *findRule(Rule::Scope other, llvm::function_ref<bool(const Rule &)> isBroken) {
  for (const Decision *decision : decisions())
    for (const Rule &rule : decision->rules)
      if (rule.scope != other && isBroken(rule))
        return &rule;
  return nullptr;
}

} // namespace

const Rule *findBrokenRule(const Decisions &d) {
  return findRule(Rule::Scope::Pins, [&](const Rule &rule) { return !rule.holds(d); });
}

bool obeysRulesOf(llvm::StringRef key, const Decisions &d) {
  return llvm::all_of(findDecision(key)->rules, [&](const Rule &rule) { return rule.holds(d); });
}

bool arePinned(llvm::StringRef keys, const Pins &pins) {
  return llvm::all_of(decisionsOf(keys),
                      [&](const Decision *decision) { return pins.has(*decision); });
}

std::string pinsText(llvm::StringRef keys, const Decisions &d) {
  std::string list;
  for (const Decision *each : decisionsOf(keys)) {
    const InPins &pin = each->pin;
    std::string value = pin.write ? pin.write(d) : std::to_string(each->field.get(d));
    list += (list.empty() ? "" : ",") + pin.name.str() + "=" +
            (value.empty() ? each->valueOf(d) : value);
  }
  return list;
}

std::optional<UserError> findBrokenRule(const Pins &pins) {
  Decisions d = pins.decisions();
  const Rule *broken = findRule(Rule::Scope::Plans, [&](const Rule &rule) {
    return !rule.holds(d) && arePinned(rule.keys, pins);
  });
  if (!broken)
    return std::nullopt;
  return UserError("--fix " + pinsText(broken->keys, d) + ": " + filled(broken->why, d),
                   filled(broken->mend, d));
}

Fault faultOf(const Rule &rule, const Decisions &d) {
  llvm::SmallVector<const Decision *, 4> all = decisionsOf(rule.keys);
  std::string others;
  for (const Decision *each : llvm::ArrayRef(all).drop_front())
    others += (others.empty() ? " with " : ", ") + each->key.str() + " " + each->valueOf(d);
  return {all.front()->key.str(),
          "is " + all.front()->valueOf(d) + others + ": " + filled(rule.why, d)};
}

} // namespace dtc
