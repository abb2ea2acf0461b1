// Reads a model: graph IR from a .mlir file, or built from a Hugging Face config.json.
#include "compiler/frontend/Frontend.h"

#include "compiler/frontend/HfConfig.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/text/ParseModel.h"
#include "dialects/graph/Inputs.h"
#include "passes/graph/CompleteModel.h"
#include "passes/graph/LossForm.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace dtc {
namespace {

// Only the batch is open, in the first dim of every input.
LogicalResult checkInput(graph::FuncOp loss, unsigned index) {
  auto type = cast<RankedTensorType>(loss.getArgumentTypes()[index]);
  std::string what = ("has input '" + graph::getInputName(loss, index) + "'").str();
  if (!type.isDynamicDim(0))
    return loss.emitOpError(what) << " with a batch of " << type.getDimSize(0)
                                  << "; dim 0 is the batch, written '?'";
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      return loss.emitOpError(what)
             << " with dim " << dim << " of any size; only dim 0, the batch, is '?'";
  return success();
}

// graph.sequence_length is dim 1 of the inputs that are sequences.
LogicalResult checkSequence(ModuleOp module, graph::FuncOp loss) {
  auto sequence = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr);
  if (!sequence)
    return success();
  for (Type type : loss.getArgumentTypes())
    if (auto tensor = cast<RankedTensorType>(type);
        tensor.getRank() > 1 && tensor.getDimSize(1) == sequence.getInt())
      return success();
  return loss.emitOpError("has no input with dim 1 of graph.sequence_length, which is ")
         << sequence.getInt();
}

// Sums over all parameters are kept in 64 bits, several bytes an element.
LogicalResult checkSize(ModuleOp module) {
  constexpr double kMostParameters = 1e15;
  double elements = 0;
  for (auto parameter : module.getOps<graph::ParameterOp>())
    elements += static_cast<double>(cast<RankedTensorType>(parameter.getType()).getNumElements());
  if (elements <= kMostParameters)
    return success();
  return module.emitError("the model has ")
         << llvm::formatv("{0:e2}", elements).str() << " parameters, wanted at most "
         << llvm::formatv("{0:e0}", kMostParameters).str();
}

} // namespace

LogicalResult checkModel(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return module.emitError("the model has no function '@loss' from its inputs to tensor<f32>");
  if (failed(graph::checkLossSignature(loss)))
    return failure();
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    if (failed(checkInput(loss, i)))
      return failure();
  if (failed(checkSequence(module, loss)) || failed(findLossForm(loss)))
    return failure();
  return checkSize(module);
}

namespace {

// What follows from the text of a model, written out; then what models have to be.
LogicalResult complete(ModuleOp module) {
  return success(succeeded(completeModel(module)) && succeeded(checkModel(module)));
}

// As it is written: not complete yet.
Result<OwningOpRef<ModuleOp>> readText(MLIRContext *context, const std::string &path,
                                       const std::string &text, int64_t sequence,
                                       SourceNotes *notes) {
  if (StringRef(text).trim().empty())
    return UserError("the file is empty", kWhatModelsAre, {path, 1, 1});
  if (!StringRef(text).ltrim().starts_with("{"))
    return parseModel(context, path, text, notes);
  HfConfig config(path, text);
  OwningOpRef<ModuleOp> module;
  if (config.ok())
    module = importHfConfig(context, config, sequence);
  if (!config.ok())
    return config.error();
  return module;
}

// The model at `path`, checked: as it is written, or complete.
Result<OwningOpRef<ModuleOp>> readAndCheck(MLIRContext *context, const std::string &path,
                                           int64_t sequence, bool keepWritten, SourceNotes *notes) {
  context->loadDialect<graph::GraphDialect>();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return UserError("reading model '" + path + "': " + buffer.getError().message());
  std::string text = (*buffer)->getBuffer().str();
  Result<OwningOpRef<ModuleOp>> written = readText(context, path, text, sequence, notes);
  if (!written)
    return written;
  OwningOpRef<ModuleOp> checked = keepWritten ? (*written)->clone() : written->release();
  DiagnosticCapture capture(context);
  if (succeeded(complete(*checked)))
    return keepWritten ? std::move(*written) : std::move(checked);
  UserError error =
      capture.errorOr(UserError("reading model '" + path + "': it can't be used", kWhatModelsAre));
  error.message = nameTypes(error.message, text);
  if (error.place.line == 0)
    error.place = {path};
  return error;
}

OwningOpRef<ModuleOp> orReport(Result<OwningOpRef<ModuleOp>> module, llvm::raw_ostream &errors) {
  if (module)
    return std::move(*module);
  module.error().report(errors);
  return nullptr;
}

} // namespace

OwningOpRef<ModuleOp> loadModel(MLIRContext *context, const std::string &path, int64_t sequence,
                                llvm::raw_ostream &errors) {
  return orReport(readAndCheck(context, path, sequence, /*keepWritten=*/false, nullptr), errors);
}

OwningOpRef<ModuleOp> readModel(MLIRContext *context, const std::string &path, int64_t sequence,
                                llvm::raw_ostream &errors, SourceNotes &notes) {
  return orReport(readAndCheck(context, path, sequence, /*keepWritten=*/true, &notes), errors);
}

} // namespace dtc
