// Matrix products by cuBLASLt.
#pragma once

#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/GemmPlan.h"
#include "runtime/cuda/Tuning.h"

#include <array>
#include <compare>
#include <memory>

namespace dtc::rt {

// Chooses an algorithm for each matrix product of a program.
class CudaGemm : public Tunable {
public:
  CudaGemm(CudaLibraries &libraries, const cu::Driver &driver, EventPool &pool);
  ~CudaGemm() override;

  // Prepares the matrix product of `command`, a Gemm, for stream number `stream`; creates
  // everything that it needs.
  Status prepare(const Command &command, int stream, StreamWork &work);

  Status see(const Command &command) override;
  std::vector<uint64_t> seen() const override;
  void addTo(TuningKey &key) override;
  Status choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                const TuningContext &context, WorkTimer::Clock::time_point deadline,
                TuningChoices &choices) override;
  Status take(Control &control, const TuningContext &context, TuningChoices &all,
              std::string &notice) override;

private:
  // Everything that the plan of a command depends on.
  struct Key {
    const format::Instruction *source = nullptr;
    bool startsSum = false;
    decltype(GemmCase::alignments) alignments{};
    auto operator<=>(const Key &) const = default;
  };
  // A matrix product of the program.
  struct Seen {
    uint64_t product = 0;
    GemmPlan *plan = nullptr;
    GemmOperands operands;
    double flops = 0; // flops per step
  };

  Status open();
  // Returns the plan of `command`; `product` gets the hash of its description.
  Status planOf(const Command &command, uint64_t &product, GemmPlan *&plan);
  Status workspaceOf(int stream, cu::DevicePtr &workspace);
  Status measure(std::vector<Seen> unknown, const TuningContext &context,
                 WorkTimer::Clock::time_point deadline, void *workspace);
  // Chooses the fastest algorithm of a matrix product.
  Status fastest(WorkTimer &timer, const Seen &product, WorkTimer::Clock::time_point deadline,
                 void *workspace, cu::Stream stream) const;

  CudaLibraries &libraries;
  const cu::Driver &driver;
  EventPool &pool;
  const cu::BlasLt *blas = nullptr;
  cu::BlasHandle handle = nullptr;
  std::map<uint64_t, std::unique_ptr<GemmPlan>> plans; // keyed by hash of their descriptions
  std::map<Key, std::pair<uint64_t, GemmPlan *>> known;
  std::map<uint64_t, Seen> products; // products that tuning has seen, keyed by hash
  // keyed by stream, as two streams may run products at once
  std::map<int, cu::DevicePtr> workspaces;
};

} // namespace dtc::rt
