// dtc validate: runs a small model under a plan like the user's, and compares the result with one
// process.
#include "tools/dtc/PlanningFlags.h"

#include "compiler/build/driver/Compile.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/ModelFile.h"
#include "compiler/measure/validate/Deviation.h"
#include "compiler/measure/validate/SmallModel.h"
#include "compiler/measure/validate/TrainedTensors.h"
#include "compiler/support/File.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"

#include <cmath>
#include <filesystem>

namespace dtc {
namespace {

// Epsilon of the optimizer. Adam's update is lr g / (|g| + epsilon). If a gradient is zero except
// for rounding, two plans differ by rounding / epsilon of the tensor's update; with the usual 1e-8
// the difference could be arbitrarily large.
constexpr double kEpsilon = 1e-3;
constexpr int64_t kSteps = 3;
constexpr unsigned kSecondsOfARun = 600;

struct ValidateFlags : PlanningFlags {
  int64_t ranks = 8;
  std::string format = "text";
};

// A temporary folder, which is removed with all its content when the command ends.
class TemporaryFolder {
public:
  TemporaryFolder() { llvm::sys::fs::createUniqueDirectory("dtc-validate", path); }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path.str().str(), ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }

private:
  llvm::SmallString<128> path;
};

// Returns the path of dtrun, which is in the same folder as dtc.
std::string dtrunBesideMe() {
  static int anchor;
  std::filesystem::path mine = llvm::sys::fs::getMainExecutable("dtc", &anchor);
  return (mine.parent_path() / "dtrun").string();
}

class Validation {
public:
  explicit Validation(const ValidateFlags &flags) : flags(flags) {}

  int run() {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::OwningOpRef<mlir::ModuleOp> module = loadModelOf(context, flags);
    if (!module)
      return 1;
    if (Status done = makeSmall(*module); !done)
      return done.error().report(llvm::errs());
    SmallPlan one{Decisions(), small.globalBatch};
    one.decisions.microBatch = small.globalBatch;
    Result<TrainedRun> found = train("plan", small, whole.precision), wanted = found;
    if (found)
      wanted = train("one", one, whole.precision);
    Result<TrainedRun> exact = wanted;
    if (wanted && whole.precision != Precision::F32)
      exact = train("exact", one, Precision::F32);
    for (const Result<TrainedRun> *each : {&found, &wanted, &exact})
      if (!*each)
        return each->error().report(llvm::errs());
    Deviations deviations = compareRuns(*found, *wanted);
    std::optional<Deviations> rounding;
    if (whole.precision != Precision::F32)
      rounding = compareRuns(*wanted, *exact);
    std::optional<std::string> mismatch = findMismatch(deviations, rounding ? &*rounding : nullptr);
    flags.format == "json" ? printJson(deviations, mismatch) : printText(deviations, mismatch);
    return mismatch ? 1 : 0;
  }

private:
  // Plans the user's model, and makes a small model and plan.
  Status makeSmall(mlir::ModuleOp module) {
    Result<PlanRequest> request = requestOf(flags, module);
    if (!request)
      return request.error();
    Result<PlanResult> planResult = planModel(*request);
    if (!planResult)
      return planResult.error();
    whole = planResult->best;
    Result<SmallPlan> plan = shrinkPlan(whole, flags.ranks);
    if (!plan)
      return plan.error();
    small = *plan;
    Result<NamedText> opened = openModel(flags.model);
    if (!opened)
      return opened.error();
    if (!llvm::StringRef(opened->text).ltrim().starts_with("{")) {
      modelFile = opened->path; // a .mlir file cannot be made smaller
      sequence = 0;
      return {};
    }
    Result<SmallModel> model =
        shrinkModel(opened->path, opened->text, whole.decisions, small.decisions);
    if (!model)
      return model.error();
    modelFile = folder / "config.json";
    sequence = model->sequence;
    return writeFileAtomically(modelFile, model->config);
  }

  Status compile(const std::string &file, const SmallPlan &plan, Precision precision) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    PlanningFlags of = flags;
    of.model = modelFile;
    of.sequence = sequence;
    of.topology = "cpu";
    of.nodes = 0;
    of.devices = plan.decisions.devices();
    of.globalBatch = plan.globalBatch;
    of.precision = precision;
    of.maxMemory = "none";
    of.stack = "dtc";
    of.fix.clear();
    mlir::OwningOpRef<mlir::ModuleOp> module = loadModelOf(context, of);
    if (!module)
      return UserError("validating '" + flags.model + "': the small model can't be read");
    Result<PlanRequest> request = requestOf(of, *module);
    if (!request)
      return request.error();
    request->fixed = plan.pins();
    Result<PlanResult> planResult = planModel(*request);
    if (!planResult)
      return planResult.error();
    CompileOptions options;
    options.step.epsilon = kEpsilon;
    options.quickCode = true; // it runs a few steps only
    Result<std::vector<uint8_t>> bytes = compileModel(*module, planResult->best, options);
    if (!bytes)
      return bytes.error();
    return writeFileAtomically(file,
                               {reinterpret_cast<const char *>(bytes->data()), bytes->size()});
  }

