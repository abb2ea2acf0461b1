// The commands of the program that only plans (tools/package.sh): those that describe, plan and
// explain, which need neither MPI nor BLAS.
#include "tools/dtc/Commands.h"

void dtc::addCommands(CLI::App &app, int &exitCode) {
  addImport(app, exitCode);
  addFmt(app, exitCode);
  addPlan(app, exitCode);
  addInspect(app, exitCode);
  addTopology(app, exitCode);
  addStack(app, exitCode);
  addSimulate(app, exitCode);
  addExplain(app, exitCode);
  addDiff(app, exitCode);
  addExport(app, exitCode);
  addLaunch(app, exitCode);
  addCompletion(app, exitCode);
  addManual(app, exitCode);
}
