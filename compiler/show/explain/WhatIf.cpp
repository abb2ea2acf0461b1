// Plans with relaxed requests to see what would help.
#include "compiler/show/explain/WhatIf.h"

#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace dtc {
namespace {

using namespace figures;

// Work of one relaxation: any plan that fits will do.
constexpr int64_t kWorkOfRelaxation = kSearchWork / 12;
// Work of planning again without each pin.
constexpr int64_t kWorkOfPins = kSearchWork / 3;
constexpr int64_t kFactors[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

PlanRequest without(const PlanRequest &request, const std::string &key) {
  PlanRequest freed = request;
  freed.fixed.erase(key);
  return freed;
}

class Relaxer {
public:
  Relaxer(const PlanRequest &request, const Plan &least, const Enlarge &enlarge)
      : request(request), least(least), enlarge(enlarge) {
    this->request.searchWork = kWorkOfRelaxation;
    this->request.explainsMemory = false;
    this->request.mayIdle = false; // many systems are tried, and all of their devices are wanted
  }

  std::vector<std::string> run() {
    raiseLimit();
    dropPins();
    takeLessPrecision();
    takeSmallerBatch();
    addDevices();
    takeLargerDevices();
    return std::move(found);
  }

private:
  static std::string fits(const Plan &plan) {
    return " (" + seconds(plan.predicted.stepSeconds) + " a step, " +
           bytes(plan.predicted.peakMemoryBytes) + " a device)";
  }

  void raiseLimit() {
    int64_t has = request.topology.device.memoryBytes;
    if (request.maxMemoryBytes && *request.maxMemoryBytes < has &&
        least.predicted.peakMemoryBytes <= has)
      found.push_back("--max-memory " + leastMemory() + " of the " + bytes(has) +
                      " that a device has");
  }

  // In whole MiB: what is printed has to be enough.
  std::string leastMemory() const {
    constexpr int64_t mebibyte = 1 << 20;
    return std::to_string((least.predicted.peakMemoryBytes + mebibyte - 1) / mebibyte) + "MiB";
  }

  // The pin whose loss leaves the fastest plan; where none alone is enough, all of them.
  void dropPins() {
    std::optional<std::pair<Plan, std::string>> best;
    auto tryWithout = [&](const PlanRequest &freed, const std::string &what) {
      Result<PlanResult> planResult = planModel(freed);
      if (planResult &&
          (!best || planResult->best.predicted.stepSeconds < best->first.predicted.stepSeconds))
        best = {planResult->best, what};
    };
    for (const auto &[key, value] : request.fixed)
      tryWithout(without(request, key), "without --fix " + key + "=" + value);
    if (!best && request.fixed.size() > 1) {
      PlanRequest freed = request;
      freed.fixed.clear();
      tryWithout(freed, "without all of --fix");
    }
    if (best)
      found.push_back(best->second + fits(best->first));
  }

  void takeLessPrecision() {
    if (request.precision != Precision::F32)
      return;
    PlanRequest halved = request;
    halved.precision = Precision::BF16;
    if (Result<PlanResult> planResult = planModel(halved))
      found.push_back("--precision " + nameOf(halved.precision).str() + fits(planResult->best));
  }

  // Suggests a smaller micro-batch, unless the mesh allows none or all micro-batches are kept at
  // the same time: on CPUs, where the memory is that of dtc's programs, their tokens are.
  void takeSmallerBatch() {
    if (least.decisions.microBatch == 1 && least.decisions.schedule != ScheduleKind::GPipe &&
        request.topology.device.deviceClass != DeviceClass::Cpu)
      return;
    for (int64_t factor = 2; factor <= 64 && request.globalBatch % factor == 0; factor *= 2) {
      PlanRequest smaller = request;
      smaller.globalBatch = request.globalBatch / factor;
      smaller.fixed.erase("micro_batch");
      if (Result<PlanResult> planResult = planModel(smaller)) {
        found.push_back("--global-batch " + std::to_string(smaller.globalBatch) +
                        fits(planResult->best));
        return;
      }
    }
  }

  // Bytes that plans may use on all devices.
  static int64_t memoryOfAll(const PlanRequest &request) {
    int64_t has = request.topology.device.memoryBytes;
    return request.topology.numDevices() * std::min(has, request.maxMemoryBytes.value_or(has));
  }

  void addDevices() {
    for (int64_t factor : kFactors) {
      std::optional<LargerSystem> larger = enlarge(factor);
      if (!larger)
        continue;
      PlanRequest freed = request;
      freed.topology = larger->topology;
      // Processes of one machine share its memory out: more of them have no more.
      if (memoryOfAll(freed) <= memoryOfAll(request))
        continue;
      // Pins of the mesh hold for the devices that there were: the replicas grow.
      freed.fixed.erase("dp");
      if (Result<PlanResult> planResult = planModel(freed)) {
        found.push_back(larger->flag + fits(planResult->best));
        return;
      }
    }
  }

  void takeLargerDevices() {
    if (least.predicted.peakMemoryBytes > request.topology.device.memoryBytes)
      found.push_back("devices with " +
                      std::to_string((least.predicted.peakMemoryBytes >> 30) + 1) +
                      " GiB of memory");
  }

  PlanRequest request;
  const Plan &least;
  const Enlarge &enlarge;
  std::vector<std::string> found;
};

} // namespace

std::vector<PinCost> pinCosts(const PlanRequest &request, const Plan &plan) {
  std::vector<PinCost> costs;
  for (const auto &[key, value] : request.fixed) {
    PlanRequest freed = without(request, key);
    if (key == "cp_kind") // cp_inner implies the kind
      freed.fixed.erase("cp_inner");
    freed.searchWork = kWorkOfPins / static_cast<int64_t>(request.fixed.size());
    freed.explainsMemory = false;
    Result<PlanResult> planResult = planModel(freed);
    // The plan itself is among those that are left; a search that a limit ended may not have come
    // to it.
    double step = plan.predicted.stepSeconds;
    PinCost cost{key, value, step, false};
    if (planResult) {
      cost.stepWithoutSeconds = std::min(step, planResult->best.predicted.stepSeconds);
      cost.exhaustive = planResult->best.search.exhaustive();
    }
    costs.push_back(cost);
  }
  return costs;
}

UserError withRelaxations(const PlanRequest &request, const UserError &failed,
                          const Plan &leastMemory, const Enlarge &enlarge) {
  std::vector<std::string> found = Relaxer(request, leastMemory, enlarge).run();
  if (found.empty())
    return failed;
  std::string note = "the cheapest way out is " + found.front();
  for (size_t index = 1; index < found.size(); ++index)
    note += "; or " + found[index];
  return UserError(failed.message, note, failed.location);
}

} // namespace dtc
