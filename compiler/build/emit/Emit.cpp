// Writes planned exec.programs to the bytes of a .dte file.
#include "compiler/build/emit/Emit.h"

#include "compiler/build/emit/ManifestBuilder.h"
#include "runtime/format/Write.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns why the programs are not one job, "" if they are: all have to agree in some properties,
// and each rank has to run one of them.
std::string whyNotOneJob(ArrayRef<exec::ProgramOp> programs) {
  exec::ProgramOp first = programs.front();
  auto nameOf = [](exec::ProgramOp program) { return "'" + program.getSymName().str() + "'"; };
  std::vector<exec::ProgramOp> programOf(static_cast<size_t>(first.getNumRanks()));
  for (exec::ProgramOp program : programs) {
    if (program.getAxisNames() != first.getAxisNames() ||
        program.getAxisSizes() != first.getAxisSizes() ||
        program.getMicroBatches() != first.getMicroBatches())
      return "program " + nameOf(program) + " has another mesh or other micro-batches than " +
             nameOf(first);
    for (int64_t rank : program.getClass()) {
      exec::ProgramOp &known = programOf[static_cast<size_t>(rank)];
      if (known)
        return "program " + nameOf(program) + " is for rank " + std::to_string(rank) +
               ", which runs " + nameOf(known);
      known = program;
    }
  }
  auto idle = llvm::find(programOf, exec::ProgramOp());
  return idle == programOf.end()
             ? ""
             : "none of " + std::to_string(programs.size()) + " programs is for rank " +
                   std::to_string(idle - programOf.begin());
}

} // namespace

Result<std::vector<uint8_t>> emitExecutable(ArrayRef<exec::ProgramOp> programs,
                                            const ProgramCode &code, const EmitInfo &info) {
  for (exec::ProgramOp program : programs)
    if (!program.getArenaBytes())
      return UserError(("writing '" + info.modelName + "': program '" + program.getSymName() +
                        "' has no memory plan")
                           .str(),
                       "run dtc-plan-memory before");
  if (std::string reason = whyNotOneJob(programs); !reason.empty())
    return UserError("writing '" + info.modelName + "': " + reason);
  exec::ProgramOp first = programs.front();
  if (auto numRanks = static_cast<size_t>(first.getNumRanks());
      !info.meshRanks.empty() && info.meshRanks.size() != numRanks)
    return UserError("writing '" + info.modelName + "': " + std::to_string(info.meshRanks.size()) +
                     " ranks are at the " + std::to_string(numRanks) + " places of the mesh");
  format::ManifestT manifest;
  manifest.producer = "dtc " DTC_VERSION;
  manifest.model_name = info.modelName;
  manifest.device = code.device;
  manifest.gpu_arch = code.gpuArch;
  manifest.cpu_features = code.cpuFeatures;
  manifest.sequence_length = info.sequenceLength;
  manifest.default_lr = static_cast<float>(info.defaultLearningRate);
  manifest.model_flops_per_step = info.modelFlopsPerStep;
  manifest.peak_flops_per_device = info.peakFlopsPerDevice;
  manifest.plan_json = info.planJson;
  manifest.config = info.config;
  manifest.place_ranks = info.meshRanks;
  ManifestBuilder builder(manifest, code);
  for (exec::ProgramOp program : programs)
    builder.add(program);
  std::vector<uint8_t> file;
  rt::Status status = format::writeExecutable(manifest, code.segments, file);
  if (!status.ok())
    return UserError("writing '" + info.modelName + "': " + status.message());
  return file;
}

} // namespace dtc
