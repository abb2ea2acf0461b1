// Orders the measurements on this machine.
#include "compiler/measure/calibrate/Calibrate.h"

#include "compiler/describe/topology/CalibrationFiles.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/measure/calibrate/CalibrateResult.h"
#include "compiler/measure/calibrate/DeviceRuns.h"
#include "compiler/measure/calibrate/Report.h"
#include "compiler/support/File.h"
#include "runtime/comm/Loopback.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cblas.h>
#include <ctime>
#include <dnnl.h>
#include <sched.h>

namespace dtc {
namespace {

constexpr double singleShare = 0.5; // share of the time for one process with all cores

int64_t allowedCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

std::string today() {
  std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  char text[16];
  if (!::gmtime_r(&seconds, &parts) || !std::strftime(text, sizeof(text), "%Y-%m-%d", &parts))
    return "";
  return text;
}

std::string softwareText() {
  const dnnl_version_t *version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + ", " +
         llvm::StringRef(openblas_get_config()).trim().str();
}

// Returns the whole node as one device, from a file that can describe this machine.
Result<Topology> machineOf(const std::string &name) {
  Result<Topology> topology = loadTopology(name, 1, 1);
  if (!topology)
    return topology.error();
  if (topology->device.deviceClass != DeviceClass::Cpu)
    return UserError(
        "'" + name + "' is of class 'gpu', and dtc calibrate measures this CPU machine",
        "tools/calibrate-gpu measures a GPU machine, and --curves takes what it found");
  int64_t cores = topology->device.computeUnits, allowed = allowedCores();
  if (cores > allowed)
    return UserError("'" + name + "' has " + std::to_string(cores) +
                         " cores, but this process may use " + std::to_string(allowed),
                     "run on the machine that it describes, or correct 'compute_units'");
  return topology;
}

Status measureOne(const CalibrateOptions &options, int64_t cores,
                  CalibrateResult &calibrateResult) {
  std::unique_ptr<rt::Comm> world = std::move(rt::makeLoopbackWorld(1, 60)[0]);
  CalibrationShapes shapes = calibrationShapes(options.quick);
  double share = cores > 1 ? singleShare : 1;
  Stopwatch watch(*world, share * options.seconds, shapes.deviceRuns());
  rt::Status status =
      measureDevice(shapes, static_cast<int>(cores), watch, calibrateResult.calibration);
  if (!status.ok())
    return UserError("measuring with one process: " + status.message());
  if (watch.skipped())
    calibrateResult.remarks.push_back(
        std::to_string(watch.skipped()) +
        " shapes were left out: this machine is too slow for them in the seconds given");
  return {};
}

size_t pointsOf(const Calibration &calibration) {
  return calibration.launches.size() + calibration.products.size() + calibration.memory.size() +
         calibration.attention.size() + calibration.collectives.size();
}

void measureSeveral(const CalibrateOptions &options, int64_t cores, const std::string &level,
                    CalibrateResult &calibrateResult, llvm::raw_ostream &progress) {
  std::vector<int64_t> counts = rankCounts(cores);
  size_t wanted = calibrationShapes(options.quick).collectiveRuns() +
                  calibrationShapes(/*quick=*/true).deviceRuns();
  for (int64_t ranks : counts) {
    size_t before = pointsOf(calibrateResult.calibration);
    progress << "measuring with " << ranks << " processes\n";
    RankJob job;
    job.units = cores / ranks;
    job.quick = options.quick;
    job.seconds = (1 - singleShare) * options.seconds / static_cast<double>(counts.size());
    if (Status done = measureRanks(options.program, ranks, job, level, calibrateResult.calibration);
        !done) {
      calibrateResult.remarks.push_back("no collectives of " + std::to_string(ranks) +
                                        " processes and more: " + done.error().message);
      return;
    }
    if (size_t found = pointsOf(calibrateResult.calibration) - before; found < wanted)
      calibrateResult.remarks.push_back(
          std::to_string(wanted - found) + " points of " + std::to_string(ranks) +
          " processes were left out: they are too slow for them in the "
          "seconds given");
  }
}

// Adds a remark if other programs on the machine made runs longer and uneven.
void remarkOnDisturbance(CalibrateResult &calibrateResult) {
  constexpr double wide = 0.25, tolerated = 0.1; // spread of a point; share of such points
  size_t points = pointsOf(calibrateResult.calibration), disturbed = 0;
  auto count = [&](const auto &list) {
    for (const auto &point : list)
      disturbed += point.time.spread > wide;
  };
  const Calibration &calibration = calibrateResult.calibration;
  count(calibration.launches);
  count(calibration.products);
  count(calibration.memory);
  count(calibration.attention);
  count(calibration.collectives);
  if (static_cast<double>(disturbed) > tolerated * static_cast<double>(points))
    calibrateResult.remarks.push_back(
        std::to_string(disturbed) + " of " + std::to_string(points) +
        " points spread by more than 25%: something else used the machine; "
        "measure again while nothing does");
}

} // namespace

Result<CalibrateResult> calibrateMachine(const CalibrateOptions &options,
                                         llvm::raw_ostream &progress) {
  Result<Topology> machine = machineOf(options.topology);
  if (!machine)
    return machine.error();
  int64_t cores = machine->device.computeUnits;
  CalibrateResult calibrateResult;
  calibrateResult.calibration.machine =
      machine->device.name + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  calibrateResult.calibration.software = softwareText();
  calibrateResult.calibration.date = today();
  progress << "measuring with one process on " << calibrateResult.calibration.machine << "\n";
  if (Status done = measureOne(options, cores, calibrateResult); !done)
    return done.error();
  Result<Topology> pair = loadTopology(options.topology, 1, 2);
  if (cores < 2)
    calibrateResult.remarks.emplace_back("no collectives: processes of one core only take turns");
  else if (!pair || pair->levels.empty())
    calibrateResult.remarks.push_back("no collectives: '" + options.topology +
                                      "' has no level that joins processes");
  else
    measureSeveral(options, cores, pair->levels.front().name, calibrateResult, progress);
  remarkOnDisturbance(calibrateResult);
  Result<std::string> text = withCalibration(options.topology, calibrateResult.calibration);
  if (!text)
    return text.error();
  calibrateResult.text = *text;
  return calibrateResult;
}

Result<CalibrateResult> adoptCurves(const CalibrateOptions &options) {
  Result<Calibration> curves = readCurves(options.curvesFile, options.topology);
  if (!curves)
    return curves.error();
  CalibrateResult calibrateResult;
  calibrateResult.calibration = *curves;
  Result<std::string> text = withCalibration(options.topology, calibrateResult.calibration);
  if (!text)
    return text.error();
  calibrateResult.text = *text;
  return calibrateResult;
}

int runCalibrate(const CalibrateOptions &options, const std::string &outputFile,
                 llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  if (Status checked = checkWritable(outputFile); !checked)
    return checked.error().report(errors);
  Result<CalibrateResult> calibrateResult =
      options.curvesFile.empty() ? calibrateMachine(options, errors) : adoptCurves(options);
  if (!calibrateResult)
    return calibrateResult.error().report(errors);
  printCalibrationReport(*calibrateResult, out);
  if (outputFile.empty())
    return 0;
  Status wrote = writeFileAtomically(outputFile, calibrateResult->text);
  if (!wrote)
    return wrote.error().report(errors);
  out << "\nwrote " << outputFile << "; use it by --topology " << outputFile << "\n";
  return 0;
}

} // namespace dtc
