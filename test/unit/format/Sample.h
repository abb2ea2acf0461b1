// A small program that uses every instruction, and a way to build others, for tests of format and
// executor.
#pragma once

#include "runtime/format/Write.h"
#include "runtime/format/dte_generated.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dtc::test {

// Puts a manifest together piece by piece. Example: two ranks that add up one number.
//   ProgramBuilder builder({{"dp", 2}});
//   uint32_t x = builder.buffer("x", 1);
//   builder.add(collective(format::CollectiveKind::all_reduce, builder.group({0}), x, x, 1));
//   std::vector<uint8_t> file = builder.file();
class ProgramBuilder {
public:
  explicit ProgramBuilder(const std::vector<std::pair<std::string, uint32_t>> &mesh);

  format::ManifestT manifest;
  std::vector<format::SegmentBytes> segments;
  format::ProgramT &program() { return *manifest.programs[0]; }
  // Of the one task, `step`, that entry `train` runs once.
  std::vector<std::unique_ptr<format::InstructionT>> &instructions() {
    return program().tasks[0]->instructions;
  }

  // A new buffer of `elements`, 64-byte aligned after the last; returns its index.
  uint32_t buffer(const std::string &name, uint64_t elements,
                  format::DType type = format::DType::f32);
  // A parameter of this global shape with a buffer of its own; dim 0 is over axis 0 when `sharded`.
  uint32_t parameter(const std::string &name, std::vector<uint64_t> shape, bool sharded, float mean,
                     float stddev);
  // An input of this shape, whose dim 1 is over axis 0; integers are below `below`.
  void input(const std::string &name, uint32_t buffer, format::DType type,
             std::vector<uint64_t> shape, uint64_t below = 0);
  void scalar(format::ScalarRole role, uint32_t buffer);
  void output(format::OutputRole role, uint32_t buffer);
  // The index of the group of ranks that differ only on these axes.
  uint32_t group(const std::vector<uint32_t> &axes);
  uint32_t kernel(const std::string &symbol, std::vector<uint64_t> minBytes, uint64_t range);

  // Appends an instruction; the op is an object-API struct such as format::GemmT. Returns its
  // index.
  template <typename OpT> uint32_t add(OpT op, uint8_t stream = 0) {
    auto instruction = std::make_unique<format::InstructionT>();
    instruction->op.Set(std::move(op));
    instruction->stream = stream;
    instructions().push_back(std::move(instruction));
    return static_cast<uint32_t>(instructions().size() - 1);
  }

  // Sets the sums that follow from the rest, and the bytes of the file, unchecked.
  std::vector<uint8_t> file();

private:
  uint64_t ranks = 1;
  std::map<std::vector<uint32_t>, uint32_t> groups;
};

// base + sum over `terms` of stride * coordinate; terms are {stride, axis}.
std::unique_ptr<format::RankScalarT> rankScalar(int64_t base,
                                                std::vector<format::RankTerm> terms = {});

format::CollectiveT collective(format::CollectiveKind kind, uint32_t group, uint32_t src,
                               uint32_t dst, uint64_t count);
// A send or receive of a whole buffer of f32.
format::TransferT transfer(format::TransferKind kind, uint32_t group, uint32_t shift,
                           uint32_t buffer, uint64_t count);
// All of `src` to `dst`, both contiguous, f32.
format::StridedCopyT copy(uint32_t src, uint32_t dst, uint64_t elements);
format::ZeroT zero(uint32_t dst);
format::RecordT record(uint32_t event);
format::WaitT wait(uint32_t event);

// Indices into the program of sampleProgram().
struct SampleIndices {
  uint32_t zero, embedding, attention, gemm, launch, record, wait, allReduce, attentionGrad,
      embeddingGrad, copy, conv2d, conv2dInputGrad, conv2dWeightGrad;
  uint32_t pool2d, pool2dGrad; // of a maximum
  uint32_t x, loss, embed, head;
};

// A step of something like a model on `ranks` data-parallel ranks (a divisor of 8): 16 words, 8
// wide, 2 x 4 tokens a rank. Its loss is the sum over ranks of a mean square and falls as weights
// decay by the learning rate. `object`: the bytes of the shared object made from
// test/unit/format/SampleKernels.c.
ProgramBuilder sampleProgram(uint32_t ranks, std::vector<uint8_t> object,
                             SampleIndices *indices = nullptr);

// The bytes of a file, empty when there is none; and the way back.
std::vector<uint8_t> readBytes(const std::string &path);
rt::Status writeBytes(const std::string &path, std::span<const uint8_t> bytes);

} // namespace dtc::test
