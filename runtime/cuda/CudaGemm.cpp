#include "runtime/cuda/CudaGemm.h"

#include "runtime/format/Header.h"

#include <algorithm>

namespace dtc::rt {
namespace {

// Returns the largest power of two up to 256 that divides the address; 0 for null.
uint32_t alignmentOf(const char *address) {
  auto value = reinterpret_cast<uintptr_t>(address);
  uint32_t alignment = address ? 256 : 0;
  while (alignment != 0 && value % alignment != 0)
    alignment /= 2;
  return alignment;
}

// Returns the operands in the order of a Gemm's buffers.
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

Status CudaGemm::see(const Command &command) {
  if (command.source->op_type() != format::Op::Gemm)
    return {};
  uint64_t product = 0;
  GemmPlan *plan = nullptr;
  DTC_RETURN_IF_ERROR(planOf(command, product, plan));
  Seen &each = products[product];
  each.product = product;
  each.plan = plan;
  each.operands = operandsOf(command);
  each.flops += plan->flops();
  return {};
}

std::vector<uint64_t> CudaGemm::seen() const {
  std::vector<uint64_t> hashes;
  for (const auto &[product, each] : products)
    hashes.push_back(product);
  return hashes;
}

void CudaGemm::addTo(TuningKey &key) { key.blasLt = blas ? blas->cublasLtGetVersion() : 0; }

Status CudaGemm::fastest(WorkTimer &timer, const Seen &product,
                         WorkTimer::Clock::time_point deadline, void *workspace,
                         cu::Stream stream) const {
  GemmPlan &plan = *product.plan;
  std::vector<WorkTimer::Way> ways;
  for (const cu::BlasAlgo &algorithm : plan.algorithms())
    ways.emplace_back([&plan, &product, &algorithm, workspace, stream] {
      plan.choose(algorithm);
      return plan.run(product.operands, workspace, stream);
    });
  size_t best = 0;
  DTC_RETURN_IF_ERROR(timer.choose(ways, deadline, best));
  plan.choose(plan.algorithms()[best]);
  return {};
}

// Handles the most expensive matrix products of a step first, as time may run out.
Status CudaGemm::measure(std::vector<Seen> unknown, const TuningContext &context,
                         WorkTimer::Clock::time_point deadline, void *workspace) {
  DTC_RETURN_IF_ERROR(context.fill());
  std::sort(unknown.begin(), unknown.end(), [](const Seen &x, const Seen &y) {
    return std::pair(y.flops, x.product) < std::pair(x.flops, y.product);
  });
  WorkTimer timer(driver, pool, context.stream);
  for (const Seen &each : unknown)
    DTC_RETURN_IF_ERROR(fastest(timer, each, deadline, workspace, context.stream));
  return {};
}

// Accepts a saved choice only if cuBLASLt offers it now and it runs.
Status CudaGemm::choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                        const TuningContext &context, WorkTimer::Clock::time_point deadline,
                        TuningChoices &choices) {
  cu::DevicePtr address = 0;
  DTC_RETURN_IF_ERROR(workspaceOf(0, address));
  auto *workspace = reinterpret_cast<void *>(address);
  std::vector<Seen> unknown;
  for (uint64_t product : ours) {
    const Seen &each = products[product];
    auto found = kept.find(product);
    bool isKnown = found != kept.end() && each.plan->offers(found->second);
    if (isKnown) {
      each.plan->choose(found->second);
      isKnown = each.plan->run(each.operands, workspace, context.stream).ok();
    }
    if (!isKnown)
      unknown.push_back(each);
  }
  DTC_CUDA(driver, cuCtxSynchronize);
  if (!unknown.empty())
    DTC_RETURN_IF_ERROR(measure(std::move(unknown), context, deadline, workspace));
  for (uint64_t product : ours)
    choices[product] = products[product].plan->choice();
  return context.clear();
}

// Takes only choices that this GPU supports: a GPU of another kind may not support the algorithm,
// and would not give the same bits either.
Status CudaGemm::take(Control & /*control*/, const TuningContext & /*context*/, TuningChoices &all,
                      std::string & /*notice*/) {
  for (const auto &[product, each] : products)
    if (const cu::BlasAlgo &choice = all[product];
        each.plan->offers(choice) || each.plan->allows(choice))
      each.plan->choose(choice);
  return {};
}

} // namespace dtc::rt
