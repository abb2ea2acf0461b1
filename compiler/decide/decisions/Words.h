// Decisions as people read and write them: the words of plans.
#pragma once

#include "compiler/decide/decisions/Decisions.h"

#include <optional>

namespace dtc {

// Returns the schedule that a plan calls `name` (toString of ScheduleKind). "zero-bubble"
// with two virtual stages is ZB-V, as plans called it before it had a name of its own, "zb-v".
// Errors: a name that is none of these, virtual stages that the schedule does not have; 1F1B and
// GPipe are left to whoever checks the plan.
Result<ScheduleKind> scheduleFromPlan(llvm::StringRef name, int64_t virtualStages);

// "ring", "all-to-all", "both" or "all-gather".
llvm::StringRef toString(ContextKind kind);
// Returns the kind with that name; nullopt if there is none.
std::optional<ContextKind> contextKindFrom(llvm::StringRef word);

// "all-to-all in 4 and ring" of both, otherwise the kind's name.
std::string contextText(const Decisions &decisions);
// "ranks gather all keys and values".
std::string contextSentence(const Decisions &decisions);

// "embedding and output layer cut over the stages by words, algorithm 1".
std::string vocabularyText(const Decisions &decisions);

// "ZeRO 1 in groups of 4".
std::string zeroText(const Decisions &decisions);

// Mesh axes from the innermost on: "tp cp dp pp" is Megatron's order.
std::string orderText(const AxisOrder &order);
// Parses the text of an axis order; nullopt if it is malformed.
std::optional<AxisOrder> orderFrom(llvm::StringRef text);

// Ranks of tensor parallelism by part, "1-8-8"; "even" where all parts have as many.
std::string tensorOfPartsText(const Decisions &decisions);

// "none", "some" or "all".
llvm::StringRef toString(LayersOnHost layers);
// "some layers on the host"; "no layers on the host".
std::string offloadText(const Decisions &decisions);

// The least and the most that layers recompute in one word: "mixed" where they differ.
std::string recomputeText(const Decisions &decisions);

// "searched" or "megatron".
llvm::StringRef placementText(const Decisions &decisions);

} // namespace dtc
