#include "compiler/search/pipeline/ScheduleKind.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace dtc;

static constexpr std::pair<ScheduleKind, llvm::StringLiteral> kindNames[] = {
    {ScheduleKind::GPipe, "gpipe"},
    {ScheduleKind::OneForwardOneBackward, "1f1b"},
    {ScheduleKind::Interleaved, "interleaved"},
    {ScheduleKind::ZeroBubbleH1, "zero-bubble"},
    {ScheduleKind::ZeroBubbleV, "zb-v"},
    {ScheduleKind::ZeroBubble2P, "zb-2p"},
    {ScheduleKind::VHalf, "v-half"},
    {ScheduleKind::VMin, "v-min"},
};

llvm::StringRef dtc::toString(ScheduleKind kind) {
  return llvm::find_if(kindNames, [&](auto &entry) { return entry.first == kind; })->second;
}

Result<ScheduleKind> dtc::scheduleKindFromString(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[kind, known] : kindNames) {
    if (name == known)
      return kind;
    names.push_back(known);
  }
  std::string nearest = nearestName(name, names);
  return UserError("the schedule is '" + name.str() + "', wanted " + llvm::join(names, ", "),
                   nearest.empty() ? "" : "did you mean '" + nearest + "'");
}

int dtc::stageOfChunk(ScheduleKind kind, int stages, int chunk) {
  if (isV(kind) && chunk >= stages)
    return 2 * stages - 1 - chunk;
  return chunk % stages;
}

int dtc::chunkOfStage(ScheduleKind kind, int stages, int stage, int turn) {
  bool isUp = isV(kind) && turn == 1;
  return turn * stages + (isUp ? stages - 1 - stage : stage);
}

bool dtc::splitsBackward(ScheduleKind kind) {
  return kind == ScheduleKind::ZeroBubbleH1 || kind == ScheduleKind::ZeroBubble2P || isV(kind);
}

bool dtc::isV(ScheduleKind kind) {
  return kind == ScheduleKind::ZeroBubbleV || kind == ScheduleKind::VHalf ||
         kind == ScheduleKind::VMin;
}

std::optional<int> dtc::virtualStagesOf(ScheduleKind kind) {
  if (kind == ScheduleKind::Interleaved)
    return std::nullopt;
  return isV(kind) ? 2 : 1;
}
