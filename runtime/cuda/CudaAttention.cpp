#include "runtime/cuda/CudaAttention.h"

#include "kernels/cuda/Attention.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/cuda/CudaLibrary.h"
#include "runtime/cuda/launches/LibraryLaunches.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Header.h"

#include <algorithm>
#include <cstring>

namespace dtc::rt {
namespace {

using format::text;

// Marks a choice as one for attention, in its last word: "dtcattn1".
constexpr uint64_t kMark = 0x6474636174746e31;
constexpr size_t kWords = std::size(cu::BlasAlgo{}.data);
// The words between hold two knobs each: type + 1 above 24 bits of value.
constexpr size_t kMostKnobs = 2 * (kWords - 2);
constexpr int kValueBits = 24;
constexpr int64_t kMostValue = (int64_t(1) << (kValueBits - 1)) - 1;
// Number of offered engines among which a saved choice is searched.
constexpr size_t kOfferedPlans = 32;

uint64_t hashOf(const AttentionCase &attention) {
  std::string words = describeAttention(attention);
  return format::hash128({reinterpret_cast<const uint8_t *>(words.data()), words.size()}).low;
}

// Returns false for a command that is no attention, or one that cuDNN's patterns do not support.
bool caseOf(const Command &command, AttentionCase &attention) {
  const auto *gradient = command.source->op_as_AttentionGrad();
  const format::Attention *op = gradient ? gradient->forward() : command.source->op_as_Attention();
  if (!op)
    return false;
  LibraryLaunches planned;
  LibraryOperands operands{command.buffers, command.scalars, command.startsSum};
  if (!planLibrary(*command.source, operands, planned).ok() ||
      8 * planned.parameter.size() < sizeof(attention.params))
    return false;
  if (!findElementType(op->dtype(), attention.type).ok())
    return false;
  attention.isGradient = gradient;
  std::memcpy(&attention.params, planned.parameter.data(), sizeof(attention.params));
  return isCudnnCase(attention);
}

// Our kernels, because time ran out: the next start measures again.
constexpr uint64_t kUnmeasured = ~uint64_t(0);
cu::BlasAlgo unmeasuredChoice() {
  cu::BlasAlgo choice{};
  choice.data[1] = kUnmeasured;
  choice.data[kWords - 1] = kMark;
  return choice;
}
bool isUnmeasured(const cu::BlasAlgo &choice) {
  return choice.data[0] == 0 && choice.data[1] == kUnmeasured;
}

Status runAll(const std::vector<StreamWork> &works, cu::Stream stream) {
  for (const StreamWork &work : works)
    DTC_RETURN_IF_ERROR(work(stream));
  return {};
}

} // namespace

bool packChoice(const CudnnEngine *engine, cu::BlasAlgo &choice) {
  choice = {};
  choice.data[kWords - 1] = kMark;
  if (!engine)
    return true;
  if (engine->knobs.size() > kMostKnobs || engine->index < 0)
    return false;
  choice.data[0] = static_cast<uint64_t>(engine->index) + 1;
  size_t knob = 0;
  for (const auto &[type, value] : engine->knobs) {
    if (type < 0 || type > 254 || value < -kMostValue || value > kMostValue)
      return false;
    uint64_t packed =
        static_cast<uint64_t>(type + 1) << kValueBits | static_cast<uint64_t>(value + kMostValue);
    choice.data[1 + knob / 2] |= packed << (32 * (knob % 2));
    ++knob;
  }
  return true;
}

bool unpackChoice(const cu::BlasAlgo &choice, CudnnEngine &engine, bool &isCudnn) {
  engine = {};
  isCudnn = choice.data[0] != 0;
  if (choice.data[kWords - 1] != kMark)
    return false;
  engine.index = isCudnn ? static_cast<int64_t>(choice.data[0]) - 1 : 0;
  for (size_t knob = 0; knob < kMostKnobs; ++knob) {
    uint64_t packed = choice.data[1 + knob / 2] >> (32 * (knob % 2)) & 0xffffffff;
    if (packed != 0)
      engine.knobs[static_cast<int>(packed >> kValueBits) - 1] =
          static_cast<int64_t>(packed & ((uint64_t(1) << kValueBits) - 1)) - kMostValue;
  }
  return true;
}

struct CudaAttention::Trial {
  CudnnEngine engine;
  std::unique_ptr<CudnnPlan> plan;
  std::unique_ptr<CudnnObject> pack; // binds the scratch memory that all trials share
};

struct CudaAttention::Scratch {
  explicit Scratch(const cu::Driver &driver) : driver(driver) {}
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() { free(); }
  void free() {
    if (at)
      (void)driver.cuMemFree(at);
    at = 0, bytes = 0;
  }

