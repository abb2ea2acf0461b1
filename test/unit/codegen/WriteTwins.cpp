// Writes kernels for a GPU with random operands and what this processor makes of them, for
// test/gpu/kernels.py.
//
//   dtc-write-twins FOLDER sm_90|simt SIZE...
//
// One of each kind of generated kernel, of both types, for each size as columns and as rows.
// FOLDER/cases.json describes them, FOLDER/operands.bin and FOLDER/results.bin hold the numbers,
// FOLDER/N.code the code: PTX, or an object for the emulated GPU.
#include "KernelCases.h"

#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/PtxCode.h"
#include "passes/simt/Retarget.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>
#include <iostream>

using namespace dtc;
using namespace dtc::test;

namespace {

template <typename T> T valueOf(llvm::Expected<T> value) {
  if (!value)
    throw std::runtime_error(llvm::toString(value.takeError()));
  return std::move(*value);
}

class Writer {
public:
  Writer(const std::string &folder, std::optional<GpuTarget> target)
      : folder(folder), target(target), operandBytes(folder + "/operands.bin", std::ios::binary),
        resultBytes(folder + "/results.bin", std::ios::binary) {}

  void add(const KernelCase &kernel, int64_t columns, const std::string &name) {
    KernelText text = formKernel(kernel.signature, kernel.body, kernel.results);
    std::vector<std::vector<double>> operands = makeOperands(kernel, text, columns);
    // The scalars are windows' first elements, and the first sample and stream of random numbers.
    std::vector<int64_t> scalars(kernel.body.find("key(") != std::string::npos ? 2 : 0, 5);
    std::vector<Buffer> wanted = createCpuRunner(text, {})->run(operands, scalars);
    mlir::FailureOr<GpuModule> lowered = lowerGpuKernels(*text.module);
    if (failed(lowered))
      throw std::runtime_error(name + " was not lowered");
    GpuKernel gpu = lowered->kernels.at(0);
    writeCode(std::move(*lowered));
    llvm::json::Array reads, writes, numbers;
    for (size_t i = 0; i < operands.size(); ++i)
      reads.push_back(write(makeBuffer(text.operands[i], operands[i]), text.operands[i],
                            operandBytes, operandSize));
    for (size_t i = 0; i < wanted.size(); ++i)
      writes.push_back(write(wanted[i], text.results[i], resultBytes, resultSize));
    for (int64_t scalar : scalars)
      numbers.push_back(scalar);
    cases.push_back(llvm::json::Object{{"name", name},
                                       {"symbol", gpu.symbol},
                                       {"threads", gpu.threads},
                                       {"range", text.range},
                                       {"scalars", std::move(numbers)},
                                       {"exact", kernel.magnitude == 0},
                                       {"operands", std::move(reads)},
                                       {"results", std::move(writes)}});
  }

  size_t finish() {
    size_t count = cases.size();
    std::error_code error;
    llvm::raw_fd_ostream out(folder + "/cases.json", error);
    if (error || !operandBytes.flush() || !resultBytes.flush())
      throw std::runtime_error("writing to " + folder);
    out << llvm::json::Value(std::move(cases));
    return count;
  }

private:
  void writeCode(GpuModule gpu) {
    std::ofstream file(folder + "/" + std::to_string(cases.size()) + ".code", std::ios::binary);
    if (target) {
      file << valueOf(compilePtx(*gpu.module, *target));
    } else {
      std::vector<char> object = valueOf(compileForSimt(std::move(gpu.module)));
      file.write(object.data(), static_cast<std::streamsize>(object.size()));
    }
    if (!file.flush())
      throw std::runtime_error("writing to " + folder);
  }

  static llvm::json::Object write(const Buffer &buffer, const KernelText::Tensor &tensor,
                                  std::ofstream &file, int64_t &offset) {
    int64_t bytes = tensor.size * elementBytes(tensor.type);
    file.write(buffer.bytes.data(), bytes);
    llvm::json::Object described{
        {"type", tensor.type}, {"size", tensor.size}, {"offset", offset}, {"bytes", bytes}};
    offset += bytes;
    return described;
  }

  std::string folder;
  std::optional<GpuTarget> target;
  std::ofstream operandBytes, resultBytes;
  int64_t operandSize = 0, resultSize = 0;
  llvm::json::Array cases;
};

int run(llvm::ArrayRef<std::string> arguments) {
  if (arguments.size() < 3)
    throw std::runtime_error("usage: dtc-write-twins FOLDER sm_80|sm_90|sm_100|simt SIZE...");
  std::optional<GpuTarget> target = readGpuTarget(arguments[1]);
  if (!target && arguments[1] != "simt")
    throw std::runtime_error("'" + arguments[1] + "' is no target");
  Writer writer(arguments[0], target);
  for (const std::string &text : arguments.drop_front(2)) {
    int64_t size = 0;
    if (llvm::StringRef(text).getAsInteger(10, size) || size < 1)
      throw std::runtime_error("'" + text + "' is no size");
    for (const char *type : {"f32", "bf16"})
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, size}, {size, 32}})
        for (const KernelCase &kernel : kernelCases(rows, columns, type))
          writer.add(kernel, columns,
                     kernel.name + " of " + std::to_string(rows) + " x " + std::to_string(columns) +
                         " " + type);
  }
  std::cout << writer.finish() << " kernels for " << arguments[1] << " are in " << arguments[0]
            << "\n";
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  try {
    return run(std::vector<std::string>(arguments + 1, arguments + count));
  } catch (const std::exception &error) {
    std::cerr << "dtc-write-twins: " << error.what() << "\n";
    return 1;
  }
}
