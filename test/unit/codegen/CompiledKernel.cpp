// Runs kernel functions written as text.
#include "CompiledKernel.h"

#include "dialects/graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/Passes.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace dtc::test {

namespace {

// Bytes beyond every buffer, which no kernel may change.
constexpr int64_t guardBytes = 128;

int64_t elementBytes(const std::string &type) {
  return type == "i64" ? 8 : type == "f32" || type == "i32" ? 4 : 2;
}

const llvm::fltSemantics &semantics(const std::string &type) {
  return type == "bf16" ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
}

// The file stays open: dlopen takes a library of the same path for the one that it has loaded
// already.
void *load(const std::vector<char> &bytes, int &file) {
  file = memfd_create("kernels", 0);
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  return handle;
}

} // namespace

double Buffer::get(int64_t i) const {
  const char *at = bytes.data() + i * elementBytes(type);
  if (type == "f32") {
    float value;
    memcpy(&value, at, 4);
    return value;
  }
  if (type == "i32" || type == "i64") {
    int64_t value = 0;
    memcpy(&value, at, elementBytes(type));
    return static_cast<double>(type == "i32" ? static_cast<int32_t>(value) : value);
  }
  uint16_t bits;
  memcpy(&bits, at, 2);
  return llvm::APFloat(semantics(type), llvm::APInt(16, bits)).convertToDouble();
}

void Buffer::set(int64_t i, double value) {
  char *at = bytes.data() + i * elementBytes(type);
  if (type == "f32") {
    float narrow = static_cast<float>(value);
    memcpy(at, &narrow, 4);
  } else if (type == "i32" || type == "i64") {
    int64_t whole = static_cast<int64_t>(value);
    memcpy(at, &whole, elementBytes(type));
  } else {
    llvm::APFloat narrow(value);
    bool losesInfo;
    narrow.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint16_t bits = narrow.bitcastToAPInt().getZExtValue();
    memcpy(at, &bits, 2);
  }
}

CompiledKernel::CompiledKernel(const std::string &signature, const std::string &body,
                               const std::string &results, const KernelTarget &target) {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::string types = signature.substr(signature.find("->") + 2);
  if (types.find('(') != std::string::npos)
    types = types.substr(types.find('(') + 1, types.rfind(')') - types.find('(') - 1);
  std::string text = "graph.func @f" + signature + " {\n" + body + "\ngraph.return " + results +
                     " : " + types + "\n}";
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    throw std::runtime_error("text does not parse: " + text);
  PassManager passes(&context);
  passes.addPass(createFormKernels());
  if (failed(passes.run(*module)))
    throw std::runtime_error("no kernels formed");
  graph::FuncOp kernel;
  int numKernels = 0;
  for (graph::FuncOp candidate : module->getOps<graph::FuncOp>())
    if (candidate.getKernel()) {
      kernel = candidate;
      ++numKernels;
    }
  EXPECT_EQ(numKernels, 1) << text;
  auto describe = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    std::string element;
    llvm::raw_string_ostream(element) << tensor.getElementType();
    return Tensor{tensor.getNumElements(), element};
  };
  for (Type type : kernel.getArgumentTypes())
    operandTensors.push_back(describe(type));
  for (Type type : kernel.getResultTypes())
    resultTensors.push_back(describe(type));
  for (Attribute pair : kernel->getAttrOfType<ArrayAttr>(kernelInPlaceName)) {
    auto values = cast<DenseI64ArrayAttr>(pair);
    inPlace.push_back({static_cast<int>(values[0]), static_cast<int>(values[1])});
  }
  kernelRange = kernel->getAttrOfType<IntegerAttr>(kernelRangeName).getInt();
  FailureOr<KernelLibrary> compiled = lowerKernels(*module, target);
  if (failed(compiled))
    throw std::runtime_error("not compiled: " + text);
  library = std::move(*compiled);
  handle = load(library.bytes, file);
  function = reinterpret_cast<decltype(function)>(dlsym(handle, library.symbols.at(0).c_str()));
  EXPECT_TRUE(function);
}

