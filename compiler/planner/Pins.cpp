// Reads the pairs of --fix.
#include "compiler/planner/Pins.h"

#include "compiler/plan/DecisionNames.h"
#include "compiler/plan/Executable.h"

#include <algorithm>

namespace dtc {
namespace {

constexpr llvm::StringRef kKeys =
    "keys are dp, tp, pp, cp, ep, zero, zero_group, sp, micro_batch, schedule, "
    "virtual_stages, recompute, overlap, bucket_mib, offload, placement, "
    "axis_order";

std::string given(const std::string &name, const std::string &text) {
  return "--fix " + name + "=" + text;
}

std::optional<UserError> readWord(const std::string &name, const std::string &text, Pins &pins) {
  if (name == "schedule") {
    Result<ScheduleKind> kind = scheduleFromPlan(text, 1);
    if (!kind)
      return UserError(given(name, text) + ": " + kind.error().message, kind.error().note);
    pins.schedule = *kind;
    return std::nullopt;
  }
  if (name == "placement") {
    if (text != "searched" && text != "megatron")
      return UserError(given(name, text) + ": there is no such choice of placements",
                       "choices are megatron (weights split, Megatron's pattern) and searched");
    pins.searchedPlacements = text == "searched";
    return std::nullopt;
  }
  if (name == "axis_order") {
    // Between commas and equal signs there are no blanks.
    std::string words = text;
    std::replace(words.begin(), words.end(), '-', ' ');
    pins.order = orderFrom(words);
    if (pins.order)
      return std::nullopt;
    return UserError(given(name, text) + ": there is no such order of axes",
                     "give tp, cp, dp and pp from the innermost links out, as tp-cp-pp-dp");
  }
  pins.recompute = recomputeFrom(text);
  if (pins.recompute)
    return std::nullopt;
  return UserError(given(name, text) + ": there is no such recomputation",
                   "choices are none, selective and full");
}

std::optional<UserError> checkVirtualStages(const Pins &pins) {
  int64_t stages = pins.virtualStages.value_or(1);
  std::string text = ",virtual_stages=" + std::to_string(stages);
  if (stages > 1 && pins.pp == 1)
    return UserError("--fix pp=1" + text + ": only a pipeline has virtual stages",
                     "use pp=2 or more, or virtual_stages=1");
  if (stages == 1 || !pins.schedule)
    return std::nullopt;
  std::string schedule = planNameOf(*pins.schedule).str();
  int64_t most = schedule == "zero-bubble" ? 2 : schedule == "interleaved" ? stages : 1;
  if (stages > most)
    return UserError("--fix schedule=" + schedule + text + ": " + schedule + " has at most " +
                         std::to_string(most),
                     "use virtual_stages=" + std::to_string(most) + ", or schedule=interleaved");
  return std::nullopt;
}

} // namespace

Decisions Pins::decisions() const {
  Decisions d;
  d.dp = dp.value_or(d.dp);
  d.tp = tp.value_or(d.tp);
  d.pp = pp.value_or(d.pp);
  d.cp = cp.value_or(d.cp);
  d.ep = ep.value_or(d.ep);
  d.sequenceParallel = sp.value_or(d.sequenceParallel);
  d.zero = zero.value_or(d.zero);
  d.zeroGroup = zeroGroup.value_or(d.zeroGroup);
  d.microBatch = microBatch.value_or(d.microBatch);
  d.virtualStages = virtualStages.value_or(d.virtualStages);
  d.schedule = schedule.value_or(d.schedule);
  d.recompute = d.recomputeMost = recompute.value_or(d.recompute);
  d.offloadOptimizer = offload.value_or(d.offloadOptimizer);
  d.order = order.value_or(d.order);
  return d;
}

bool Pins::beyondExecutable() const { return !isExecutable(decisions()); }

bool Pins::allows(ScheduleKind kind) const {
  return !schedule || planNameOf(*schedule) == planNameOf(kind);
}

Result<Pins> readPins(const std::map<std::string, std::string> &fixed) {
  Pins pins;
  struct Key {
    const char *name;
    int64_t low, high;
    std::optional<int64_t> *pin;
  };
  const Key keys[] = {{"dp", 1, 1 << 20, &pins.dp},
                      {"tp", 1, 1 << 20, &pins.tp},
                      {"pp", 1, 1 << 20, &pins.pp},
                      {"cp", 1, 1 << 20, &pins.cp},
                      {"ep", 1, 1 << 20, &pins.ep},
                      {"zero", 0, 3, &pins.zero},
                      {"zero_group", 0, 1 << 20, &pins.zeroGroup},
                      {"sp", 0, 1, &pins.sp},
                      {"micro_batch", 1, 1 << 30, &pins.microBatch},
                      {"virtual_stages", 1, 1 << 20, &pins.virtualStages},
                      {"overlap", 0, 1, &pins.overlap},
                      {"bucket_mib", 1, 1 << 20, &pins.bucketMebibytes},
                      {"offload", 0, 1, &pins.offload}};
  for (const auto &pin : fixed) {
    const std::string &name = pin.first, &text = pin.second;
    if (name == "schedule" || name == "recompute" || name == "placement" || name == "axis_order") {
      if (std::optional<UserError> error = readWord(name, text, pins))
        return *error;
      continue;
    }
    const Key *key = std::find_if(std::begin(keys), std::end(keys),
                                  [&](const Key &k) { return name == k.name; });
    if (key == std::end(keys))
      return UserError(given(name, text) + ": there is no key '" + name + "'", kKeys.str());
    int64_t value = 0;
    if (llvm::StringRef(text).getAsInteger(10, value))
      return UserError(given(name, text) + ": '" + text + "' is not a whole number");
    if (value < key->low || value > key->high)
      return UserError(given(name, text) + ": " + name + " goes from " + std::to_string(key->low) +
                           " to " + std::to_string(key->high),
                       "the nearest choice is " + name + "=" +
                           std::to_string(std::clamp(value, key->low, key->high)));
    *key->pin = value;
  }
  if (std::optional<UserError> error = checkVirtualStages(pins))
    return *error;
  return pins;
}

} // namespace dtc
