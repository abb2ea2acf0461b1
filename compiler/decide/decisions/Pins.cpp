// Reads the pairs of --fix.
#include "compiler/decide/decisions/Pins.h"

#include "compiler/decide/decisions/Rules.h"
#include "compiler/support/Hints.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dtc {
namespace {

std::string allNames() {
  std::string list;
  for (const Decision *each : decisions())
    if (!each->pin.name.empty())
      list += (list.empty() ? "" : ", ") + each->pin.name.str();
  return list;
}

// Returns the key's values that stand alone: "gpipe", "1f1b". Empty for values of another form.
llvm::SmallVector<llvm::StringRef> choicesOf(const InPins &key) {
  llvm::SmallVector<llvm::StringRef> parts, choices;
  if (key.words.contains(':')) // a form and an example of it
    return choices;
  key.words.split(parts, ", ");
  for (llvm::StringRef part : parts)
    for (auto [word, rest] = part.split(" or "); !word.empty();
         std::tie(word, rest) = rest.split(" or "))
      if (!word.contains(' '))
        choices.push_back(word);
  return choices;
}

std::optional<UserError> readNumber(const Decision &decision, const std::string &text,
                                    Decisions &values) {
  const InPins &key = decision.pin;
  std::string given = "--fix " + key.name.str() + "=" + text, name = key.name.str();
  int64_t value = 0;
  if (llvm::StringRef(text).getAsInteger(10, value))
    return UserError(given + ": '" + text + "' is not a whole number");
  if (value < key.low || value > key.high)
    return UserError(given + ": " + name + " goes from " + std::to_string(key.low) + " to " +
                         std::to_string(key.high),
                     "the nearest choice is " + name + "=" +
                         std::to_string(std::clamp(value, key.low, key.high)));
  if (key.storeNumber)
    key.storeNumber(value, values);
  else
    decision.field.set(values, value);
  return std::nullopt;
}

} // namespace

std::optional<UserError> Pins::read(const Decision &decision, const std::string &text) {
  fixed.set(decision.field.offset());
  if (decision.pin.isNumber())
    return readNumber(decision, text, values);
  std::optional<UserError> error = decision.pin.readWord(text, values);
  if (error && error->note.find("did you mean") == std::string::npos)
    error->note = didYouMean(text, choicesOf(decision.pin)) + error->note;
  return error;
}

Decisions Pins::decisions() const {
  Decisions d = values;
  for (const Decision *each : dtc::decisions())
    if (each->pin.settle)
      each->pin.settle(d, has(*each));
  return d;
}

bool Pins::allows(ScheduleKind kind) const {
  std::optional<ScheduleKind> pin = (*this)[&Decisions::schedule];
  bool isZeroBubble = pin == ScheduleKind::ZeroBubbleH1; // with either number of virtual stages
  return !pin || *pin == kind || (isZeroBubble && kind == ScheduleKind::ZeroBubbleV);
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
