// One planning decision behind one interface: its key, its value and words, its forms in --fix and
// in plan files, what limits it, how simple a plan is without it, and the keys of kept results that
// it belongs to. Search, pins, plan files, lists and caches loop over all decisions, so that a new
// one is a field of Decisions, a row of a family and the code that costs and builds it.
#pragma once

#include "compiler/decide/decisions/Decisions.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <type_traits>

namespace dtc {

class Pins;
struct LegalSpace;

// Access to a field of Decisions, whatever its type: as one number that orders its values.
struct DecisionField {
  int64_t (*get)(const Decisions &);
  void (*set)(Decisions &, int64_t);
  size_t (*offset)(); // in bytes, within Decisions
};

// Returns where a field lies within Decisions.
template <typename T> size_t offsetOf(T Decisions::*member) {
  static const Decisions decisions;
  return static_cast<size_t>(reinterpret_cast<const char *>(&(decisions.*member)) -
                             reinterpret_cast<const char *>(&decisions));
}

// Returns the access to a field. An array is one number with its first element as highest digit.
template <auto Member> constexpr DecisionField fieldOf() {
  using T = std::remove_cvref_t<decltype(std::declval<Decisions>().*Member)>;
  constexpr size_t bitsOfAll = 64;
  return {[](const Decisions &d) {
            if constexpr (std::is_scalar_v<T>) {
              return static_cast<int64_t>(d.*Member);
            } else {
              uint64_t number = 0;
              for (auto element : d.*Member)
                number =
                    number << bitsOfAll / std::tuple_size_v<T> | static_cast<uint64_t>(element);
              return static_cast<int64_t>(number);
            }
          },
          [](Decisions &d, int64_t value) {
            if constexpr (std::is_scalar_v<T>) {
              d.*Member = static_cast<T>(value);
            } else {
              auto number = static_cast<uint64_t>(value);
              for (size_t index = std::tuple_size_v<T>; index-- > 0;) {
                (d.*Member)[index] = static_cast<typename T::value_type>(
                    number & ((uint64_t(1) << bitsOfAll / std::tuple_size_v<T>)-1));
                number >>= bitsOfAll / std::tuple_size_v<T>;
              }
            }
          },
          [] { return offsetOf(Member); }};
}

// Selects the decisions that short descriptions of a plan list.
enum class Listing : uint8_t { Never, IfUnusual, Always };

// The form of a decision in the JSON of a plan.
enum class PlanForm : uint8_t {
  Absent, // no plan says it: it follows from others or from the software
  Number,
  Flag,       // true or false
  ZeroOrOne,  // a flag that plans write as a number
  Word,       // the text of Decision::value
  NumberList, // absent where it is empty
};

// A decision in plan files.
struct InPlan {
  PlanForm form = PlanForm::Absent;
  bool inMesh = false;      // a key of "mesh"
  bool mayMiss = false;     // a plan without it has the usual value
  bool onlyUnusual = false; // dtc writes it only where it has another value than the usual one
  int64_t least = 0;        // of a number
  // Reads a value into the decisions before it and returns "" or what is wrong with it: "is 2,
  // wanted 1". Null: any value in range is right. A list without whole numbers arrives empty.
  std::string (*readNumber)(int64_t value, Decisions &) = nullptr;
  std::string (*readWord)(llvm::StringRef word, Decisions &) = nullptr;
  std::string (*readList)(llvm::ArrayRef<int64_t> list, Decisions &) = nullptr;
  // Returns the number to write. Null: the field.
  int64_t (*number)(const Decisions &) = nullptr;
  // Returns the list to write.
  llvm::SmallVector<int64_t, 4> (*list)(const Decisions &) = nullptr;
};

// A key of --fix: a whole number from `low` to `high`, or one of `words`.
struct InPins {
  llvm::StringRef name = "", meaning = ""; // no name: --fix does not know the decision
  int64_t low = 0, high = 0;
  llvm::StringRef words = "";
  // Reads one of the words.
  std::optional<UserError> (*readWord)(const std::string &text, Decisions &) = nullptr;
  // Stores a number. Null: the field.
  void (*storeNumber)(int64_t value, Decisions &) = nullptr;
  // Returns the value for --fix; "" where --fix can't ask for it. Null: the field as a number.
  std::string (*write)(const Decisions &) = nullptr;
  // Sets what follows from other pins in the decisions that they leave.
  void (*settle)(Decisions &, bool isPinned) = nullptr;
  // Pins what the pin implies, after all are read.
  void (*imply)(Pins &) = nullptr;

