#include "compiler/decide/decisions/ReadPins.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Rules.h"
#include "compiler/support/Hints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace dtc {

static std::string allNames() {
  std::string list;
  for (const Decision *each : decisions())
    if (!each->pin.name.empty())
      list += (list.empty() ? "" : ", ") + each->pin.name.str();
  return list;
}

std::string pinKeysText() {
  std::string text;
  for (const Decision *each : decisions())
    if (const InPins &key = each->pin; !key.name.empty())
      text += (text.empty() ? "" : "\n") + key.name.str() + "=" + key.values() + "; " +
              key.meaning.str();
  return text;
}

Result<Pins> readPins(const std::map<std::string, std::string> &fixed) {
  Pins pins;
  for (const auto &[name, text] : fixed) {
    auto all = decisions();
    const auto *found =
        llvm::find_if(all, [&key = name](const Decision *each) { return key == each->pin.name; });
    if (found == all.end() || name.empty()) {
      llvm::SmallVector<llvm::StringRef> names;
      for (const Decision *each : all)
        if (!each->pin.name.empty())
          names.push_back(each->pin.name);
      return UserError("--fix " + name + "=" + text + ": there is no key '" + name + "'",
                       didYouMean(name, names) + "keys are " + allNames());
    }
    if (std::optional<UserError> error = pins.read(**found, text))
      return *error;
  }
  if (std::optional<UserError> error = findBrokenRule(pins))
    return *error;
  for (const Decision *each : decisions())
    if (each->pin.imply && pins.has(*each))
      each->pin.imply(pins);
  return pins;
}

std::map<std::string, std::string> pinsOf(const Decisions &d) {
  std::map<std::string, std::string> pins;
  for (const Decision *each : decisions())
    if (const InPins &key = each->pin; !key.name.empty()) {
      std::string value = key.write ? key.write(d) : std::to_string(each->field.get(d));
      if (!value.empty())
        pins[key.name.str()] = value;
    }
  return pins;
}

} // namespace dtc
