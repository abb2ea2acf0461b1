// Attention and convolution by cuDNN if it was measured to be faster, and its results were checked;
// else by our own kernels.
#pragma once

#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/CudnnOperation.h"
#include "runtime/cuda/Tuning.h"

#include <map>
#include <memory>

namespace dtc::rt {

// Limits of the scratch memory that all plans of cuDNN share: a quarter of the memory left after
// the arena is allocated, and at least 1 GiB; and the bytes that must remain for later allocations
// of other libraries.
inline constexpr uint64_t cudnnWorkspaceShare = 4;
inline constexpr uint64_t leastCudnnWorkspaceBytes = uint64_t(1) << 30;
inline constexpr uint64_t bytesLeftBesideCudnn = uint64_t(512) << 20;
// Most plans of cuDNN that are tried for each operation.
inline constexpr size_t maxCudnnPlans = 5;

// Encodes a choice in the format of TuningChoices: our kernels, or an engine of cuDNN. Returns
// false for an engine that does not fit.
bool packChoice(const CudnnEngine *engine, cu::BlasAlgo &choice);
// Decodes a choice. Returns false if `choice` is none for cuDNN's operations; `isCudnn` tells if it
// is an engine.
bool unpackChoice(const cu::BlasAlgo &choice, CudnnEngine &engine, bool &isCudnn);

// Chooses an implementation for each operation of a program that cuDNN has.
class CudnnChoices : public Tunable {
public:
  CudnnChoices(CudaLibraries &libraries, const cu::Driver &driver, EventPool &pool, CudaCode &code)
      : libraries(libraries), driver(driver), pool(pool), code(code) {}
  ~CudnnChoices() override;

  // Prepares `command`, of any kind that computes, for stream number `stream`. Streams other than 0
  // use our kernels, because there is one workspace.
  Status prepare(const Command &command, int stream, std::vector<StreamWork> &works);

  Status see(const Command &command) override;
  std::vector<uint64_t> seen() const override;
  void addTo(TuningKey &key) override;
  Status choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                const TuningContext &context, WorkTimer::Clock::time_point deadline,
                TuningChoices &choices) override;
  Status take(Control &control, const TuningContext &context, TuningChoices &all,
              std::string &notice) override;

private:
  // An operation of the program, at one of the places where it runs.
  struct Seen {
    std::unique_ptr<CudnnOperation> operation;
    double flops = 0; // flops per step
    std::unique_ptr<CudnnGraph> graph;
    std::unique_ptr<CudnnPlan> plan; // null: our kernels
  };
  // A plan under test, and the memory that all plans share, as large as the largest needs.
  struct Trial;
  struct Scratch;
  using Trials = std::vector<std::unique_ptr<Trial>>;

  // Opens cuDNN; returns false if none is suitable.
  bool open();
  Status makeGraph(Seen &seen);
  // A function of CudnnOperation that plans launches.
  using Plan = Status (CudnnOperation::*)(LibraryLaunches &) const;
  // Prepares our kernels. Fails with Unavailable if the program lacks one.
  Status ourWorks(const CudnnOperation &operation, Plan plan, std::vector<StreamWork> &works);
  // Checks that a saved choice still holds; makes the plan if it is one of cuDNN.
  bool keep(Seen &seen, const cu::BlasAlgo &kept);
  Status measure(Seen &seen, const TuningContext &context, WorkTimer::Clock::time_point deadline,
                 cu::BlasAlgo &choice);
  // Fails with Unavailable if cuDNN does not support the engine, or memory is insufficient.
  Status tryEngine(const Seen &seen, const CudnnEngine &engine, Scratch &scratch, Trials &trials,
                   std::unique_ptr<Trial> &trial);
  Status grow(const Seen &seen, uint64_t bytes, Scratch &scratch, Trials &trials);
  static Status packTrial(const Seen &seen, const Scratch &scratch, Trial &trial);
  // Checks that a trial gives the results of our kernels, and the same bits twice.
  Status checkTrial(const Seen &seen, const Trial &trial, const CudnnResults &expected,
                    cu::Stream stream, bool &isRight);
  Status takeHere(const TuningContext &context, const TuningChoices &all);
  void drop();
  Status allocate(uint64_t bytes, cu::DevicePtr &memory) const;

  CudaLibraries &libraries;
  const cu::Driver &driver;
  EventPool &pool;
  CudaCode &code;
  const cu::Cudnn *cudnn = nullptr;
  cu::CudnnHandle handle = nullptr;
  bool isOpened = false;
  std::map<uint64_t, Seen> operations; // keyed by hash of their descriptions
  cu::DevicePtr workspace = 0;
  std::string disagreement; // the first one, for the notice
};

} // namespace dtc::rt
