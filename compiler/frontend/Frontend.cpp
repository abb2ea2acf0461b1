// Reads a model: graph IR from a .mlir file, or built from a Hugging Face config.json.
#include "compiler/frontend/Frontend.h"

#include "compiler/frontend/HfConfig.h"
#include "dialects/graph/Verify.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
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

OwningOpRef<ModuleOp> parse(MLIRContext *context, std::unique_ptr<llvm::MemoryBuffer> buffer,
                            llvm::raw_ostream &errors) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, context, errors);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  if (!module || failed(checkModel(*module)))
    return nullptr;
  return module;
}

} // namespace

LogicalResult checkModel(ModuleOp module) {
  for (const char *name : {"graph.vocabulary", "graph.sequence_length"}) {
    auto value = module->getAttrOfType<IntegerAttr>(name);
    if (!value || value.getInt() < 1)
      return module.emitError("the model needs the attribute '")
             << name << "', a whole number of 1 or more (i64)";
  }
  auto loss = module.lookupSymbol<graph::FuncOp>("loss");
  if (!loss)
    return module.emitError("the model has no function '@loss' (tokens, targets) -> tensor<f32>");
  if (failed(graph::checkLossSignature(loss)))
    return failure();
  int64_t sequence = module->getAttrOfType<IntegerAttr>("graph.sequence_length").getInt();
  if (failed(checkIds(loss, 0, "tokens", sequence)) ||
      failed(checkIds(loss, 1, "targets", sequence)))
    return failure();
  return success();
}

OwningOpRef<ModuleOp> loadModel(MLIRContext *context, const std::string &path, int64_t sequence,
                                llvm::raw_ostream &errors) {
  context->loadDialect<graph::GraphDialect>();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    errors << "error: reading model '" << path << "': " << buffer.getError().message() << "\n";
    return nullptr;
  }
  StringRef text = (*buffer)->getBuffer();
  if (!text.ltrim().starts_with("{"))
    return parse(context, std::move(*buffer), errors);
  HfConfig config(path, text.str());
  OwningOpRef<ModuleOp> module;
  if (config.ok())
    module = importHfConfig(context, config, sequence);
  if (!config.ok())
    errors << config.error() << "\n";
  return module;
}

} // namespace dtc
