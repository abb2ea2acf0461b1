// Attention by cuDNN where it was measured to be faster, and found to be right; else by our own kernels.
#pragma once

#include "runtime/cuda/AttentionCheck.h"
#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/Tuning.h"

#include <map>
#include <memory>

namespace dtc::rt {

// What plans of cuDNN may have for a scratch memory, one for all of them: a quarter of what is left when the arena has been made, and
// 1 GiB in any case; and what has to be left beside it for what other libraries allocate later.
inline constexpr uint64_t cudnnWorkspaceShare = 4;
inline constexpr uint64_t leastCudnnWorkspaceBytes = uint64_t(1) << 30;
inline constexpr uint64_t bytesLeftBesideCudnn = uint64_t(512) << 20;
// Plans of cuDNN that are tried of each attention.
inline constexpr size_t maxCudnnPlans = 5;

// A choice as TuningChoices have it: our kernels, or an engine of cuDNN's. False for an engine that has no place there.
bool packChoice(const CudnnEngine *engine, cu::BlasAlgo &choice);
// The way back. False where `choice` is none for an attention; `isCudnn` becomes whether it is an engine.
bool unpackChoice(const cu::BlasAlgo &choice, CudnnEngine &engine, bool &isCudnn);

class CudaAttention : public Tunable {
public:
  CudaAttention(CudaLibraries &libraries, const cu::Driver &driver, EventPool &pool, CudaCode &code)
      : libraries(libraries), driver(driver), pool(pool), code(code) {}
  ~CudaAttention() override;

  // What `command`, an Attention or AttentionGrad, is on stream number `stream`: of all but number 0 our kernels, as the
  // workspace is one.
  Status prepare(const Command &command, int stream, std::vector<StreamWork> &works);

  Status see(const Command &command) override;
  std::vector<uint64_t> seen() const override;
  void addTo(TuningKey &key) override;
  Status choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                const TuningPlace &place, WorkTimer::Clock::time_point deadline,
                TuningChoices &choices) override;
  Status take(Control &control, const TuningPlace &place, TuningChoices &all,
              std::string &notice) override;

private:
  // An attention of the program that cuDNN may do, at one of the places where it runs.
  struct Seen {
    AttentionCase attention;
    double flops = 0; // of a step
    std::unique_ptr<CudnnGraph> graph;
    std::unique_ptr<CudnnPlan> plan; // null: our kernels
  };
  // A plan that is tried, and the memory in which all of them work, as large as the largest needs.
  struct Trial;
  struct Scratch;
  using Trials = std::vector<std::unique_ptr<Trial>>;

  // Opens cuDNN; false where there is none that would do.
  bool open();
  Status makeGraph(Seen &seen);
  // Of our kernels. Unavailable where the program lacks one.
  Status ourWorks(const AttentionCase &attention, std::vector<StreamWork> &works);
  // Whether a choice of before still holds; the plan is made where it is one of cuDNN's.
  bool keep(Seen &seen, const cu::BlasAlgo &kept);
  Status measure(Seen &seen, const TuningPlace &place, WorkTimer::Clock::time_point deadline,
                 cu::BlasAlgo &choice);
  // Unavailable where cuDNN, or the memory that is left, does not do.
  Status tryEngine(const Seen &seen, const CudnnEngine &engine, Scratch &scratch, Trials &trials,
                   std::unique_ptr<Trial> &trial);
  Status grow(const Seen &seen, uint64_t bytes, Scratch &scratch, Trials &trials);
  static Status packTrial(const Seen &seen, const Scratch &scratch, Trial &trial);
  // Whether it does what our kernels do, and the same bits twice.
  Status checkTrial(const Seen &seen, const Trial &trial, const AttentionResults &expected,
                    cu::Stream stream, bool &isRight);
  Status takeHere(const TuningPlace &place, const TuningChoices &all);
  void drop();
  Status allocate(uint64_t bytes, cu::DevicePtr &memory) const;

  CudaLibraries &libraries;
  const cu::Driver &driver;
  EventPool &pool;
  CudaCode &code;
  const cu::Cudnn *cudnn = nullptr;
  cu::CudnnHandle handle = nullptr;
  bool isOpened = false;
  std::map<uint64_t, Seen> attentions; // by hash of their descriptions
  cu::DevicePtr workspace = 0;
  std::string disagreement; // the first, for the notice
};

} // namespace dtc::rt
