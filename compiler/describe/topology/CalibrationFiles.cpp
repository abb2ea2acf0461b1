#include "compiler/describe/topology/CalibrationFiles.h"

#include "compiler/describe/topology/CalibrationReader.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/TopologyCatalogue.h"
#include "compiler/support/File.h"

namespace dtc {

static constexpr int64_t maxFileBytes = int64_t(16) << 20;

// Reads the system that curves belong to. It must have one kind of device.
static Result<SystemDescription> readSystem(const std::string &nameOrFile, std::string &path) {
  Result<NamedText> file = openNamed(topologyCatalogue(), nameOrFile, "a topology");
  if (!file)
    return file.error();
  path = file->path;
  Result<SystemDescription> system = parseDescription(file->text, path);
  if (system && !system->parts.empty())
    return UserError("'" + nameOrFile + "' has parts of different devices, and one was measured",
                     "calibrate a file of that part alone, and move its [calibration] to "
                     "[part.calibration]");
  return system;
}

Result<Calibration> readCurves(const std::string &curvesFile, const std::string &nameOrFile) {
  std::string path;
  Result<SystemDescription> system = readSystem(nameOrFile, path);
  if (!system)
    return system.error();
  Result<std::string> text = readFile(curvesFile, maxFileBytes);
  if (!text)
    return text.error();
  Result<toml::table> root = parseToml(*text, curvesFile);
  if (!root)
    return root.error();
  const toml::node *table = root->get("calibration");
  if (!table || !table->is_table())
    return UserError("'" + curvesFile + "' has no table [calibration]",
                     "dtc calibrate and tools/calibrate-gpu write one");
  FirstError errors{curvesFile, std::nullopt};
  std::shared_ptr<const Calibration> curves =
      readCalibration(*table->as_table(), system->device, system->levels, errors);
  if (errors.error)
    return *errors.error;
  return *curves;
}

Result<std::string> withCalibration(const std::string &nameOrFile, const Calibration &calibration) {
  std::string path;
  Result<SystemDescription> system = readSystem(nameOrFile, path);
  if (!system)
    return system.error();
  system->device.calibration = std::make_shared<const Calibration>(calibration);
  std::string printed = printDescription(*system);
  if (Result<SystemDescription> again = parseDescription(printed, path); !again)
    return UserError("the measured curves of '" + nameOrFile + "': " + again.error().message,
                     again.error().note);
  return printed;
}

} // namespace dtc