CompiledKernel::~CompiledKernel() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

void CompiledKernel::call(std::vector<char *> buffers, int64_t begin, int64_t end,
                          const std::vector<int64_t> &scalars) {
  function(buffers.data(), scalars.data(), begin, end);
}

Buffer CompiledKernel::makeBuffer(const Tensor &tensor, const std::vector<double> &values) const {
  Buffer buffer;
  buffer.type = tensor.type;
  buffer.bytes.assign(tensor.size * elementBytes(tensor.type) + guardBytes, 0x55);
  for (size_t i = 0; i < values.size(); ++i)
    buffer.set(i, values[i]);
  return buffer;
}

std::vector<Buffer> CompiledKernel::runOnce(const std::vector<std::vector<double>> &operands,
                                            const std::vector<int64_t> &scalars,
                                            int64_t unitsPerCall, int result, int operand) {
  std::vector<Buffer> inputs, outputs;
  for (size_t i = 0; i < operandTensors.size(); ++i) {
    EXPECT_EQ(static_cast<int64_t>(operands.at(i).size()), operandTensors[i].size);
    inputs.push_back(makeBuffer(operandTensors[i], operands[i]));
  }
  for (const Tensor &tensor : resultTensors)
    outputs.push_back(makeBuffer(tensor, {}));
  std::vector<char *> pointers;
  for (Buffer &buffer : inputs)
    pointers.push_back(buffer.bytes.data());
  for (Buffer &buffer : outputs)
    pointers.push_back(buffer.bytes.data());
  if (result >= 0)
    pointers[inputs.size() + result] = pointers[operand];
  for (int64_t begin = 0; begin < kernelRange; begin += unitsPerCall)
    call(pointers, begin, std::min(begin + unitsPerCall, kernelRange), scalars);
  if (result >= 0)
    outputs[result] = inputs[operand];
  for (const std::vector<Buffer> &buffers : {inputs, outputs})
    for (const Buffer &buffer : buffers)
      for (int64_t i = 0; i < guardBytes; ++i)
        EXPECT_EQ(buffer.bytes[buffer.bytes.size() - 1 - i], 0x55) << "written past the end";
  return outputs;
}

std::vector<std::vector<double>>
CompiledKernel::run(const std::vector<std::vector<double>> &operands,
                    const std::vector<int64_t> &scalars) {
  std::vector<Buffer> whole = runOnce(operands, scalars, std::max<int64_t>(kernelRange, 1));
  for (int64_t unitsPerCall : {1, 2, 3}) {
    std::vector<Buffer> cut = runOnce(operands, scalars, unitsPerCall);
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_EQ(whole[i].bytes, cut[i].bytes) << "in calls of " << unitsPerCall << " units";
  }
  for (auto [result, operand] : inPlace) {
    std::vector<Buffer> shared = runOnce(operands, scalars, 1, result, operand);
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_EQ(whole[i].bytes, shared[i].bytes)
          << "with result " << result << " in place of operand " << operand;
  }
  std::vector<std::vector<double>> results(whole.size());
  for (size_t i = 0; i < whole.size(); ++i)
    for (int64_t at = 0; at < resultTensors[i].size; ++at)
      results[i].push_back(whole[i].get(at));
  return results;
}

std::vector<double> randomValues(int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(size);
  for (double &value : values)
    value = static_cast<float>(static_cast<int32_t>(random()) * std::ldexp(1.0, -30));
  return values;
}

void expectNear(const std::vector<double> &found, const std::vector<double> &wanted,
                double relative, double absolute) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    double tolerance = std::max(absolute, relative * std::abs(wanted[i]));
    if (!(std::abs(found[i] - wanted[i]) <= tolerance)) {
      FAIL() << "element " << i << " of " << wanted.size() << " is " << found[i] << ", but "
             << wanted[i] << " +- " << tolerance << " is wanted";
    }
  }
}

} // namespace dtc::test
