// Runs kernels on this processor.
#include "CompiledKernel.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dtc::test {

namespace {

// The file stays open, because dlopen takes a library of the same path for the one that it has
// already loaded.
void *load(const std::vector<char> &bytes, int &file) {
  file = memfd_create("kernels", 0);
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  return handle;
}

class CpuRunner final : public KernelRunner {
public:
  CpuRunner(const KernelText &text, const KernelTarget &target) : text(text) {
    mlir::FailureOr<KernelLibrary> compiled = lowerKernels(*text.module, target);
    if (failed(compiled))
      throw std::runtime_error("the kernel was not compiled");
    library = std::move(*compiled);
    handle = load(library.bytes, file);
    function = reinterpret_cast<decltype(function)>(dlsym(handle, library.symbols.at(0).c_str()));
    EXPECT_TRUE(function);
  }
  ~CpuRunner() override {
    if (handle)
      dlclose(handle);
    if (file >= 0)
      close(file);
  }

  void call(std::vector<char *> buffers, int64_t begin, int64_t end,
            const std::vector<int64_t> &scalars) override {
    function(buffers.data(), scalars.data(), begin, end);
  }

  std::vector<Buffer> run(const std::vector<std::vector<double>> &operands,
                          const std::vector<int64_t> &scalars) override {
    std::vector<Buffer> whole = runOnce(operands, scalars, std::max<int64_t>(text.range, 1));
    for (int64_t unitsPerCall : {1, 2, 3}) {
      std::vector<Buffer> cut = runOnce(operands, scalars, unitsPerCall);
      for (size_t i = 0; i < whole.size(); ++i)
        EXPECT_EQ(whole[i].bytes, cut[i].bytes) << "in calls of " << unitsPerCall << " units";
    }
    for (auto [result, operand] : text.inPlace) {
      std::vector<Buffer> shared = runOnce(operands, scalars, 1, result, operand);
      for (size_t i = 0; i < whole.size(); ++i)
        EXPECT_EQ(whole[i].bytes, shared[i].bytes)
            << "with result " << result << " in place of operand " << operand;
    }
    return whole;
  }

private:
  std::vector<Buffer> runOnce(const std::vector<std::vector<double>> &operands,
                              const std::vector<int64_t> &scalars, int64_t unitsPerCall,
                              int result = -1, int operand = -1) {
    std::vector<Buffer> inputs, outputs;
    for (size_t i = 0; i < text.operands.size(); ++i)
      inputs.push_back(makeBuffer(text.operands[i], operands[i]));
    for (const KernelText::Tensor &tensor : text.results)
      outputs.push_back(makeBuffer(tensor, {}));
    std::vector<char *> pointers;
    for (Buffer &buffer : inputs)
      pointers.push_back(buffer.bytes.data());
    for (Buffer &buffer : outputs)
      pointers.push_back(buffer.bytes.data());
    if (result >= 0)
      pointers[inputs.size() + result] = pointers[operand];
    for (int64_t begin = 0; begin < text.range; begin += unitsPerCall)
      call(pointers, begin, std::min(begin + unitsPerCall, text.range), scalars);
    if (result >= 0)
      outputs[result] = inputs[operand];
    for (const std::vector<Buffer> &buffers : {inputs, outputs})
      for (const Buffer &buffer : buffers)
        for (int64_t i = 0; i < guardBytes; ++i)
          EXPECT_EQ(buffer.bytes[buffer.bytes.size() - 1 - i], 0x55) << "written past the end";
    return outputs;
  }

  const KernelText &text;
  KernelLibrary library;
  int file = -1;
  void *handle = nullptr;
  void (*function)(char *const *, const int64_t *, int64_t, int64_t) = nullptr;
};

} // namespace

std::unique_ptr<KernelRunner> createCpuRunner(const KernelText &text, const KernelTarget &target) {
  return std::make_unique<CpuRunner>(text, target);
}

} // namespace dtc::test
