// Runs kernels on the emulated GPU: the device code that would become PTX, with all checks of the
// emulator.
#include "CompiledKernel.h"

#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/simt/Retarget.h"
#include "runtime/simt/Launch.h"
#include "runtime/simt/LoadModule.h"
#include "llvm/Support/Error.h"
#include <cstring>
#include <tuple>

namespace dtc::test {

namespace {

class GpuRunner final : public KernelRunner {
public:
  GpuRunner(const KernelText &text, const GpuOptions &options) : text(text), options(options) {
    mlir::FailureOr<GpuModule> lowered = lowerGpuKernels(*text.module);
    if (failed(lowered))
      throw std::runtime_error("the kernel was not lowered");
    threads = lowered->kernels.at(0).threads;
    std::string symbol = lowered->kernels.at(0).symbol, several = lowered->kernels.at(0).merged;
    llvm::Expected<std::vector<char>> object = compileForSimt(std::move(lowered->module));
    if (!object)
      throw std::runtime_error(llvm::toString(object.takeError()));
    const auto *bytes = reinterpret_cast<const uint8_t *>(object->data());
    rt::Status loaded = simt::loadModule({bytes, object->size()}, module);
    if (!loaded.ok())
      throw std::runtime_error(loaded.message());
    kernel = module->find(symbol);
    if (!kernel)
      throw std::runtime_error("there is no kernel '" + symbol + "'");
    merged = several.empty() ? nullptr : module->find(several);
    if (!several.empty() && !merged)
      throw std::runtime_error("there is no kernel '" + several + "'");
  }

  // Runs all units, whichever are asked for, on the host's memory.
  void call(std::vector<char *> buffers, int64_t, int64_t,
            const std::vector<int64_t> &scalars) override {
    simt::Memory memory;
    std::vector<KernelText::Tensor> tensors = text.operands;
    tensors.insert(tensors.end(), text.results.begin(), text.results.end());
    for (size_t i = 0; i < tensors.size(); ++i) {
      auto bytes = static_cast<uint64_t>(tensors[i].size * elementBytes(tensors[i].type));
      EXPECT_TRUE(memory.addHostRange(buffers[i], bytes).ok());
    }
    rt::Status ran = start(std::move(buffers), scalars, memory, 0);
    EXPECT_TRUE(ran.ok()) << ran.message();
  }

  std::vector<Buffer> run(const std::vector<std::vector<double>> &operands,
                          const std::vector<int64_t> &scalars) override {
    std::vector<Buffer> first = launch(operands, scalars, {});
    auto expectSame = [&](const Launch &other, const std::string &how) {
      std::vector<Buffer> found = launch(operands, scalars, other);
      for (size_t i = 0; i < first.size(); ++i)
        EXPECT_EQ(first[i].bytes, found[i].bytes) << how;
    };
    expectSame({.seed = 7}, "with threads in another order");
    for (auto [result, operand] : text.inPlace)
      expectSame({.seed = 3, .result = result, .operand = operand},
                 "with result " + std::to_string(result) + " in place of operand " +
                     std::to_string(operand));
    if (merged) {
      Launch atOnce{.seed = 5, .pieces = 3};
      if (!text.inPlace.empty())
        std::tie(atOnce.result, atOnce.operand) = text.inPlace.front();
      expectSame(atOnce, "as the last of three launches at once, in place");
    }
    return first;
  }

private:
  struct Launch {
    uint64_t seed = 0;
    int result = -1, operand = -1; // the pair that shares memory
    // pieces of one merged launch, each with memory of its own; 0 for the kernel by itself
    size_t pieces = 0;
  };

  char *place(simt::Memory &memory, const KernelText::Tensor &tensor) {
    void *address = nullptr;
    int64_t shift = options.shiftedElements * elementBytes(tensor.type);
    uint64_t bytes = static_cast<uint64_t>(tensor.size * elementBytes(tensor.type) + shift);
    EXPECT_TRUE(memory.allocate(std::max<uint64_t>(bytes, 1), address).ok());
    return static_cast<char *>(address) + shift;
  }

  rt::Status start(std::vector<char *> buffers, std::vector<int64_t> numbers, simt::Memory &memory,
                   uint64_t seed) {
    numbers.push_back(text.range);
    std::vector<void *> parameters;
    for (char *&buffer : buffers)
      parameters.push_back(&buffer);
    for (int64_t &number : numbers)
      parameters.push_back(&number);
    // There is one block more than units, which does nothing.
    simt::Dim3 grid{static_cast<uint32_t>(text.range + 1)}, block{threads};
    return simt::launch(*kernel, grid, block, 0, parameters.data(), memory, {.seed = seed},
                        options.counters);
  }