  const cu::Driver &driver;
  cu::DevicePtr at = 0;
  uint64_t bytes = 0;
};

CudaAttention::~CudaAttention() {
  attentions.clear();
  if (handle)
    (void)cudnn->cudnnDestroy(handle);
  if (workspace)
    (void)driver.cuMemFree(workspace);
}

bool CudaAttention::open() {
  if (isOpened)
    return handle;
  isOpened = true;
  if (libraries.cudnn(cudnn).ok() && cudnn->cudnnCreate(&handle) != cu::cudnnSuccess)
    handle = nullptr;
  return handle;
}

Status CudaAttention::makeGraph(Seen &seen) {
  if (seen.graph)
    return {};
  auto made = std::make_unique<CudnnGraph>(*cudnn, CudnnTarget{.handle = handle});
  DTC_RETURN_IF_ERROR(buildAttention(seen.attention, *made));
  seen.graph = std::move(made);
  return {};
}

Status CudaAttention::allocate(uint64_t bytes, cu::DevicePtr &memory) const {
  memory = 0;
  if (bytes == 0)
    return {};
  size_t unused = 0, total = 0;
  DTC_CUDA(driver, cuMemGetInfo, &unused, &total);
  if (unused < bytes + bytesLeftBesideCudnn)
    return Status::unavailable(
        text("its workspace of ", bytes, " bytes is more than there is for it: ", unused,
             " bytes are left, of which ", bytesLeftBesideCudnn, " stay free"));
  DTC_CUDA(driver, cuMemAlloc, &memory, bytes);
  return {};
}

Status CudaAttention::prepare(const Command &command, int stream, std::vector<StreamWork> &works) {
  AttentionCase attention;
  if (stream != 0 || attentions.empty() || !caseOf(command, attention))
    return prepareLibrary(command, code, works);
  auto found = attentions.find(hashOf(attention));
  if (found == attentions.end() || !found->second.plan)
    return prepareLibrary(command, code, works);
  auto pack = std::make_shared<CudnnObject>();
  const CudnnPlan *plan = found->second.plan.get();
  DTC_RETURN_IF_ERROR(
      plan->pack(pointersOf(attention), reinterpret_cast<void *>(workspace), *pack));
  works.emplace_back([this, plan, pack](cu::Stream on) { return plan->run(handle, *pack, on); });
  return {};
}

Status CudaAttention::see(const Command &command) {
  AttentionCase attention;
  if (!caseOf(command, attention))
    return {};
  Seen &each = attentions[hashOf(attention)];
  each.attention = attention;
  each.flops += flopsOf(attention);
  return {};
}

std::vector<uint64_t> CudaAttention::seen() const {
  std::vector<uint64_t> hashes;
  for (const auto &[hash, each] : attentions)
    hashes.push_back(hash);
  return hashes;
}

void CudaAttention::addTo(TuningKey &key) {
  key.cudnn = !attentions.empty() && open() ? cudnn->cudnnGetVersion() : 0;
}

Status CudaAttention::ourWorks(const AttentionCase &attention, std::vector<StreamWork> &works) {
  std::vector<cuda::Launch> launches;
  std::string wrong = attention.isGradient
                          ? cuda::planAttentionGrad(attention.type, attention.params, launches)
                          : cuda::planAttention(attention.type, attention.params, launches);
  if (!wrong.empty())
    return Status::unavailable(wrong);
  for (const cuda::Launch &launch : launches) {
    LaunchShape shape{.x = launch.gridX,
                      .y = launch.gridY,
                      .z = 1,
                      .threads = launch.threads,
                      .sharedBytes = launch.sharedBytes};
    DTC_RETURN_IF_ERROR(code.prepare(launch.kernel, shape, &attention.params,
                                     sizeof(attention.params), works.emplace_back()));
  }
  return {};
}

Status CudaAttention::packTrial(const Seen &seen, const Scratch &scratch, Trial &trial) {
  trial.pack = std::make_unique<CudnnObject>();
  return trial.plan->pack(pointersOf(seen.attention), reinterpret_cast<void *>(scratch.at),
                          *trial.pack);
}

// Enlarges the scratch memory. If the allocation fails, the earlier trials lose theirs too.
Status CudaAttention::grow(const Seen &seen, uint64_t bytes, Scratch &scratch, Trials &trials) {
  if (bytes <= scratch.bytes)
    return {};
  size_t unused = 0, total = 0;
  DTC_CUDA(driver, cuMemGetInfo, &unused, &total);
  uint64_t most =
      std::max(leastCudnnWorkspaceBytes, (unused + scratch.bytes) / cudnnWorkspaceShare);
  if (bytes > most)
    return Status::unavailable("its workspace is too large");
  scratch.free();
  Status status = allocate(bytes, scratch.at);
  if (status.ok())
    scratch.bytes = bytes;
  for (size_t i = 0; status.ok() && i < trials.size(); ++i)
    status = packTrial(seen, scratch, *trials[i]);
  if (!status.ok())
    trials.clear();
  return status;
}

Status CudaAttention::tryEngine(const Seen &seen, const CudnnEngine &engine, Scratch &scratch,
                                Trials &trials, std::unique_ptr<Trial> &trial) {
  auto made = std::make_unique<Trial>();
  made->engine = engine;
  DTC_RETURN_IF_ERROR(seen.graph->plan(engine, made->plan));
  DTC_RETURN_IF_ERROR(grow(seen, made->plan->workspaceBytes(), scratch, trials));
  DTC_RETURN_IF_ERROR(packTrial(seen, scratch, *made));
  trial = std::move(made);
  return {};
}

Status CudaAttention::checkTrial(const Seen &seen, const Trial &trial,
                                 const AttentionResults &expected, cu::Stream stream,
                                 bool &isRight) {
  isRight = false;
  AttentionResults first, second;
  for (AttentionResults *results : {&first, &second}) {
    DTC_RETURN_IF_ERROR(spoilResults(driver, seen.attention, stream));
    Status ran = trial.plan->run(handle, *trial.pack, stream);
    DTC_RETURN_IF_ERROR(readResults(driver, seen.attention, *results));
    if (!ran.ok())
      return {}; // cuDNN itself rejects the plan
  }
  std::string difference = findDifference(seen.attention, expected, first);
  if (difference.empty() && !areSame(seen.attention, first, second))
    difference = "two runs differ";
  isRight = difference.empty();
  if (!isRight && disagreement.empty())
    disagreement = difference;
  return {};
}

// Measures one attention: runs our kernels once, collects plans of cuDNN that give the same result,
// and chooses the fastest of all.
Status CudaAttention::measure(Seen &seen, const TuningContext &context,
                              WorkTimer::Clock::time_point deadline, cu::BlasAlgo &choice) {
  std::vector<StreamWork> works, before;
  std::vector<CudnnEngine> engines;
  (void)packChoice(nullptr, choice);
  AttentionCase forward = seen.attention;
  forward.isGradient = false;
  bool canTry = ourWorks(seen.attention, works).ok() &&
                (!seen.attention.isGradient || ourWorks(forward, before).ok()) &&
                makeGraph(seen).ok() && seen.graph->engines(maxCudnnPlans, engines).ok();
  if (!canTry || engines.empty())
    return {};
  DTC_RETURN_IF_ERROR(context.fill());
  AttentionResults expected;
  DTC_RETURN_IF_ERROR(runAll(before, context.stream));
  DTC_RETURN_IF_ERROR(spoilResults(driver, seen.attention, context.stream));
  DTC_RETURN_IF_ERROR(runAll(works, context.stream));
  DTC_RETURN_IF_ERROR(readResults(driver, seen.attention, expected));
  Scratch scratch(driver);
  Trials trials;
  bool isCutShort = false;
  for (const CudnnEngine &engine : engines) {
    std::unique_ptr<Trial> trial;
    cu::BlasAlgo packed;
    isCutShort = WorkTimer::Clock::now() >= deadline;
    if (isCutShort)
      break;
    if (!packChoice(&engine, packed) || !tryEngine(seen, engine, scratch, trials, trial).ok())
      continue;
    bool isRight = false;
    DTC_RETURN_IF_ERROR(checkTrial(seen, *trial, expected, context.stream, isRight));
    if (isRight)
      trials.push_back(std::move(trial));
  }
  std::vector<WorkTimer::Way> ways = {[&] { return runAll(works, context.stream); }};
  for (const std::unique_ptr<Trial> &trial : trials)
    ways.emplace_back([this, &context, each = trial.get()] {
      return each->plan->run(handle, *each->pack, context.stream);
    });
  size_t best = 0;
  if (!trials.empty())
    DTC_RETURN_IF_ERROR(WorkTimer(driver, pool, context.stream).choose(ways, deadline, best));
  // Chooses the first, our kernels, if the measurement was cut short.
  isCutShort = isCutShort || (!trials.empty() && WorkTimer::Clock::now() >= deadline);
  if (best > 0) {
    (void)packChoice(&trials[best - 1]->engine, choice);
    seen.plan = std::move(trials[best - 1]->plan);
  } else if (isCutShort) {
    choice = unmeasuredChoice();
  }
  return {};
}

bool CudaAttention::keep(Seen &seen, const cu::BlasAlgo &kept) {
  CudnnEngine engine;
  bool isCudnn = false;
  if (!unpackChoice(kept, engine, isCudnn) || isUnmeasured(kept))
    return false;
  if (!isCudnn)
    return true;
  std::vector<CudnnEngine> engines;
  return makeGraph(seen).ok() && seen.graph->engines(kOfferedPlans, engines).ok() &&
         std::find(engines.begin(), engines.end(), engine) != engines.end() &&
         seen.graph->plan(engine, seen.plan).ok();
}

// Handles the most expensive attentions of a step first, as time may run out.
Status CudaAttention::choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                             const TuningContext &context, WorkTimer::Clock::time_point deadline,
                             TuningChoices &choices) {
  std::vector<uint64_t> unknown;
  for (uint64_t hash : ours) {
    auto found = kept.find(hash);
    (void)packChoice(nullptr, choices[hash]);
    if (!open())
      continue;
    if (found != kept.end() && keep(attentions[hash], found->second))
      choices[hash] = found->second;
    else
      unknown.push_back(hash);
  }
  std::sort(unknown.begin(), unknown.end(), [this](uint64_t x, uint64_t y) {
    return std::pair(attentions[y].flops, x) < std::pair(attentions[x].flops, y);
  });
  for (uint64_t hash : unknown)
    if (Status status = measure(attentions[hash], context, deadline, choices[hash]); !status.ok())
      return {status.statusCode(),
              text("measuring cuDNN's attention, which DTC_TUNING_MS=0 leaves out: ",
                   status.message())};
  return unknown.empty() ? Status() : context.clear();
}