  // Returns true if values are numbers.
  bool isNumber() const { return words.empty(); }
  // Returns the accepted values. Example: "0 to 3", "1 or more", "megatron or searched".
  std::string values() const;
};

// A condition between decisions that holds for every model, system and software.
struct Rule {
  // The keys of plans that it relates, joined by commas; a refusal names the first one as wrong.
  llvm::StringRef keys;
  bool (*holds)(const Decisions &);
  // "vocabulary parallelism needs pipeline stages", and how to keep to it in --fix. "{tp}" stands
  // for the value of a decision.
  llvm::StringRef why, mend;
  // Plans may break the rule, which only speaks of what --fix asks for; or only plans can break it.
  enum class Scope : uint8_t { All, Pins, Plans } scope = Scope::All;
};

// A condition that the [space] of a software stack sets.
struct StackRule {
  // The keys of plans that a refusal of --fix names; it speaks of pins if all of them are pinned.
  // Empty: of the search alone.
  llvm::StringRef keys;
  bool (*holds)(const Decisions &, const LegalSpace &);
  // How to keep to it. "{zero}" stands for the words that the stack has of that set of [space].
  llvm::StringRef mend = "";
  // The part of the search that asks: axes and their order, ZeRO and the states on the host, or all
  // the rest.
  enum class Part : uint8_t { Mesh, Zero, Details } part = Part::Details;
  // Pins leave axes open; these count as several ranks, not as one.
  bool openIsSeveral = false;
};

// The largest pin of a size; larger values are typing errors.
constexpr int64_t kMostPinned = 1 << 20;

// A condition that 'dtc compile' has.
struct InPrograms {
  bool (*holds)(const Decisions &) = nullptr; // null: programs have all values
  llvm::StringRef mend = "";                  // the flag of 'dtc plan' that keeps to it
};

// A condition that all launchers of dtc export have.
struct InLaunchers {
  bool (*holds)(const Decisions &) = nullptr; // null: launchers differ, or have all values
  llvm::StringRef have = "";                  // what they have: "Megatron's placements of ops"
  llvm::StringRef fix = "";                   // the value of --fix that keeps to it
  // Returns what the plan has. Null: the phrase of lists.
  std::string (*found)(const Decisions &) = nullptr;
};

// The complexity that a decision adds to a plan (planner/Simplicity.h).
struct Mechanism {
  llvm::StringRef name = "";                  // for texts: "context parallelism"
  int (*points)(const Decisions &) = nullptr; // 0 for a plan that does not use it
};

// The kinds of results that are kept by decisions. A decision is part of each key unless its row
// says why it is not, so that a new one can't be forgotten.
enum class KeptResult : uint8_t {
  Work,        // a model's blocks without what ranks send (estimate/ModelCost)
  PartCost,    // the same with it, on a part of a heterogeneous system (estimate/ModelCost)
  MeshCost,    // a mesh (planner/MeshCosts)
  Estimates,   // what estimates of one mesh share (estimate/SharedEstimates)
  LeastMemory, // meshes by their smallest memory (planner/JointSearch)
  Program,     // bytes of a program with few layers (memory/ProgramMemory)
  Lowered,     // bytes of a whole plan's program (planner/Planner)
};
constexpr KeptResult kKeptResults[] = {
    KeptResult::Work,        KeptResult::PartCost, KeptResult::MeshCost, KeptResult::Estimates,
    KeptResult::LeastMemory, KeptResult::Program,  KeptResult::Lowered};

// A key that a decision is no part of.
struct LeftOut {
  KeptResult of;
  llvm::StringRef why;
};

// One decision.
struct Decision {
  llvm::StringRef key; // in plans and lists
  DecisionField field;
  // Returns the value as plans have it; flags are yes or no. Null: the field as a number.
  std::string (*value)(const Decisions &) = nullptr;
  Listing listing = Listing::Never;
  // Returns the text for lists: "interleaved x2"; "" where there is nothing to say. Null:
  // key=value.
  std::string (*phrase)(const Decisions &) = nullptr;
  InPlan plan = {};
  InPins pin = {};
  InPrograms program = {};
  InLaunchers launchers = {};
  Mechanism mechanism = {};
  llvm::ArrayRef<Rule> rules = {};
  llvm::ArrayRef<StackRule> stackRules = {};
  llvm::ArrayRef<LeftOut> leftOut = {};

  // Returns the value as plans have it.
  std::string valueOf(const Decisions &d) const {
    return value ? value(d) : std::to_string(field.get(d));
  }
  // Returns the text for lists.
  std::string phraseOf(const Decisions &d) const {
    return phrase ? phrase(d) : key.str() + "=" + valueOf(d);
  }
  // Returns true if the value is the one that a plan has if nobody decides.
  bool isUsual(const Decisions &d) const { return field.get(d) == field.get(Decisions()); }
  // Returns why the decision is no part of a key; "" if it is.
  llvm::StringRef whyLeftOut(KeptResult of) const;
};

} // namespace dtc
