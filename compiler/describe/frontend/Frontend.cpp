// Reads a model: graph IR from a .mlir file, or built from a Hugging Face config.json.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/ImportHf.h"

#include "compiler/describe/frontend/HfConfig.h"
#include "compiler/describe/frontend/ModelFile.h"
#include "compiler/describe/text/ParseModel.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Hints.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/ModelConfig.h"
#include "models/ModelBuilder.h"
#include "passes/graph/LossForm.h"
#include "passes/graph/Passes.h"
#include "passes/graph/SampleRows.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dtc {
namespace {

// Checks that only the batch is dynamic, in the first dim of every input.
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

// Checks that graph.sequence_length is dim 1 of an input.
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

// Checks that a sequence length that the user gave is the one of a model that has its own.
Status checkAsked(ModuleOp module, const std::string &path, int64_t asked) {
  auto sequence = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr);
  int64_t has = sequence ? sequence.getInt() : 0;
  if (asked == 0 || asked == has)
    return {};
  return UserError(has == 0 ? std::string("the model has no sequences, found --seq-len ") +
                                  std::to_string(asked)
                            : "the model has sequences of " + std::to_string(has) +
                                  ", found --seq-len " + std::to_string(asked),
                   "leave it out: it is for a config.json", {path, 1, 1});
}

// Checks that sums over all parameters, at several bytes per element, fit in 64 bits.
LogicalResult checkSize(ModuleOp module) {
  constexpr double kMostParameters = 1e15;
  double elements = 0;
  for (auto parameter : module.getOps<graph::ParameterOp>())
    elements += static_cast<double>(parameter.getRepeats().value_or(1)) *
                static_cast<double>(cast<RankedTensorType>(parameter.getType()).getNumElements());
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
  if (failed(checkSequence(module, loss)) || failed(SampleRows::read(module)) ||
      failed(findLossForm(loss)))
    return failure();
  return checkSize(module);
}

LogicalResult completeModel(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createCompleteOps());
  passes.addPass(createInstantiateBlocks());
  return passes.run(module);
}

OwningOpRef<ModuleOp> completed(OwningOpRef<ModuleOp> module) {
  LogicalResult done = completeModel(*module);
  assert(succeeded(done) && "the model is right");
  (void)done;
  return module;
}

