// Reads a model: graph IR from a .mlir file, or built from a Hugging Face config.json.
#include "compiler/frontend/Frontend.h"

#include "compiler/frontend/HfConfig.h"
#include "compiler/support/Diagnostics.h"
#include "dialects/graph/Verify.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace dtc {
namespace {

LogicalResult checkIds(graph::FuncOp loss, unsigned index, const char *name, int64_t sequence) {
  auto type = dyn_cast<RankedTensorType>(loss.getArgumentTypes()[index]);
  if (!type || type.getRank() != 2 || !type.getElementType().isInteger(32))
    return loss.emitOpError("needs argument ")
           << index << " (" << name << ") to be tensor<?x" << sequence << "xi32>, not "
           << loss.getArgumentTypes()[index];
  if (!type.isDynamicDim(0))
    return loss.emitOpError("needs argument ")
           << index << " (" << name << ") to have a dynamic batch '?', not " << type.getDimSize(0);
  if (type.getDimSize(1) != sequence)
    return loss.emitOpError("has argument ")
           << index << " (" << name << ") of " << type.getDimSize(1)
           << " tokens, but graph.sequence_length is " << sequence;
  return success();
}

constexpr const char *kWhatModelsAre =
    "a model is a module in the graph dialect, as 'dtc import' writes one, or a Hugging Face "
    "config.json";

Result<OwningOpRef<ModuleOp>> parse(MLIRContext *context, const std::string &path,
                                    std::unique_ptr<llvm::MemoryBuffer> buffer) {
  DiagnosticCapture capture(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  UserError unknown("reading model '" + path + "': it can't be parsed", kWhatModelsAre);
  if (!module) {
    UserError error = capture.errorOr(unknown);
    // The parser's own notes are for people who build MLIR tools.
    error.note = kWhatModelsAre;
    return error;
  }
  if (failed(checkModel(*module)))
    return capture.errorOr(unknown);
  return module;
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
  for (llvm::StringRef name : {graph::kVocabularyAttr, graph::kSequenceLengthAttr}) {
    if (!module->hasAttr(name))
      return module.emitError("the model needs the attribute '")
             << name << "', a whole number of 1 or more (i64)";
  }
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return module.emitError("the model has no function '@loss' (tokens, targets) -> tensor<f32>");
  if (failed(graph::checkLossSignature(loss)))
    return failure();
  int64_t sequence = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr).getInt();
  if (failed(checkIds(loss, 0, "tokens", sequence)) ||
      failed(checkIds(loss, 1, "targets", sequence)))
    return failure();
  return checkSize(module);
}

OwningOpRef<ModuleOp> loadModel(MLIRContext *context, const std::string &path, int64_t sequence,
                                llvm::raw_ostream &errors) {
  context->loadDialect<graph::GraphDialect>();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    UserError("reading model '" + path + "': " + buffer.getError().message()).report(errors);
    return nullptr;
  }
  StringRef text = (*buffer)->getBuffer();
  if (text.trim().empty()) {
    UserError("the file is empty", kWhatModelsAre, {path, 1, 1}).report(errors);
    return nullptr;
  }
  if (!text.ltrim().starts_with("{")) {
    Result<OwningOpRef<ModuleOp>> module = parse(context, path, std::move(*buffer));
    if (!module) {
      module.error().report(errors);
      return nullptr;
    }
    return std::move(*module);
  }
  HfConfig config(path, text.str());
  OwningOpRef<ModuleOp> module;
  if (config.ok())
    module = importHfConfig(context, config, sequence);
  if (!config.ok()) {
    errors << config.error() << "\n";
    return nullptr;
  }
  DiagnosticCapture capture(context);
  if (failed(checkSize(*module))) {
    UserError error = *capture.error();
    error.place = {path};
    error.report(errors);
    return nullptr;
  }
  return module;
}

} // namespace dtc
