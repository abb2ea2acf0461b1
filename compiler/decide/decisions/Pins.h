// The decisions that the user fixes with --fix.
#pragma once

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"

#include <bitset>
#include <optional>

namespace dtc {

// The decisions that --fix sets; all others are open. A pin has the type of its decision:
//
//     pins.fix(&Decisions::tp, 8);
//     pins[&Decisions::tp].value_or(1)
//
// `placement` is 1 for searched placements and 0 for Megatron's; if `sequenceParallel` is pinned,
// they are Megatron's as well. A schedule of ZeroBubbleH1 stands for ZeroBubbleV, too.
class Pins {
public:
  // Pins a decision.
  template <typename T> void fix(T Decisions::*member, std::type_identity_t<T> value) {
    values.*member = value;
    fixed.set(offsetOf(member));
  }
  // Leaves a decision open.
  template <typename T> void open(T Decisions::*member) {
    values.*member = Decisions().*member;
    fixed.reset(offsetOf(member));
  }
  // Returns true if the decision is pinned.
  template <typename T> bool has(T Decisions::*member) const { return fixed[offsetOf(member)]; }
  // Returns the pin of the decision; nullopt if it is open.
  template <typename T> std::optional<T> operator[](T Decisions::*member) const {
    return has(member) ? std::optional<T>(values.*member) : std::nullopt;
  }
  // Returns true if the pins leave the value to the search.
  template <typename T> bool allow(T Decisions::*member, std::type_identity_t<T> value) const {
    return !has(member) || values.*member == value;
  }
  // Returns true if the decision of that row is pinned.
  bool has(const Decision &decision) const { return fixed[decision.field.offset()]; }
  // Pins the decision of that row to the text of a value. Errors: a value that is not of its kind.
  std::optional<UserError> read(const Decision &decision, const std::string &text);

  // Returns true if pipeline stages have different tensor-parallel degrees.
  bool isUneven() const { return values.hasUnevenTensor(); }
  // Returns default decisions with the pinned ones set.
  Decisions decisions() const;
  // Returns true if a pin asks for a feature that 'dtc compile' does not lower yet.
  bool beyondExecutable() const { return findUncompilable(decisions()) != nullptr; }
  // Returns true if the pins permit the schedule.
  bool allows(ScheduleKind kind) const;

private:
  Decisions values;                     // at their defaults where they are open
  std::bitset<sizeof(Decisions)> fixed; // by offset
};

} // namespace dtc
