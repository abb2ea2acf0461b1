// Matrix products by cuBLASLt.
#pragma once

#include "runtime/cuda/AgreeOnChoices.h"
#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/GemmTimer.h"

#include <array>
#include <compare>
#include <memory>

namespace dtc::rt {

// How algorithms are chosen.
struct TuningOptions {
  double seconds = 0; // longest that a rank measures; 0: the first that cuBLASLt offers are taken
  std::string program = {};            // hash of the executable
  std::vector<std::string> files = {}; // where choices are kept, less the device's name
};

class CudaGemm {
public:
  CudaGemm(CudaLibraries &libraries, const cu::Driver &driver, EventPool &pool);
  ~CudaGemm();

  // The product `command`, a Gemm, on stream number `stream`. What it needs is made now.
  Status prepare(const Command &command, int stream, StreamWork &work);

  // What tune() works with.
  struct TuningPlace {
    cu::Stream stream = nullptr; // number 0
    std::string device = {};     // "NVIDIA H200"
    int capability = 0;
    bool saves = false; // whether this rank keeps the choices
    // Makes what products read something like numbers, and zeros again.
    std::function<Status()> fill = {}, clear = {};
  };
  // Chooses the algorithm of each product for all ranks alike: as in the file that keeps choices, else by measuring. `notice`
  // becomes what a user should know. Collective.
  Status tune(Control &control, const CommandSource &products, const TuningOptions &options,
              const TuningPlace &place, std::string &notice);

private:
  // Of a command, all that its plan depends on.
  struct Key {
    const format::Instruction *source = nullptr;
    bool startsSum = false;
    decltype(GemmCase::alignments) alignments{};
    auto operator<=>(const Key &) const = default;
  };
  // A product that tune() has seen.
  struct Seen {
    uint64_t product = 0;
    GemmPlan *plan = nullptr;
    GemmOperands operands;
    double flops = 0; // of a step
  };

  Status open();
  // The plan of `command`; its `product` is the hash of its description.
  Status planOf(const Command &command, uint64_t &product, GemmPlan *&plan);
  Status workspaceOf(int stream, cu::DevicePtr &workspace);
  Status see(const CommandSource &products, std::map<uint64_t, Seen> &seen, TuningKey &key);
  Status measure(std::vector<Seen> products, const TuningOptions &options, const TuningPlace &place,
                 void *workspace);
  Status choose(const std::vector<Seen> &products, const TuningChoices &kept,
                const TuningOptions &options, const TuningPlace &place);

  CudaLibraries &libraries;
  const cu::Driver &driver;
  EventPool &pool;
  const cu::BlasLt *blas = nullptr;
  cu::BlasHandle handle = nullptr;
  std::map<uint64_t, std::unique_ptr<GemmPlan>> plans; // by hash of their descriptions
  std::map<Key, std::pair<uint64_t, GemmPlan *>> known;
  std::map<int, cu::DevicePtr> workspaces; // by stream, as products of two may run at once
};

} // namespace dtc::rt
