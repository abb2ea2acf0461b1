// dtc checkpoint export and import: converts between checkpoints and folders of Hugging Face's.
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/checkpoint/WrittenWeights.h"
#include "tools/dtc/Commands.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/describe/frontend/ModelFile.h"
#include "compiler/support/Error.h"
#include "compiler/support/JsonText.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/ModelConfig.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/format/Counted.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dtc {
namespace {

int report(const rt::Status &status, const std::string &hint = "") {
  return UserError(status.message(), hint).report(llvm::errs());
}

// Returns the parameters of a model, each with its shape in the graph and in files.
std::vector<rt::TensorSpec> parametersOf(mlir::ModuleOp module) {
  std::vector<rt::TensorSpec> parameters;
  for (auto op : module.getOps<graph::ParameterOp>()) {
    auto shape = llvm::cast<mlir::RankedTensorType>(op.getType()).getShape();
    llvm::ArrayRef<int64_t> stored = op.getStoredShape().value_or(shape);
    for (std::string &name : op.getMemberNames()) {
      rt::TensorSpec &spec = parameters.emplace_back();
      spec.name = std::move(name);
      spec.globalShape.assign(shape.begin(), shape.end());
      spec.storedShape.assign(stored.begin(), stored.end());
      spec.localShape = spec.globalShape;
    }
  }
  return parameters;
}

// The parameters of the model that a config.json describes, and its text as one line.
struct ConfiguredModel {
  std::string name, config;
  std::vector<rt::TensorSpec> parameters;
};

// Reads the config of `path`, a file or the folder that contains it. It must be a JSON object.
Result<NamedText> readConfigText(const std::string &path) {
  Result<NamedText> config = openModel(path);
  if (!config)
    return config.error();
  if (std::optional<UserError> wrong = findJsonError(config->path, config->text))
    return UserError("'" + config->path + "' is no Hugging Face config: " + wrong->message,
                     "give the model's config.json");
  if (!nlohmann::json::parse(config->text).is_object())
    return UserError("'" + config->path + "' is no Hugging Face config, which is a JSON object",
                     "give the model's config.json");
  return config;
}

// Builds the model of `path`: a config.json, or a model in graph IR if `mayBeWritten`. Returns
// false, with the reason in `problem`, if dtc cannot build it.
bool buildModel(const std::string &path, bool mayBeWritten, ConfiguredModel &model,
                std::string &problem) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::raw_string_ostream errors(problem);
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModel(&context, path, 0, errors);
  if (!module)
    return false;
  auto config = (*module)->getAttrOfType<mlir::StringAttr>(graph::kConfigAttr);
  if (!config && !mayBeWritten) {
    UserError("'" + path + "' is no Hugging Face config", "give the model's config.json")
        .report(errors);
    return false;
  }
  model.name = module->getName().value_or("model").str();
  model.config = config ? config.str() : "";
  model.parameters = parametersOf(*module);
  return true;
}

// Opens the last good checkpoint of a folder, or the one that was named. Prints what is wrong with
// others.
bool openLast(const std::string &path, rt::CheckpointReader &reader) {
  std::vector<uint64_t> steps;
  if (rt::Status status = rt::CheckpointFolder::steps(path, steps); !status.ok())
    return report(status), false;
  if (steps.empty()) {
    rt::Status status = reader.open(path);
    if (!status.ok())
      report(status, "give the folder of dtrun --checkpoint-dir, or one step-N of it");
    return status.ok();
  }
  for (uint64_t step : steps) {
    rt::Status status = reader.open(rt::CheckpointFolder::stepPath(path, step));
    if (status.ok())
      return true;
    llvm::errs() << "warning: step-" << step << " is not good: " << status.message() << "\n";
  }
  UserError("none of the " + std::to_string(steps.size()) + " checkpoints of '" + path +
            "' is good")
      .report(llvm::errs());
  return false;
}

// Checks that the checkpoint is of the model of a config: each parameter must be there, with its
// shape.
bool isOf(const ConfiguredModel &model, const std::string &path,
          const rt::CheckpointReader &reader) {
  const rt::CheckpointManifest &manifest = reader.manifest();
  auto numParameters =
      std::count_if(manifest.tensors.begin(), manifest.tensors.end(),
                    [](const rt::CheckpointTensor &tensor) { return tensor.isParameter; });
  std::string different;
  for (const rt::TensorSpec &spec : model.parameters)
    if (const rt::CheckpointTensor *tensor = manifest.find(spec.name);
        !tensor || !tensor->isParameter || tensor->storedShape != spec.storedShape) {
      different = "parameter '" + spec.name + "' is missing or has another shape";
      break;
    }
  if (different.empty() && static_cast<size_t>(numParameters) != model.parameters.size())
    different = "it has " + format::counted(static_cast<uint64_t>(numParameters), "parameter") +
                ", the model " + std::to_string(model.parameters.size());
  if (different.empty())
    return true;
  UserError("'" + reader.folder() + "' is not a checkpoint of the model of '" + path +
                "': " + different,
            "give the config.json that it was compiled from")
      .report(llvm::errs());
  return false;
}

struct ExportFlags {
  std::string checkpoint, output, config;
  uint64_t mostBytes = 5'000'000'000;
};

