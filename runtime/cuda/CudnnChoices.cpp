#include "runtime/cuda/CudnnChoices.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/cuda/AttentionOperation.h"
#include "runtime/cuda/ConvolutionOperation.h"
#include "runtime/cuda/CudaLibrary.h"
#include "runtime/cuda/PoolingOperation.h"
#include "runtime/format/Header.h"

#include <algorithm>

namespace dtc::rt {
namespace {

using format::text;

// Marks a choice as one of cuDNN or our kernels, in its last word: "dtcattn1".
constexpr uint64_t kMark = 0x6474636174746e31;
constexpr size_t kWords = std::size(cu::BlasAlgo{}.data);
// The words between hold two knobs each: type + 1 above 24 bits of value.
constexpr size_t kMostKnobs = 2 * (kWords - 2);
constexpr int kValueBits = 24;
constexpr int64_t kMostValue = (int64_t(1) << (kValueBits - 1)) - 1;
// Number of offered engines among which a saved choice is searched.
constexpr size_t kOfferedPlans = 32;

// Returns the operation of a command; null for one that cuDNN is not asked for.
std::unique_ptr<CudnnOperation> cudnnOperationOf(const Command &command) {
  std::unique_ptr<CudnnOperation> attention = attentionOperationOf(command);
  if (attention)
    return attention;
  std::unique_ptr<CudnnOperation> convolution = convolutionOperationOf(command);
  return convolution ? std::move(convolution) : poolingOperationOf(command);
}

uint64_t hashOf(const CudnnOperation &operation) {
  std::string words = operation.describe();
  return format::hash128({reinterpret_cast<const uint8_t *>(words.data()), words.size()}).low;
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

struct CudnnChoices::Trial {
  CudnnEngine engine;
  std::unique_ptr<CudnnPlan> plan;
  std::unique_ptr<CudnnObject> pack; // binds the scratch memory that all trials share
};

struct CudnnChoices::Scratch {
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

CudnnChoices::~CudnnChoices() {
  operations.clear();
  if (handle)
    (void)cudnn->cudnnDestroy(handle);
  if (workspace)
    (void)driver.cuMemFree(workspace);
}

bool CudnnChoices::open() {
  if (isOpened)
    return handle;
  isOpened = true;
  if (libraries.cudnn(cudnn).ok() && cudnn->cudnnCreate(&handle) != cu::cudnnSuccess)
    handle = nullptr;
  return handle;
}

Status CudnnChoices::makeGraph(Seen &seen) {
  if (seen.graph)
    return {};
  auto made = std::make_unique<CudnnGraph>(*cudnn, CudnnTarget{.handle = handle});
  DTC_RETURN_IF_ERROR(seen.operation->build(*made));
  seen.graph = std::move(made);
  return {};
}

Status CudnnChoices::allocate(uint64_t bytes, cu::DevicePtr &memory) const {
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

Status CudnnChoices::prepare(const Command &command, int stream, std::vector<StreamWork> &works) {
  std::unique_ptr<CudnnOperation> operation;
  if (stream == 0 && !operations.empty())
    operation = cudnnOperationOf(command);
  auto found = operation ? operations.find(hashOf(*operation)) : operations.end();
  if (found == operations.end() || !found->second.plan)
    return prepareLibrary(command, code, works);
  auto pack = std::make_shared<CudnnObject>();
  const CudnnPlan *plan = found->second.plan.get();
  DTC_RETURN_IF_ERROR(
      plan->pack(operation->stepPointers(), reinterpret_cast<void *>(workspace), *pack));
  works.emplace_back([this, plan, pack](cu::Stream on) { return plan->run(handle, *pack, on); });
  return ourWorks(*operation, &CudnnOperation::planAfter, works);
}

Status CudnnChoices::see(const Command &command) {
  std::unique_ptr<CudnnOperation> operation = cudnnOperationOf(command);
  if (!operation)
    return {};
  Seen &each = operations[hashOf(*operation)];
  each.flops += operation->flops();
  each.operation = std::move(operation);
  return {};
}

std::vector<uint64_t> CudnnChoices::seen() const {
  std::vector<uint64_t> hashes;
  for (const auto &[hash, each] : operations)
    hashes.push_back(hash);
  return hashes;
}

void CudnnChoices::addTo(TuningKey &key) {
  key.cudnn = !operations.empty() && open() ? cudnn->cudnnGetVersion() : 0;
}

Status CudnnChoices::ourWorks(const CudnnOperation &operation, Plan plan,
                              std::vector<StreamWork> &works) {
  LibraryLaunches planned;
  DTC_RETURN_IF_ERROR((operation.*plan)(planned));
  return prepareLaunches(planned, code, works);
}

Status CudnnChoices::packTrial(const Seen &seen, const Scratch &scratch, Trial &trial) {
  trial.pack = std::make_unique<CudnnObject>();
  return trial.plan->pack(seen.operation->pointers(), reinterpret_cast<void *>(scratch.at),
                          *trial.pack);
}

// Enlarges the scratch memory. If the allocation fails, the earlier trials lose theirs too.
Status CudnnChoices::grow(const Seen &seen, uint64_t bytes, Scratch &scratch, Trials &trials) {
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

Status CudnnChoices::tryEngine(const Seen &seen, const CudnnEngine &engine, Scratch &scratch,
                               Trials &trials, std::unique_ptr<Trial> &trial) {
  auto made = std::make_unique<Trial>();
  made->engine = engine;
  DTC_RETURN_IF_ERROR(seen.graph->plan(engine, made->plan));
  DTC_RETURN_IF_ERROR(grow(seen, made->plan->workspaceBytes(), scratch, trials));
  DTC_RETURN_IF_ERROR(packTrial(seen, scratch, *made));
  trial = std::move(made);
  return {};
}

Status CudnnChoices::checkTrial(const Seen &seen, const Trial &trial, const CudnnResults &expected,
                                cu::Stream stream, bool &isRight) {
  isRight = false;
  CudnnResults first, second;
  for (CudnnResults *results : {&first, &second}) {
    DTC_RETURN_IF_ERROR(seen.operation->spoilResults(driver, stream));
    Status ran = trial.plan->run(handle, *trial.pack, stream);
    DTC_RETURN_IF_ERROR(seen.operation->readResults(driver, *results));
    if (!ran.ok())
      return {}; // cuDNN itself rejects the plan
  }
  std::string difference = seen.operation->findDifference(expected, first);
  if (difference.empty() && !seen.operation->areSame(first, second))
    difference = "two runs differ";
  isRight = difference.empty();
  if (!isRight && disagreement.empty())
    disagreement = difference;
  return {};
}

// Measures one operation: runs our kernels once, collects plans of cuDNN that give the same result,
// and chooses the fastest of all.
Status CudnnChoices::measure(Seen &seen, const TuningContext &context,
                             WorkTimer::Clock::time_point deadline, cu::BlasAlgo &choice) {
  std::vector<StreamWork> works, before;
  std::vector<CudnnEngine> engines;
  (void)packChoice(nullptr, choice);
  const CudnnOperation &operation = *seen.operation;
  bool canTry = ourWorks(operation, &CudnnOperation::planOurs, works).ok() &&
                ourWorks(operation, &CudnnOperation::planBefore, before).ok() &&
                makeGraph(seen).ok() && seen.graph->engines(maxCudnnPlans, engines).ok();
  if (!canTry || engines.empty())
    return {};
  DTC_RETURN_IF_ERROR(context.fill());
  CudnnResults expected;
  DTC_RETURN_IF_ERROR(runAll(before, context.stream));
  DTC_RETURN_IF_ERROR(operation.spoilResults(driver, context.stream));
  DTC_RETURN_IF_ERROR(runAll(works, context.stream));
  DTC_RETURN_IF_ERROR(operation.readResults(driver, expected));
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

bool CudnnChoices::keep(Seen &seen, const cu::BlasAlgo &kept) {
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

// Handles the most expensive operations of a step first, as time may run out.
Status CudnnChoices::choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                            const TuningContext &context, WorkTimer::Clock::time_point deadline,
                            TuningChoices &choices) {
  std::vector<uint64_t> unknown;
  for (uint64_t hash : ours) {
    auto found = kept.find(hash);
    (void)packChoice(nullptr, choices[hash]);
    if (!open())
      continue;
    if (found != kept.end() && keep(operations[hash], found->second))
      choices[hash] = found->second;
    else
      unknown.push_back(hash);
  }
  std::sort(unknown.begin(), unknown.end(), [this](uint64_t x, uint64_t y) {
    return std::pair(operations[y].flops, x) < std::pair(operations[x].flops, y);
  });
  for (uint64_t hash : unknown)
    if (Status status = measure(operations[hash], context, deadline, choices[hash]); !status.ok())
      return {status.statusCode(),
              text("measuring operations of cuDNN, which DTC_TUNING_MS=0 leaves out: ",
                   status.message())};
  return unknown.empty() ? Status() : context.clear();
}

void CudnnChoices::drop() {
  for (auto &[hash, each] : operations)
    each.plan.reset();
  if (workspace)
    (void)driver.cuMemFree(workspace);
  workspace = 0;
}

// Runs each plan once, which loads its code: loading it later might make the driver wait for
// streams that wait for other ranks.
Status CudnnChoices::takeHere(const TuningContext &context, const TuningChoices &all) {
  uint64_t bytes = 0;
  for (auto &[hash, each] : operations) {
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
  for (auto &[hash, each] : operations) {
    if (!each.plan)
      continue;
    CudnnObject pack;
    DTC_RETURN_IF_ERROR(
        each.plan->pack(each.operation->pointers(), reinterpret_cast<void *>(workspace), pack));
    DTC_RETURN_IF_ERROR(each.plan->run(handle, pack, context.stream));
    DTC_CUDA(driver, cuCtxSynchronize);
  }
  return {};
}

Status CudnnChoices::take(Control &control, const TuningContext &context, TuningChoices &all,
                          std::string &notice) {
  auto add = [&](const std::string &words) { notice += (notice.empty() ? "" : "; ") + words; };
  if (!disagreement.empty())
    add(text("what cuDNN computes is not what dtc's own kernels compute, which are used: ",
             disagreement));
  CudnnEngine engine;
  bool isAny = false, isAnyUnmeasured = false;
  for (const auto &[hash, choice] : all) {
    bool isCudnn = false, isOurs = unpackChoice(choice, engine, isCudnn);
    isAny = isAny || (isOurs && isCudnn);
    isAnyUnmeasured = isAnyUnmeasured || (isOurs && isUnmeasured(choice));
  }
  if (isAnyUnmeasured)
    add("operations of cuDNN, which may be faster, were not measured for want of time: give a "
        "larger "
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
    add(text("cuDNN, which is faster, is not used, as rank ", lowest, " cannot have it",
             here.ok() ? "" : ": ", here.message()));
  }
  return context.clear();
}

} // namespace dtc::rt