  // Starts the merged kernel with `pieces` pieces. Each is an element longer than the one before,
  // up to the size of the kernel itself. One block more than they have does nothing.
  rt::Status startMerged(const std::vector<std::vector<char *>> &pieces, simt::Memory &memory,
                         uint64_t seed) {
    const KernelText::Tensor &last = text.results.back();
    int64_t blocks = 0;
    std::vector<int64_t> firsts, records;
    for (const std::vector<char *> &buffers : pieces) {
      auto shorter = static_cast<int64_t>(pieces.size() - firsts.size()) - 1;
      int64_t size = std::max<int64_t>(last.size - shorter, 1);
      firsts.push_back(blocks);
      blocks += (size + mergedPoints - 1) / mergedPoints;
      records.push_back(size * elementBytes(last.type));
      for (char *buffer : buffers)
        records.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(buffer)));
    }
    auto count = static_cast<int64_t>(pieces.size());
    const int64_t *tables[] = {firsts.data(), records.data()};
    EXPECT_TRUE(memory.addHostRange(firsts.data(), 8 * firsts.size()).ok());
    EXPECT_TRUE(memory.addHostRange(records.data(), 8 * records.size()).ok());
    void *parameters[] = {static_cast<void *>(&tables[0]), static_cast<void *>(&tables[1]), &count};
    simt::Dim3 grid{static_cast<uint32_t>(blocks + 1)};
    rt::Status ran = simt::launch(*merged, grid, {static_cast<uint32_t>(mergedThreads)}, 0,
                                  parameters, memory, {.seed = seed}, options.mergedCounters);
    EXPECT_TRUE(memory.removeHostRange(firsts.data()).ok());
    EXPECT_TRUE(memory.removeHostRange(records.data()).ok());
    return ran;
  }

  std::vector<char *> placeAll(simt::Memory &memory,
                               const std::vector<std::vector<double>> &operands,
                               const Launch &how) {
    std::vector<char *> buffers;
    for (size_t i = 0; i < text.operands.size(); ++i) {
      buffers.push_back(place(memory, text.operands[i]));
      Buffer values = makeBuffer(text.operands[i], operands[i]);
      size_t bytes = values.bytes.size() - guardBytes;
      memcpy(buffers.back(), values.bytes.data(), bytes);
      if (bytes > 0)
        EXPECT_TRUE(memory.markWritten(buffers.back(), bytes).ok());
    }
    for (size_t i = 0; i < text.results.size(); ++i) {
      buffers.push_back(static_cast<int>(i) == how.result ? buffers[how.operand]
                                                          : place(memory, text.results[i]));
      size_t bytes = makeBuffer(text.results[i], {}).bytes.size() - guardBytes;
      if (text.hasGaps && static_cast<int>(i) != how.result && bytes > 0) {
        memset(buffers.back(), 0xff, bytes);
        EXPECT_TRUE(memory.markWritten(buffers.back(), bytes).ok());
      }
    }
    return buffers;
  }

  std::vector<Buffer> launch(const std::vector<std::vector<double>> &operands,
                             const std::vector<int64_t> &scalars, const Launch &how) {
    simt::Memory memory;
    std::vector<std::vector<char *>> pieces;
    while (pieces.size() < std::max<size_t>(how.pieces, 1))
      pieces.push_back(placeAll(memory, operands, how));
    const std::vector<char *> &buffers = pieces.back();
    rt::Status ran = how.pieces == 0 ? start(buffers, scalars, memory, how.seed)
                                     : startMerged(pieces, memory, how.seed);
    EXPECT_TRUE(ran.ok()) << ran.message();
    std::vector<Buffer> results;
    for (size_t i = 0; i < text.results.size(); ++i) {
      results.push_back(makeBuffer(text.results[i], {}));
      size_t bytes = results.back().bytes.size() - guardBytes;
      char *from = buffers[text.operands.size() + i];
      if (bytes > 0 && ran.ok()) {
        rt::Status written = memory.checkRead(from, bytes, "result " + std::to_string(i));
        EXPECT_TRUE(written.ok()) << written.message();
      }
      memcpy(results.back().bytes.data(), from, bytes);
    }
    return results;
  }

  const KernelText &text;
  GpuOptions options;
  std::unique_ptr<simt::Module> module;
  const simt::Kernel *kernel = nullptr, *merged = nullptr; // merged: null if there is none
  uint32_t threads = 0;
};

} // namespace

std::unique_ptr<KernelRunner> createGpuRunner(const KernelText &text, const GpuOptions &options) {
  return std::make_unique<GpuRunner>(text, options);
}

} // namespace dtc::test
