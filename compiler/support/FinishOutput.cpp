#include "compiler/support/FinishOutput.h"

#include "compiler/support/Error.h"

#include <cerrno>
#include <iostream>
#include <system_error>

namespace dtc {

int finishOutput(int exitCode) {
  errno = 0;
  std::cout.flush(); // has --help and --version
  std::error_code problem(std::cout ? 0 : errno ? errno : EIO, std::generic_category());
  llvm::outs().flush();
  if (llvm::outs().has_error())
    problem = llvm::outs().error();
  llvm::outs().clear_error(); // LLVM would end the program otherwise
  if (!problem)
    return exitCode;
  int failed = UserError("writing to stdout: " + problem.message()).report(llvm::errs());
  return exitCode == 0 ? failed : exitCode;
}

} // namespace dtc