void CudaAttention::drop() {
  for (auto &[hash, each] : attentions)
    each.plan.reset();
  if (workspace)
    (void)driver.cuMemFree(workspace);
  workspace = 0;
}

// Runs each plan once, which loads its code: loading it later might make the driver wait for
// streams that wait for other ranks.
Status CudaAttention::takeHere(const TuningContext &context, const TuningChoices &all) {
  uint64_t bytes = 0;
  for (auto &[hash, each] : attentions) {
    CudnnEngine engine;
    bool isCudnn = false;
    auto found = all.find(hash);
    if (found == all.end() || !unpackChoice(found->second, engine, isCudnn) || !isCudnn) {
      each.plan.reset();
      continue;
    }
    if (!open())
      return Status::unavailable("there is no cuDNN, or one that is too old");
    DTC_RETURN_IF_ERROR(makeGraph(each));
    if (!each.plan)
      DTC_RETURN_IF_ERROR(each.graph->plan(engine, each.plan));
    bytes = std::max(bytes, each.plan->workspaceBytes());
  }
  DTC_RETURN_IF_ERROR(allocate(bytes, workspace));
  for (auto &[hash, each] : attentions) {
    if (!each.plan)
      continue;
    CudnnObject pack;
    DTC_RETURN_IF_ERROR(
        each.plan->pack(pointersOf(each.attention), reinterpret_cast<void *>(workspace), pack));
    DTC_RETURN_IF_ERROR(each.plan->run(handle, pack, context.stream));
    DTC_CUDA(driver, cuCtxSynchronize);
  }
  return {};
}

