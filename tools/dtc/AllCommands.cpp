#include "tools/dtc/Commands.h"

void dtc::addCommands(CLI::App &app, int &exitCode) {
  addImport(app, exitCode);
  addFmt(app, exitCode);
  addPlan(app, exitCode);
  addCompile(app, exitCode);
  addInspect(app, exitCode);
  addTopology(app, exitCode);
  addStack(app, exitCode);
  addVerify(app, exitCode);
  addSimulate(app, exitCode);
  addValidate(app, exitCode);
  addExplain(app, exitCode);
  addDiff(app, exitCode);
  addExport(app, exitCode);
  addCheckpoint(app, exitCode);
  addSign(app, exitCode);
  addLaunch(app, exitCode);
  addReport(app, exitCode);
  addData(app, exitCode);
  addCalibrate(app, exitCode);
  addCompletion(app, exitCode);
  addManual(app, exitCode);
}
