// dtc checkpoint export and import: between checkpoints and folders of Hugging Face's.
#include "tools/dtc/Commands.h"

#include "compiler/frontend/Frontend.h"
#include "compiler/support/Error.h"
#include "compiler/support/File.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/ModelConfig.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/HuggingFace.h"

#include "mlir/IR/MLIRContext.h"

#include <algorithm>

namespace dtc {
namespace {

int report(const rt::Status &status, const std::string &mend = "") {
  return UserError(status.message(), mend).report(llvm::errs());
}

// The parameters of a model, each with its shape in the graph and in files.
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

// The parameters of the model that a config.json describes, and its text in one line.
struct ConfiguredModel {
  std::string name, config;
  std::vector<rt::TensorSpec> parameters;
};

// False where it is none; what is wrong has been said.
bool readConfig(const std::string &path, ConfiguredModel &model) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModel(&context, path, 0, llvm::errs());
  if (!module)
    return false;
  auto config = (*module)->getAttrOfType<mlir::StringAttr>(graph::kConfigAttr);
  if (!config) {
    UserError("'" + path + "' is no Hugging Face config", "give the model's config.json")
        .report(llvm::errs());
    return false;
  }
  model.name = module->getName().value_or("model").str();
  model.config = config.str();
  model.parameters = parametersOf(*module);
  return true;
}

// The last good checkpoint of a folder, or the one that was named. What is wrong of others is said.
bool openLast(const std::string &path, rt::CheckpointReader &reader) {
  std::vector<uint64_t> steps;
  if (rt::Status status = rt::CheckpointFolder::steps(path, steps); !status.ok())
    return report(status), false;
  if (steps.empty()) {
    rt::Status status = reader.open(path);
    if (!status.ok())
      report(status, "give what dtrun --checkpoint-dir named, or one step-N of it");
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

// That the checkpoint is of the model of a config: each parameter is there, in its shape.
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
      different = "parameter '" + spec.name + "' is not in it, or in another shape";
      break;
    }
  if (different.empty() && static_cast<size_t>(numParameters) != model.parameters.size())
    different = "it has " + std::to_string(numParameters) + " parameters, the model " +
                std::to_string(model.parameters.size());
  if (different.empty())
    return true;
  UserError("'" + reader.folder() + "' is not of the model of '" + path + "': " + different,
            "give the config.json that it was compiled from")
      .report(llvm::errs());
  return false;
}

struct ExportFlags {
  std::string checkpoint, output, config;
  uint64_t mostBytes = 5'000'000'000;
};

int runExport(const ExportFlags &flags) {
  rt::CheckpointReader reader;
  if (!openLast(flags.checkpoint, reader))
    return 1;
  std::string config = reader.manifest().config;
  if (!flags.config.empty()) {
    ConfiguredModel model;
    if (!readConfig(flags.config, model) || !isOf(model, flags.config, reader))
      return 1;
    config = model.config;
  }
  if (config.empty())
    return UserError("'" + reader.folder() +
                         "' does not say what its model's config.json is, as the model was "
                         "compiled from a .mlir file",
                     "give the model's config with --config config.json")
        .report(llvm::errs());
  rt::WrittenWeights written;
  if (rt::Status status =
          rt::exportHuggingFace(reader, config, flags.output, flags.mostBytes, written);
      !status.ok())
    return report(status);
  llvm::outs() << flags.output << ": step " << reader.manifest().run.step << " of '"
               << reader.manifest().model << "', " << written.tensors << " tensors, "
               << written.bytes << " bytes in " << written.files
               << (written.files == 1 ? " file\n" : " files\n");
  return 0;
}

struct ImportFlags {
  std::string from, output;
};

int runImport(const ImportFlags &flags) {
  ConfiguredModel model;
  if (!readConfig(flags.from + "/config.json", model))
    return 1;
  rt::WrittenWeights written;
  if (rt::Status status = rt::importHuggingFace(flags.from, model.name, model.config,
                                                model.parameters, flags.output, written);
      !status.ok())
    return report(status);
  llvm::outs() << rt::CheckpointFolder::stepPath(flags.output, 0) << ": '" << model.name << "', "
               << written.tensors << " tensors, " << written.bytes << " bytes\n";
  return 0;
}

} // namespace

void addCheckpointExport(CLI::App &group, int &exitCode) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App *command = group.add_subcommand(
      "export", "Writes the parameters of a checkpoint as a Hugging Face folder that transformers' "
                "from_pretrained loads");
  command
      ->add_option("DIR", flags->checkpoint,
                   "what dtrun --checkpoint-dir named, of which the last good one is taken, or one "
                   "step-N of it")
      ->required()
      ->check(notEmpty());
  command->add_option("-o,--output", flags->output, "the folder to make")
      ->required()
      ->check(notEmpty())
      ->type_name("FOLDER");
  command
      ->add_option("--config", flags->config,
                   "the model's config.json, where it was compiled from a .mlir file")
      ->type_name("FILE");
  command
      ->add_option("--max-file-bytes", flags->mostBytes,
                   "weights of more bytes go to several files of at most so many")
      ->capture_default_str()
      ->check(wholeNumber(1))
      ->type_name("BYTES");
  command->callback([flags, &exitCode] { exitCode = runExport(*flags); });
}

void addCheckpointImport(CLI::App &group, int &exitCode) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App *command = group.add_subcommand(
      "import", "Makes a checkpoint of the weights of a Hugging Face folder, with whose parameters "
                "'dtrun --checkpoint-dir DIR --resume' starts");
  command
      ->add_option(
          "HF_FOLDER", flags->from,
          "a folder with config.json and model.safetensors, or its sharded files and index")
      ->required()
      ->check(notEmpty());
  command->add_option("-o,--output", flags->output, "the folder of checkpoints to make")
      ->required()
      ->check(notEmpty())
      ->type_name("DIR");
  command->callback([flags, &exitCode] { exitCode = runImport(*flags); });
}

} // namespace dtc
