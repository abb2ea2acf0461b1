// Forms kernels from text, and describes their buffers.
#include "CompiledKernel.h"

#include "dialects/graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/Passes.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace mlir;

namespace dtc::test {

static const llvm::fltSemantics &semantics(Element type) {
  return type == Element::BF16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
}

Element elementOf(const std::string &type) {
  static const std::map<std::string, Element> all = {{"f32", Element::F32},
                                                     {"bf16", Element::BF16},
                                                     {"f16", Element::F16},
                                                     {"i32", Element::I32},
                                                     {"i64", Element::I64}};
  return all.at(type);
}

static int64_t bytesOf(Element type) {
  switch (type) {
  case Element::I64:
    return 8;
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::BF16:
  case Element::F16:
    return 2;
  }
  llvm_unreachable("all elements are above");
}

int64_t elementBytes(const std::string &type) { return bytesOf(elementOf(type)); }

double Buffer::get(int64_t i) const {
  const char *at = bytes.data() + i * bytesOf(type);
  if (type == Element::F32) {
    float value;
    memcpy(&value, at, 4);
    return value;
  }
  if (type == Element::I32 || type == Element::I64) {
    int64_t value = 0;
    memcpy(&value, at, bytesOf(type));
    return static_cast<double>(type == Element::I32 ? static_cast<int32_t>(value) : value);
  }
  uint16_t bits;
  memcpy(&bits, at, 2);
  return llvm::APFloat(semantics(type), llvm::APInt(16, bits)).convertToDouble();
}

void Buffer::set(int64_t i, double value) {
  char *at = bytes.data() + i * bytesOf(type);
  if (type == Element::F32) {
    float narrow = static_cast<float>(value);
    memcpy(at, &narrow, 4);
  } else if (type == Element::I32 || type == Element::I64) {
    int64_t whole = static_cast<int64_t>(value);
    memcpy(at, &whole, bytesOf(type));
    // same as below, but quicker
  } else if (type == Element::BF16 && static_cast<float>(value) == value) {
    uint32_t wide;
    float single = static_cast<float>(value);
    memcpy(&wide, &single, 4);
    auto bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    memcpy(at, &bits, 2);
  } else {
    llvm::APFloat narrow(value);
    bool losesInfo;
    narrow.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint16_t bits = narrow.bitcastToAPInt().getZExtValue();
    memcpy(at, &bits, 2);
  }
}

KernelText formKernel(const std::string &signature, const std::string &body,
                      const std::string &results) {
  KernelText formed;
  formed.context = std::make_unique<MLIRContext>();
  DialectRegistry registry;
  registry.insert<graph::GraphDialect>();
  formed.context->appendDialectRegistry(registry);
  formed.context->loadAllAvailableDialects();
  std::string types = signature.substr(signature.find("->") + 2);
  if (types.find('(') != std::string::npos)
    types = types.substr(types.find('(') + 1, types.rfind(')') - types.find('(') - 1);
  std::string text = "graph.func @f" + signature + " {\n" + body + "\ngraph.return " + results +
                     " : " + types + "\n}";
  formed.module = parseSourceString<ModuleOp>(text, formed.context.get());
  if (!formed.module)
    throw std::runtime_error("text does not parse: " + text);
  PassManager passes(formed.context.get());
  passes.addPass(createFormKernels());
  if (failed(passes.run(*formed.module)))
    throw std::runtime_error("no kernels formed");
  graph::FuncOp kernel;
  int numKernels = 0;
  for (graph::FuncOp candidate : formed.module->getOps<graph::FuncOp>())
    if (candidate.getKernel()) {
      kernel = candidate;
      ++numKernels;
    }
  EXPECT_EQ(numKernels, 1) << text;
  auto describe = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    std::string element;
    llvm::raw_string_ostream(element) << tensor.getElementType();
    return KernelText::Tensor{tensor.getNumElements(), element};
  };
  for (Type type : kernel.getArgumentTypes())
    formed.operands.push_back(describe(type));
  for (Type type : kernel.getResultTypes())
    formed.results.push_back(describe(type));
  for (Attribute pair : kernel->getAttrOfType<ArrayAttr>(kernelInPlaceName)) {
    auto values = cast<DenseI64ArrayAttr>(pair);
    formed.inPlace.push_back({static_cast<int>(values[0]), static_cast<int>(values[1])});
  }
  formed.range = kernel->getAttrOfType<IntegerAttr>(kernelRangeName).getInt();
  return formed;
}

Buffer makeBuffer(const KernelText::Tensor &tensor, const std::vector<double> &values) {
  Buffer buffer;
  buffer.type = elementOf(tensor.type);
  buffer.bytes.assign(tensor.size * elementBytes(tensor.type) + guardBytes, 0x55);
  for (size_t i = 0; i < values.size(); ++i)
    buffer.set(i, values[i]);
  return buffer;
}

static std::unique_ptr<KernelRunner> createRunner(const KernelText &text,
                                                  const KernelTarget &target) {
#ifdef DTC_SHIFTED_ELEMENTS
  (void)target;
  return createGpuRunner(text, {.shiftedElements = DTC_SHIFTED_ELEMENTS});
#else
  return createCpuRunner(text, target);
#endif
}

CompiledKernel::CompiledKernel(const std::string &signature, const std::string &body,
                               const std::string &results, const KernelTarget &target)
    : text(formKernel(signature, body, results)), runner(createRunner(text, target)) {}

std::vector<std::vector<double>>
CompiledKernel::run(const std::vector<std::vector<double>> &operands,
                    const std::vector<int64_t> &scalars) {
  for (size_t i = 0; i < text.operands.size(); ++i)
    EXPECT_EQ(static_cast<int64_t>(operands.at(i).size()), text.operands[i].size);
  std::vector<Buffer> found = runner->run(operands, scalars);
  std::vector<std::vector<double>> results(found.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (int64_t at = 0; at < text.results[i].size; ++at)
      results[i].push_back(found[i].get(at));
  return results;
}

void CompiledKernel::call(std::vector<char *> buffers, int64_t begin, int64_t end,
                          const std::vector<int64_t> &scalars) {
  runner->call(std::move(buffers), begin, end, scalars);
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
