// Starts ranks under mpirun, and runs as one.
#include "compiler/measure/calibrate/Ranks.h"

#include "compiler/measure/calibrate/CollectiveRuns.h"
#include "compiler/measure/calibrate/DeviceRuns.h"
#include "compiler/measure/calibrate/Points.h"
#include "compiler/support/File.h"
#include "runtime/comm/Bootstrap.h"
#include "runtime/comm/Launch.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc {
namespace {

constexpr double collectiveShare = 0.6; // share of the job's seconds
constexpr double timeoutSeconds = 60;   // time that a rank waits for another one

rt::Status measureAsRank(const RankJob &job, rt::Comm &world, Calibration &result) {
  CalibrationShapes shapes = calibrationShapes(job.quick);
  Stopwatch collectives(world, collectiveShare * job.seconds, shapes.collectiveRuns());
  DTC_RETURN_IF_ERROR(measureCollectives(shapes, world, collectives, result));
  // All ranks hold their operands at the same time, so small ones are used.
  CalibrationShapes small = calibrationShapes(/*quick=*/true);
  Stopwatch device(world, (1 - collectiveShare) * job.seconds, small.deviceRuns());
  DTC_RETURN_IF_ERROR(measureDevice(small, static_cast<int>(job.units), device, result));
  return world.barrier();
}

} // namespace

int runCalibrationRank(const RankJob &job, llvm::raw_ostream &errors) {
  rt::LaunchEnvironment launch;
  std::unique_ptr<rt::Comm> world;
  rt::Status status = rt::detectLaunch(launch);
  if (status.ok())
    status = rt::createWorld({.launch = launch, .timeoutSeconds = timeoutSeconds}, world);
  Calibration result;
  if (status.ok())
    status = measureAsRank(job, *world, result);
  if (!status.ok()) {
    if (world)
      world->abandon(status.message());
    // Written in one piece, because other ranks write to the same place.
    std::string text;
    llvm::raw_string_ostream line(text);
    int code =
        UserError("measuring as rank " + std::to_string(launch.rank) + ": " + status.message())
            .report(line);
    errors << text;
    return code;
  }
  if (world->rank() != 0)
    return 0;
  Status wrote = writeFileAtomically(job.resultsFile, printPoints(result));
  return wrote ? 0 : wrote.error().report(errors);
}

Status measureRanks(const std::string &program, int64_t ranks, const RankJob &job,
                    const std::string &level, Calibration &calibration) {
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("dtc-calibrate", "txt", path))
    return UserError("making a temporary file: " + code.message());
  llvm::FileRemover remover(path);
  std::vector<std::string> arguments = {program,          "calibrate",
                                        "--rank-results", path.str().str(),
                                        "--rank-units",   std::to_string(job.units),
                                        "--seconds",      std::to_string(job.seconds)};
  if (job.quick)
    arguments.emplace_back("--quick");
  rt::LaunchResult end;
  rt::Status status = rt::launchLocalRanks(static_cast<int>(ranks), arguments, end);
  if (!status.ok())
    return UserError(status.message());
  if (end.exitCode != 0)
    return UserError(
        "measuring with " + std::to_string(ranks) + " processes: " +
        (end.message.empty() ? "exit code " + std::to_string(end.exitCode) : end.message));
  Result<std::string> text = readFile(path.str().str(), int64_t(16) << 20);
  if (!text)
    return text.error();
  if (text->empty())
    return UserError("measuring with " + std::to_string(ranks) +
                     " processes: they ended without results");
  return readPoints(*text, level, calibration);
}

} // namespace dtc
