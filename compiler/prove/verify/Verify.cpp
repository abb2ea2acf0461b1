#include "compiler/prove/verify/Verify.h"

#include "compiler/prove/verify/CommunicationProof.h"
#include "compiler/prove/verify/DocumentRules.h"
#include "compiler/prove/verify/Values.h"

#include <algorithm>
#include <deque>

namespace dtc {
namespace {

// Programs go on by turns, as far as what others send them is known.
std::optional<Fault> followValues(std::deque<Values> &all) {
  for (bool force = false;;) {
    bool moved = false, done = true;
    for (Values &values : all) {
      if (values.isDone())
        continue;
      uint64_t before = values.count();
      if (std::optional<Fault> found = values.advance(force))
        return found;
      force = false;
      moved |= values.count() != before || values.isDone();
      done &= values.isDone();
    }
    if (done)
      return std::nullopt;
    force = !moved;
  }
}

std::optional<Fault> verifyEntry(const format::Manifest &manifest, const GroupAxes &groups,
                                 format::EntryKind kind, bool maySkip, VerifyReport &report) {
  std::vector<Steps> steps;
  steps.reserve(manifest.programs()->size());
  for (uint32_t p = 0; p < manifest.programs()->size(); ++p)
    steps.emplace_back(manifest, p, kind);
  CommunicationProof communication(manifest, steps);
  std::optional<Fault> found = communication.prove();
  if (found) {
    found->entry = format::EnumNameEntryKind(kind);
    return found;
  }
  report.classes = std::max<uint64_t>(report.classes, communication.numClasses());
  // A fault found with skipping is searched again without, as guesses may have caused it.
  for (bool skips : {true, false}) {
    if (skips && !maySkip)
      continue;
    Board board;
    std::deque<Values> values;
    for (const Steps &each : steps)
      values.emplace_back(each, groups, board, skips);
    found = followValues(values);
    if (!found)
      found = board.findWrongGuess();
    if (skips && (found || !board.isAsExpected()))
      continue;
    for (const Values &each : values) {
      report.instructions += each.count();
      report.followed += each.followed();
    }
    break;
  }
  if (found)
    found->entry = format::EnumNameEntryKind(kind);
  return found;
}

} // namespace

VerifyReport verifyPrograms(const format::Manifest &manifest, bool skips) {
  VerifyReport report;
  report.ranks = manifest.rank_program()->size();
  report.programs = manifest.programs()->size();
  GroupAxes groups(manifest);
  report.fault = findDocumentFault(manifest);
  if (report.fault)
    report.fault->entry = format::EnumNameEntryKind(format::EntryKind::train);
  for (format::EntryKind kind : format::EnumValuesEntryKind())
    if (!report.fault && format::findEntry(*manifest.programs()->Get(0), kind))
      report.fault = verifyEntry(manifest, groups, kind, skips, report);
  return report;
}

} // namespace dtc