Status CudaAttention::take(Control &control, const TuningContext &context, TuningChoices &all,
                           std::string &notice) {
  auto add = [&](const std::string &words) { notice += (notice.empty() ? "" : "; ") + words; };
  if (!disagreement.empty())
    add(text("cuDNN's attention is not what dtc's own kernels compute, which are used: ",
             disagreement));
  CudnnEngine engine;
  bool isAny = false, isAnyUnmeasured = false;
  for (const auto &[hash, choice] : all) {
    bool isCudnn = false, isOurs = unpackChoice(choice, engine, isCudnn);
    isAny = isAny || (isOurs && isCudnn);
    isAnyUnmeasured = isAnyUnmeasured || (isOurs && isUnmeasured(choice));
  }
  if (isAnyUnmeasured)
    add("cuDNN's attention, which may be faster, was not measured for want of time: give a larger "
        "DTC_TUNING_MS");
  if (!isAny)
    return {};
  Status here = takeHere(context, all);
  int lowest = -1;
  DTC_RETURN_IF_ERROR(agree(control, Status(), !here.ok(), lowest));
  if (lowest >= 0) {
    drop();
    for (auto &[hash, choice] : all)
      if (unpackChoice(choice, engine, isAny) && isAny)
        (void)packChoice(nullptr, choice);
    add(text("cuDNN's attention, which is faster, is not used, as rank ", lowest, " cannot have it",
             here.ok() ? "" : ": ", here.message()));
  }
  return context.clear();
}

} // namespace dtc::rt
