#include "compiler/verify/Verify.h"

#include "compiler/verify/Meetings.h"
#include "compiler/verify/Values.h"

#include <algorithm>

namespace dtc {
namespace {

// Programs go on by turns, as far as what others send them is known.
std::optional<Fault> followValues(std::vector<Values> &all) {
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
                                 format::EntryKind kind, VerifyReport &report) {
  std::vector<Steps> steps;
  steps.reserve(manifest.programs()->size());
  for (uint32_t p = 0; p < manifest.programs()->size(); ++p)
    steps.emplace_back(manifest, p, kind);
  Meetings meetings(manifest, steps);
  std::optional<Fault> found = meetings.prove();
  if (found) {
    found->entry = format::EnumNameEntryKind(kind);
    return found;
  }
  report.classes = std::max<uint64_t>(report.classes, meetings.numClasses());
  Board board;
  std::vector<Values> values;
  values.reserve(steps.size());
  for (const Steps &each : steps)
    values.emplace_back(each, groups, board);
  found = followValues(values);
  if (found)
    found->entry = format::EnumNameEntryKind(kind);
  for (const Values &each : values)
    report.instructions += each.count();
  return found;
}

} // namespace

VerifyReport verifyPrograms(const format::Manifest &manifest) {
  VerifyReport report;
  report.ranks = manifest.rank_program()->size();
  report.programs = manifest.programs()->size();
  GroupAxes groups(manifest);
  for (format::EntryKind kind : format::EnumValuesEntryKind())
    if (!report.fault && format::findEntry(*manifest.programs()->Get(0), kind))
      report.fault = verifyEntry(manifest, groups, kind, report);
  return report;
}

} // namespace dtc