// Reads --config, and the folder that contains it. A config from which dtc cannot build a model is
// copied without changes; the names in the checkpoint must then be those of the folder's weights,
// if there are any. Returns false after a message.
bool readModelFiles(const std::string &path, const rt::CheckpointReader &reader,
                    rt::ModelFiles &files) {
  Result<NamedText> config = readConfigText(path);
  if (!config)
    return config.error().report(llvm::errs()), false;
  if (llvm::sys::fs::exists(config->path)) { // not in the catalogue
    llvm::StringRef parent = llvm::sys::path::parent_path(config->path);
    files.folder = parent.empty() ? "." : parent.str();
  }
  ConfiguredModel model;
  std::string problem;
  if (buildModel(path, /*mayBeWritten=*/false, model, problem)) {
    files.config = model.config;
    return isOf(model, path, reader);
  }
  files.config = config->text;
  files.isKnown = false;
  if (rt::Status same = rt::checkSameTensors(reader, files.folder); !same.ok())
    return report(same, "give the config.json of the model that was compiled"), false;
  llvm::errs() << "note: '" << config->path << "' is copied as it is, as dtc cannot build it: "
               << llvm::StringRef(problem).split('\n').first << "\n";
  return true;
}

int runExport(const ExportFlags &flags) {
  rt::CheckpointReader reader;
  if (!openLast(flags.checkpoint, reader))
    return 1;
  rt::ModelFiles files;
  files.config = reader.manifest().config;
  if (!rt::otherNames(files.config).empty()) // which are no config of Hugging Face
    files.config.clear();
  if (!flags.config.empty() && !readModelFiles(flags.config, reader, files))
    return 1;
  files.architecture = architectureOfConfig(files.config);
  rt::WrittenWeights written;
  if (rt::Status status =
          rt::exportHuggingFace(reader, files, flags.output, flags.mostBytes, written);
      !status.ok())
    return report(status);
  llvm::outs() << flags.output << ": step " << reader.manifest().run.step << " of '"
               << reader.manifest().model << "', " << format::counted(written.tensors, "tensor")
               << ", " << written.bytes << " bytes in " << format::counted(written.files, "file");
  if (!written.copied.empty())
    llvm::outs() << ", with " << llvm::join(written.copied, ", ");
  llvm::outs() << "\n";
  if (files.config.empty())
    llvm::errs() << "note: '" << flags.output << "' has no config.json, as the model was compiled "
                 << "from a .mlir file: load it with the Python function dtc.load, or export with "
                 << "--config config.json\n";
  return 0;
}

struct ImportFlags {
  std::string from, model, output;
};

int runImport(const ImportFlags &flags) {
  ConfiguredModel model;
  std::string problem, config = flags.from + "/config.json";
  if (!buildModel(flags.model.empty() ? config : flags.model, !flags.model.empty(), model,
                  problem)) {
    llvm::errs() << problem;
    if (flags.model.empty() && llvm::sys::fs::exists(config))
      llvm::errs() << "note: for a model that was written as graph IR, give that file with --model "
                      "model.mlir\n";
    return 1;
  }
  rt::WrittenWeights written;
  if (rt::Status status = rt::importHuggingFace(flags.from, model.name, model.config,
                                                model.parameters, flags.output, written);
      !status.ok())
    return report(status);
  llvm::outs() << rt::CheckpointFolder::stepPath(flags.output, 0) << ": '" << model.name << "', "
               << format::counted(written.tensors, "tensor") << ", " << written.bytes << " bytes\n";
  return 0;
}

} // namespace

void addCheckpointExport(CLI::App &group, int &exitCode) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App *command = group.add_subcommand(
      "export", "Writes the parameters of a checkpoint as a folder of safetensors files, which the "
                "Python function dtc.load loads; with a config.json it is a Hugging Face folder, "
                "which transformers' from_pretrained loads");
  command
      ->add_option("DIR", flags->checkpoint,
                   "the folder of dtrun --checkpoint-dir, whose last good checkpoint is taken, or "
                   "one step-N of it")
      ->required()
      ->check(notEmpty());
  command->add_option("-o,--output", flags->output, "the folder to make")
      ->required()
      ->check(notEmpty())
      ->type_name("FOLDER");
  command
      ->add_option("--config", flags->config,
                   "the model's config.json, if the model was compiled from a .mlir file; "
                   "tokenizer files beside it are copied, too")
      ->type_name("FILE");
  command
      ->add_option("--max-file-bytes", flags->mostBytes,
                   "largest number of bytes of a file of weights; more weights go to several files")
      ->capture_default_str()
      ->check(wholeNumber(1))
      ->type_name("BYTES");
  command->callback([flags, &exitCode] { exitCode = runExport(*flags); });
}

void addCheckpointImport(CLI::App &group, int &exitCode) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App *command =
      group.add_subcommand("import", "Makes a checkpoint of the weights of a Hugging Face folder, "
                                     "from which 'dtrun --checkpoint-dir DIR --resume' starts");
  command
      ->add_option(
          "HF_FOLDER", flags->from,
          "a folder with config.json and model.safetensors, or its sharded files and index")
      ->required()
      ->check(notEmpty());
  command
      ->add_option("--model", flags->model,
                   "the .mlir file that the program is compiled from, if dtc cannot build the "
                   "model of config.json")
      ->check(notEmpty())
      ->type_name("MODEL");
  command->add_option("-o,--output", flags->output, "the folder of checkpoints to make")
      ->required()
      ->check(notEmpty())
      ->type_name("DIR");
  command->callback([flags, &exitCode] { exitCode = runImport(*flags); });
}

} // namespace dtc
