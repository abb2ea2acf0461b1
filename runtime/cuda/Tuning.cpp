#include "runtime/cuda/Tuning.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"

#include <algorithm>

namespace dtc::rt {
namespace {

using Clock = WorkTimer::Clock;

Status seeAll(const std::vector<Tunable *> &kinds, const cu::Driver &driver,
              const CommandSource &commands, TuningKey &key) {
  DTC_CUDA(driver, cuDriverGetVersion, &key.driver);
  Status status;
  commands([&](const Command &command) {
    for (Tunable *kind : kinds)
      if (status.ok())
        status = kind->see(command);
  });
  for (Tunable *kind : kinds)
    kind->addTo(key);
  return status;
}

} // namespace

Status tuneAll(Control &control, const std::vector<Tunable *> &kinds, const cu::Driver &driver,
               const CommandSource &commands, const TuningOptions &options,
               const TuningContext &context, std::string &notice) {
  TuningKey key{
      .program = options.program, .device = context.device, .capability = context.capability};
  int lowest = -1;
  Status looked = options.seconds > 0 ? seeAll(kinds, driver, commands, key) : Status();
  DTC_RETURN_IF_ERROR(agree(control, looked, options.seconds <= 0, lowest));
  if (lowest >= 0)
    return {}; // without time to measure, the first choice is used
  std::vector<std::string> files;
  for (const std::string &path : options.files)
    files.push_back(tuningFile(path, context.device));
  TuningChoices kept, all;
  bool isKept = loadChoices(files, key, kept);
  std::vector<uint64_t> mine;
  for (const Tunable *kind : kinds)
    for (uint64_t hash : kind->seen())
      mine.push_back(hash);
  std::sort(mine.begin(), mine.end());
  auto chooseOurs = [&](const std::vector<uint64_t> &ours, TuningChoices &choices) -> Status {
    auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options.seconds));
    for (Tunable *kind : kinds) {
      std::vector<uint64_t> seen = kind->seen(), its;
      std::set_intersection(seen.begin(), seen.end(), ours.begin(), ours.end(),
                            std::back_inserter(its));
      auto now = Clock::now();
      auto deadline = kind == kinds.back() ? end : now + (end - now) / 2;
      if (!its.empty())
        DTC_RETURN_IF_ERROR(kind->choose(its, kept, context, deadline, choices));
    }
    return {};
  };
  DTC_RETURN_IF_ERROR(agreeOnChoices(control, mine, chooseOurs, all));
  for (Tunable *kind : kinds)
    DTC_RETURN_IF_ERROR(kind->take(control, context, all, notice));
  if (context.saves && !files.empty() && !all.empty() && !(isKept && kept == all))
    if (Status status = saveChoices(files, key, all); !status.ok())
      notice += format::text(
          notice.empty() ? "" : "; ",
          "the choices of algorithms are not kept for the next run: ", status.message());
  return {};
}

} // namespace dtc::rt