  Result<TrainedRun> train(const std::string &name, const SmallPlan &plan, Precision precision) {
    std::string file = folder / (name + ".dte"), out = folder / (name + ".out"),
                said = folder / (name + ".err"), gradients = folder / (name + ".grads"),
                parameters = folder / (name + ".params");
    if (Status compiled = compile(file, plan, precision); !compiled)
      return compiled.error();
    std::string program = dtrunBesideMe(), ranks = std::to_string(plan.decisions.devices());
    llvm::StringRef rate = flags.optimizer == OptimizerKind::Sgd ? "0.1" : "0.01";
    std::string steps = std::to_string(kSteps);
    llvm::StringRef arguments[] = {
        program,    file,   "-n",           ranks,     "--data",        "synthetic",
        "--steps",  steps,  "--lr",         rate,      "--threads",     "1",
        "--format", "json", "--dump-grads", gradients, "--dump-params", parameters};
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(out),
                                                  llvm::StringRef(said)};
    std::string problem;
    int code = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects,
                                         kSecondsOfARun, 0, &problem);
    Result<std::string> lines = readFile(out), errors = readFile(said);
    if (code != 0)
      return UserError("validating '" + flags.model + "': running it on " + ranks +
                           " processes ended with " + std::to_string(code) +
                           (problem.empty() ? "" : ", " + problem),
                       errors && !errors->empty() ? llvm::StringRef(*errors).trim().str() : "");
    TrainedRun run;
    for (llvm::StringRef line : llvm::split(lines ? llvm::StringRef(*lines) : "", '\n'))
      if (llvm::Expected<llvm::json::Value> step = llvm::json::parse(line)) {
        const llvm::json::Object *fields = step->getAsObject();
        if (fields && fields->get("step")) // other lines describe the data
          run.losses.push_back(fields->getNumber("loss").value_or(NAN));
      } else {
        llvm::consumeError(step.takeError());
      }
    for (auto [path, tensors] :
         {std::pair(gradients, &run.gradients), {parameters, &run.parameters}}) {
      Result<std::map<std::string, std::vector<float>>> read = readTrainedTensors(path);
      if (!read)
        return read.error();
      *tensors = std::move(*read);
    }
    return run;
  }

  std::string pinsAsText() const {
    std::string text;
    for (const auto &[key, value] : small.pins())
      text += (text.empty() ? "" : ",") + key + "=" + value;
    return text;
  }

  void printText(const Deviations &found, const std::optional<std::string> &mismatch) const {
    llvm::raw_ostream &out = llvm::outs();
    out << llvm::formatv("plan         dp {0} tp {1} pp {2} of {3} devices\n", whole.decisions.dp,
                         whole.decisions.tp, whole.decisions.pp, whole.devices)
        << llvm::formatv("run as       {0} on {1} processes, {2} steps of {3} samples, beside one "
                         "process\n\n",
                         pinsAsText(), small.decisions.devices(), kSteps, small.globalBatch);
    // For each tensor the largest difference, relative to the root mean square.
    std::map<std::string, std::pair<double, double>> rows;
    for (const Deviation &each : found.gradients)
      rows[each.name].first = each.largest;
    for (const Deviation &each : found.parameters)
      rows[each.name].second = each.largest;
    out << llvm::formatv("{0,-48}{1,-12}{2}\n", "largest difference of", "gradient", "parameter");
    for (const auto &[name, differences] : rows)
      out << llvm::formatv("  {0,-46}{1,-12:e2}{2:e2}\n", name, differences.first,
                           differences.second);
    out << llvm::formatv("  {0,-46}{1:e2}\n\n", "(loss)", found.loss.largest);
    out << (mismatch ? "does not match: " + *mismatch : std::string("trains like one process"))
        << "\n";
  }

  void printJson(const Deviations &found, const std::optional<std::string> &mismatch) const {
    llvm::json::OStream json(llvm::outs(), 2);
    auto list = [&](const char *key, const std::vector<Deviation> &all) {
      json.attributeObject(key, [&] {
        for (const Deviation &each : all)
          json.attribute(each.name, each.largest);
      });
    };
    json.object([&] {
      json.attribute("schema", "dtc.validation/1");
      json.attribute("ranks", small.decisions.devices());
      json.attributeObject("fix", [&] {
        for (const auto &[key, value] : small.pins())
          json.attribute(key, value);
      });
      json.attribute("steps", kSteps);
      json.attribute("global_batch", small.globalBatch);
      json.attribute("loss", found.loss.largest);
      list("gradients", found.gradients);
      list("parameters", found.parameters);
      json.attribute("matches", !mismatch);
      if (mismatch)
        json.attribute("mismatch", *mismatch);
    });
    llvm::outs() << "\n";
  }

  const ValidateFlags &flags;
  TemporaryFolder folder;
  Plan whole;
  SmallPlan small;
  std::string modelFile;
  int64_t sequence = 0;
};

} // namespace

void addValidate(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "validate", "Runs a small model under a plan like the chosen one and compares with one "
                  "process\n\nExample:\n  dtc validate gpt2/config.json --topology dgx-h100 "
                  "--global-batch 512 --fix tp=2,pp=2 --ranks 8");
  auto flags = std::make_shared<ValidateFlags>();
  flags->add(*command, /*planGiven=*/false);
  command->add_option("--ranks", flags->ranks, "largest number of local processes")
      ->check(wholeNumber(1))
      ->capture_default_str();
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = Validation(*flags).run(); });
}

} // namespace dtc
