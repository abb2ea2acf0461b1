#include "compiler/decide/decisions/Pins.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/support/Hints.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dtc {
namespace {

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

} // namespace dtc