namespace {

struct WrittenModel {
  std::string text, path; // text of the file, and its name for errors
  OwningOpRef<ModuleOp> module;
};

// Returns true if the loss has an input of that name.
bool hasDocuments(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  for (unsigned i = 0; loss && i < loss.getNumArguments(); ++i)
    if (auto name = loss.getArgAttrOfType<StringAttr>(i, graph::kInputAttr);
        name && name.getValue() == kDocumentsInput)
      return true;
  return false;
}

// Reads into `model`. If the file could be read, its text is there even after an error.
Status readModel(MLIRContext *context, const std::string &name, int64_t sequence,
                 Documents documents, SourceNotes *notes, WrittenModel &model) {
  context->loadDialect<graph::GraphDialect>();
  Result<NamedText> opened = openModel(name);
  if (!opened)
    return opened.error();
  model.text = std::move(opened->text);
  model.path = std::move(opened->path);
  StringRef text = model.text;
  if (text.trim().empty())
    return UserError("the file is empty", kWhatModelsAre, {model.path, 1, 1});
  if (!text.ltrim().starts_with("{")) {
    Result<OwningOpRef<ModuleOp>> module = parseModel(context, model.path, text, notes);
    if (!module)
      return module.error();
    model.module = std::move(*module);
    if (documents != Documents::None && !hasDocuments(*model.module))
      return UserError("the model has no input 'documents', found --documents",
                       "let attention read it: graph.attention ... documents %documents",
                       {model.path, 1, 1});
    return checkAsked(*model.module, model.path, sequence);
  }
  HfConfig config(model.path, model.text);
  config.documents = documents;
  if (config.ok())
    model.module = importHfConfig(context, config, sequence);
  if (!config.ok())
    return config.error();
  return {};
}

// Reports an error about a model. For graph IR, prints the line that it points at.
void report(const UserError &error, const WrittenModel &model, llvm::raw_ostream &errors) {
  bool isInText =
      error.location.file == model.path && !StringRef(model.text).ltrim().starts_with("{");
  reportWithSource(error, isInText ? StringRef(model.text) : StringRef(), errors);
}

// Completes `module`, which was written as `text`, and checks it.
Status complete(ModuleOp module, const std::string &path, StringRef text) {
  DiagnosticCapture capture(module.getContext());
  if (succeeded(completeModel(module)) && succeeded(checkModel(module)))
    return {};
  UserError error =
      capture.errorOr(UserError("reading model '" + path + "': it is no model", kWhatModelsAre));
  error.message = nameTypes(error.message, text);
  error.note = nameTypes(error.note, text);
  if (error.location.line == 0) // built from a config, so its ops have no lines
    error.location = {path};
  return error;
}

// Removes what the loss does not read. Notes on `errors` which parameters are left without a
// gradient. Fails if all are, because nothing could be trained.
Status dropUnread(ModuleOp module, llvm::raw_ostream &errors) {
  DiagnosticCapture capture(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(createDropUnread());
  if (failed(passes.run(module)))
    return capture.errorOr(UserError("looking for what the loss does not read"));
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  llvm::StringSet<> read;
  for (auto get : loss.getBody().getOps<graph::GetOp>())
    read.insert(get.getSymbol());
  SmallVector<graph::ParameterOp> unread;
  bool isTrained = false; // some parameter is trained
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    bool isRead = read.contains(parameter.getSymName());
    isTrained |= isRead && !parameter.getFrozen();
    if (!isRead && !parameter.getFrozen()) // a frozen parameter has no gradient anyway
      unread.push_back(parameter);
  }
  if (!isTrained) {
    bool hasNone = module.getOps<graph::ParameterOp>().empty();
    loss.emitError(hasNone        ? "the model has no parameters"
                   : read.empty() ? "the loss reads no parameter"
                                  : "every parameter that the loss reads is frozen")
        << ", so that there is nothing to train";
    return capture.errorOr(UserError("the model has nothing to train"));
  }
  if (unread.empty())
    return {};
  std::string names;
  constexpr size_t kMostNames = 3;
  for (graph::ParameterOp parameter : ArrayRef(unread).take_front(kMostNames))
    names += (names.empty() ? "'" : ", '") + parameter.getSymName().str() + "'";
  if (unread.size() > kMostNames)
    names += " and " + std::to_string(unread.size() - kMostNames) + " more";
  if (auto location = unread.front()->getLoc()->findInstanceOf<FileLineColLoc>())
    errors << location.getFilename().getValue() << ':' << location.getLine() << ':'
           << location.getColumn() << ": ";
  errors << "note: the loss does not read parameter " << names << "; the gradient is zero\n";
  return {};
}

} // namespace

OwningOpRef<ModuleOp> loadWrittenModel(MLIRContext *context, const std::string &path,
                                       int64_t sequence, llvm::raw_ostream &errors,
                                       SourceNotes &notes, Documents documents) {
  WrittenModel model;
  if (Status read = readModel(context, path, sequence, documents, &notes, model); !read) {
    report(read.error(), model, errors);
    return nullptr;
  }
  OwningOpRef<ModuleOp> checked = model.module->clone();
  if (Status done = complete(*checked, model.path, model.text); !done) {
    report(done.error(), model, errors);
    return nullptr;
  }
  return std::move(model.module);
}

OwningOpRef<ModuleOp> loadModel(MLIRContext *context, const std::string &path, int64_t sequence,
                                llvm::raw_ostream &errors, Documents documents) {
  WrittenModel model;
  Status done = readModel(context, path, sequence, documents, nullptr, model);
  if (done)
    done = complete(*model.module, model.path, model.text);
  if (done)
    done = dropUnread(*model.module, errors);
  if (!done) {
    report(done.error(), model, errors);
    return nullptr;
  }
  ModuleOp module = *model.module;
  if (StringRef(model.text).ltrim().starts_with("{"))
    module->setAttr(graph::kConfigAttr,
                    StringAttr::get(context, nlohmann::ordered_json::parse(model.text).dump()));
  return std::move(model.module);
}

} // namespace dtc
