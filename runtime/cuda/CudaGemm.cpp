#include "runtime/cuda/CudaGemm.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/format/Header.h"

#include <algorithm>

namespace dtc::rt {
namespace {

using format::text;

// The largest power of two up to 256 that divides the address; 0 where there is none.
uint32_t alignmentOf(const char *address) {
  auto value = reinterpret_cast<uintptr_t>(address);
  uint32_t alignment = address ? 256 : 0;
  while (alignment != 0 && value % alignment != 0)
    alignment /= 2;
  return alignment;
}

// As a Gemm describes them, in order.
GemmOperands operandsOf(const Command &command) {
  const std::vector<char *> &buffers = command.buffers;
  GemmOperands operands{.a = buffers[0], .b = buffers[1], .c = buffers[2]};
  if (buffers.size() == maxGemmOperands) {
    operands.addend = buffers[3];
    operands.bias = buffers[4];
    operands.aux = buffers[5];
  }
  return operands;
}

uint64_t hashOf(const std::string &words) {
  return format::hash128({reinterpret_cast<const uint8_t *>(words.data()), words.size()}).low;
}

} // namespace

CudaGemm::CudaGemm(CudaLibraries &libraries, const cu::Driver &driver, EventPool &pool)
    : libraries(libraries), driver(driver), pool(pool) {}

CudaGemm::~CudaGemm() {
  plans.clear();
  if (handle)
    (void)blas->cublasLtDestroy(handle);
  for (const auto &[stream, workspace] : workspaces)
    (void)driver.cuMemFree(workspace);
}

Status CudaGemm::open() {
  if (handle)
    return {};
  DTC_RETURN_IF_ERROR(libraries.blasLt(blas));
  DTC_CUBLASLT(*blas, cublasLtCreate, &handle);
  return {};
}

Status CudaGemm::workspaceOf(int stream, cu::DevicePtr &workspace) {
  auto found = workspaces.find(stream);
  if (found == workspaces.end()) {
    DTC_CUDA(driver, cuMemAlloc, &workspace, gemmWorkspaceBytes);
    workspaces[stream] = workspace;
    return {};
  }
  workspace = found->second;
  return {};
}

Status CudaGemm::planOf(const Command &command, uint64_t &product, GemmPlan *&plan) {
  DTC_RETURN_IF_ERROR(open());
  Key key{.source = command.source, .startsSum = command.startsSum};
  const GemmOperands with = operandsOf(command);
  key.alignments = {alignmentOf(with.a),      alignmentOf(with.b),    alignmentOf(with.c),
                    alignmentOf(with.addend), alignmentOf(with.bias), alignmentOf(with.aux)};
  auto found = known.find(key);
  if (found == known.end()) {
    const format::Gemm &op = *command.source->op_as_Gemm();
    GemmCase which{.beta = command.startsSum ? 0 : op.beta(), .alignments = key.alignments};
    uint64_t hash = hashOf(describeProduct(op, which));
    std::unique_ptr<GemmPlan> &made = plans[hash];
    if (!made)
      DTC_RETURN_IF_ERROR(GemmPlan::make(*blas, handle, op, which, made));
    found = known.emplace(key, std::pair(hash, made.get())).first;
  }
  std::tie(product, plan) = found->second;
  return {};
}

Status CudaGemm::prepare(const Command &command, int stream, StreamWork &work) {
  uint64_t product = 0;
  GemmPlan *plan = nullptr;
  DTC_RETURN_IF_ERROR(planOf(command, product, plan));
  cu::DevicePtr workspace = 0;
  DTC_RETURN_IF_ERROR(workspaceOf(stream, workspace));
  work = [plan, with = operandsOf(command), workspace](cu::Stream on) {
    return plan->run(with, reinterpret_cast<void *>(workspace), on);
  };
  return {};
}

Status CudaGemm::see(const CommandSource &products, std::map<uint64_t, Seen> &seen,
                     TuningKey &key) {
  DTC_CUDA(driver, cuDriverGetVersion, &key.driver);
  Status status;
  products([&](const Command &command) {
    uint64_t product = 0;
    GemmPlan *plan = nullptr;
    if (status.ok())
      status = planOf(command, product, plan);
    if (!status.ok())
      return;
    Seen &each = seen[product];
    each.product = product;
    each.plan = plan;
    each.operands = operandsOf(command);
    each.flops += plan->flops();
  });
  key.blasLt = blas ? blas->cublasLtGetVersion() : 0;
  return status;
}

// What a step spends most on comes first, as the time may not be enough for all.
Status CudaGemm::measure(std::vector<Seen> products, const TuningOptions &options,
                         const TuningPlace &place, void *workspace) {
  auto deadline = GemmTimer::Clock::now() + std::chrono::duration_cast<GemmTimer::Clock::duration>(
                                                std::chrono::duration<double>(options.seconds));
  DTC_RETURN_IF_ERROR(place.fill());
  std::sort(products.begin(), products.end(), [](const Seen &x, const Seen &y) {
    return std::pair(y.flops, x.product) < std::pair(x.flops, y.product);
  });
  GemmTimer timer(driver, pool, place.stream, workspace);
  for (const Seen &each : products)
    DTC_RETURN_IF_ERROR(timer.choose(*each.plan, each.operands, deadline));
  return {};
}

// A choice of before has to be one that cuBLASLt offers now, and to run.
Status CudaGemm::choose(const std::vector<Seen> &products, const TuningChoices &kept,
                        const TuningOptions &options, const TuningPlace &place) {
  cu::DevicePtr address = 0;
  DTC_RETURN_IF_ERROR(workspaceOf(0, address));
  auto *workspace = reinterpret_cast<void *>(address);
  std::vector<Seen> unknown;
  for (const Seen &each : products) {
    auto found = kept.find(each.product);
    bool isKnown = found != kept.end() && each.plan->offers(found->second);
    if (isKnown) {
      each.plan->choose(found->second);
      isKnown = each.plan->run(each.operands, workspace, place.stream).ok();
    }
    if (!isKnown)
      unknown.push_back(each);
  }
  DTC_CUDA(driver, cuCtxSynchronize);
  if (!unknown.empty())
    DTC_RETURN_IF_ERROR(measure(std::move(unknown), options, place, workspace));
  return place.clear();
}

// 1. See which products there are. 2. The lowest rank that has one chooses for all that have it. 3. All take those choices,
// and a rank of each machine keeps them.
Status CudaGemm::tune(Control &control, const CommandSource &products, const TuningOptions &options,
                      const TuningPlace &place, std::string &notice) {
  std::map<uint64_t, Seen> seen;
  TuningKey key{.program = options.program, .device = place.device, .capability = place.capability};
  int lowest = -1;
  Status looked = options.seconds > 0 ? see(products, seen, key) : Status();
  DTC_RETURN_IF_ERROR(agree(control, looked, options.seconds <= 0, lowest));
  if (lowest >= 0)
    return {}; // a rank is told to take the first
  std::vector<std::string> files;
  for (const std::string &path : options.files)
    files.push_back(tuningFile(path, place.device));
  TuningChoices kept, all;
  bool isKept = loadChoices(files, key, kept);
  std::vector<uint64_t> mine;
  for (const auto &[product, each] : seen)
    mine.push_back(product);
  auto chooseOurs = [&](const std::vector<uint64_t> &ours, TuningChoices &choices) -> Status {
    std::vector<Seen> toChoose;
    for (uint64_t product : ours)
      toChoose.push_back(seen[product]);
    DTC_RETURN_IF_ERROR(choose(toChoose, kept, options, place));
    for (const Seen &each : toChoose)
      choices[each.product] = each.plan->choice();
    return {};
  };
  DTC_RETURN_IF_ERROR(agreeOnChoices(control, mine, chooseOurs, all));
  // A GPU of another kind may not do it that way, and would not have the same bits either.
  for (const auto &[product, each] : seen)
    if (const cu::BlasAlgo &choice = all[product];
        each.plan->offers(choice) || each.plan->allows(choice))
      each.plan->choose(choice);
  if (place.saves && !files.empty() && !all.empty() && !(isKept && kept == all))
    if (Status status = saveChoices(files, key, all); !status.ok())
      notice = text("the choices of algorithms are not kept for the next run: ", status.message());
  return {};
}

} // namespace dtc::rt
