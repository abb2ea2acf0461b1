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

class CudaGemm : public Tunable {
public:
  CudaGemm(CudaLibraries &libraries, const cu::Driver &driver, EventPool &pool);
  ~CudaGemm() override;

  // The product `command`, a Gemm, on stream number `stream`. What it needs is made now.
  Status prepare(const Command &command, int stream, StreamWork &work);

  Status see(const Command &command) override;
  std::vector<uint64_t> seen() const override;
  void addTo(TuningKey &key) override;
  Status choose(const std::vector<uint64_t> &ours, const TuningChoices &kept,
                const TuningPlace &place, WorkTimer::Clock::time_point deadline,
                TuningChoices &choices) override;
  Status take(Control &control, const TuningPlace &place, TuningChoices &all,
              std::string &notice) override;

private:
  // Of a command, all that its plan depends on.
  struct Key {
    const format::Instruction *source = nullptr;
    bool startsSum = false;
    decltype(GemmCase::alignments) alignments{};
    auto operator<=>(const Key &) const = default;
  };
  // A product of the program.
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
  Status measure(std::vector<Seen> unknown, const TuningPlace &place,
                 WorkTimer::Clock::time_point deadline, void *workspace);
  // The fastest algorithm of a product.
  Status fastest(WorkTimer &timer, const Seen &product, WorkTimer::Clock::time_point deadline,
                 void *workspace, cu::Stream stream) const;

  CudaLibraries &libraries;
  const cu::Driver &driver;
  EventPool &pool;
  const cu::BlasLt *blas = nullptr;
  cu::BlasHandle handle = nullptr;
  std::map<uint64_t, std::unique_ptr<GemmPlan>> plans; // by hash of their descriptions
  std::map<Key, std::pair<uint64_t, GemmPlan *>> known;
  std::map<uint64_t, Seen> products;       // that tuning has seen, by hash
  std::map<int, cu::DevicePtr> workspaces; // by stream, as products of two may run at once
};

} // namespace dtc::rt
