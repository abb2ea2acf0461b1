// A small program that uses every instruction, and a builder of other programs, for tests of format
// and executor.
#pragma once

#include "runtime/format/Write.h"
#include "runtime/format/dte_generated.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dtc::test {

// Builds a manifest piece by piece. Example with two ranks that add up one number:
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
  // Returns the instructions of the only task, `step`, which entry `train` runs once.
  std::vector<std::unique_ptr<format::InstructionT>> &instructions() {
    return program().tasks[0]->instructions;
  }

  // Adds a buffer of `elements`, aligned to 64 bytes behind the last one. Returns its index.
  uint32_t buffer(const std::string &name, uint64_t elements,
                  format::DType type = format::DType::f32);
  // Adds a parameter of this global shape with a buffer of its own. Dim 0 is over axis 0 if
  // `sharded`.
  uint32_t parameter(const std::string &name, std::vector<uint64_t> shape, bool sharded, float mean,
                     float stddev);
  // Adds an input of this shape, whose dim 1 is over axis 0. Integers are below `below`.
  void input(const std::string &name, uint32_t buffer, format::DType type,
             std::vector<uint64_t> shape, uint64_t below = 0);
  // Makes the buffer a scalar that the executor sets.
  void scalar(format::ScalarRole role, uint32_t buffer);
  // Makes the buffer an output of the program.
  void output(format::OutputRole role, uint32_t buffer);
  // Returns the index of the group of ranks that differ only on these axes.
  uint32_t group(const std::vector<uint32_t> &axes);
  // Adds a kernel of the code object and returns its index.
  uint32_t kernel(const std::string &symbol, std::vector<uint64_t> minBytes, uint64_t range);

  // Appends an instruction and returns its index. The op is an object-API struct such as
  // format::GemmT.
  template <typename OpT> uint32_t add(OpT op, uint8_t stream = 0) {
    auto instruction = std::make_unique<format::InstructionT>();
    instruction->op.Set(std::move(op));
    instruction->stream = stream;
    instructions().push_back(std::move(instruction));
    return static_cast<uint32_t>(instructions().size() - 1);
  }

  // Sets the sums that follow from the rest, and returns the bytes of the file, without checks.
  std::vector<uint8_t> file();

private:
  uint64_t ranks = 1;
  std::map<std::vector<uint32_t>, uint32_t> groups;
};

// Returns base + sum over `terms` of stride * coordinate. Terms are {stride, axis}.
std::unique_ptr<format::RankScalarT> rankScalar(int64_t base,
                                                std::vector<format::RankTerm> terms = {});

format::CollectiveT collective(format::CollectiveKind kind, uint32_t group, uint32_t src,
                               uint32_t dst, uint64_t count);
// Returns a send or receive of a whole buffer of f32.
format::TransferT transfer(format::TransferKind kind, uint32_t group, uint32_t shift,
                           uint32_t buffer, uint64_t count);
// Returns a copy of all of `src` to `dst`, both contiguous f32.
format::StridedCopyT copy(uint32_t src, uint32_t dst, uint64_t elements);
format::ZeroT zero(uint32_t dst);
format::RecordT record(uint32_t event);
format::WaitT wait(uint32_t event);

// Indices into the program of sampleProgram().
struct SampleIndices {
  uint32_t zero, embedding, attention, gemm, launch, record, wait, allReduce, attentionGrad,
      embeddingGrad, copy, conv2d, conv2dInputGrad, conv2dWeightGrad, groupedGemm, groupedSums;
  uint32_t pool2d, pool2dGrad;           // a maximum
  uint32_t x, loss, embed, head, tokens; // tokens are lengths and documents of attention, too
};

// Returns a step similar to a model's on `ranks` data-parallel ranks (a divisor of 8): 16 words, 8
// wide, 2 x 4 tokens per rank. Its loss is the sum over ranks of a mean square, and falls as
// weights decay by the learning rate. `object` has the bytes of the shared object made from
// test/unit/format/SampleKernels.c.
ProgramBuilder sampleProgram(uint32_t ranks, std::vector<uint8_t> object,
                             SampleIndices *indices = nullptr);

// Returns what verifyManifest says of a manifest, as of a file "m.dte".
rt::Status verify(const format::ManifestT &manifest);

// Returns the bytes of a file, empty if there is none.
std::vector<uint8_t> readBytes(const std::string &path);
// Writes the bytes of a file.
rt::Status writeBytes(const std::string &path, std::span<const uint8_t> bytes);

} // namespace dtc::test
