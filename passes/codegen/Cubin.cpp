// Runs ptxas if it is installed.
#include "passes/codegen/Cubin.h"

#include "passes/codegen/PtxCode.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace dtc;

namespace {

std::optional<std::string> findPtxas() {
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  SmallVector<std::string> homes;
  if (std::optional<std::string> home = sys::Process::GetEnv("CUDA_HOME"))
    homes.push_back(*home);
  homes.push_back("/usr/local/cuda");
  for (const std::string &home : homes) {
    SmallString<128> path(home);
    sys::path::append(path, "bin", "ptxas");
    if (sys::fs::can_execute(path))
      return path.str().str();
  }
  return std::nullopt;
}

// A temporary file that is removed by the destructor, or when a signal ends the program.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix)
      : error(sys::fs::createTemporaryFile("dtc-kernels", suffix, path)) {
    if (!error)
      sys::RemoveFileOnSignal(path);
  }
  ~TemporaryFile() {
    if (error)
      return;
    sys::fs::remove(path);
    sys::DontRemoveFileOnSignal(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  Error check() const {
    if (error)
      return createStringError("making a temporary file for ptxas: " + error.message());
    return Error::success();
  }
  StringRef getPath() const { return path; }
  Expected<std::string> read() const {
    auto buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return createStringError("reading '" + path + "': " + buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }
  Error write(StringRef text) const {
    std::error_code failure;
    raw_fd_ostream stream(path, failure);
    if (!failure) {
      stream << text;
      stream.close();
      failure = stream.error();
      stream.clear_error();
    }
    if (failure)
      return createStringError("writing '" + path + "': " + failure.message());
    return Error::success();
  }

private:
  SmallString<128> path;
  std::error_code error;
};

// Returns the number before `what`: 40 for "Used 40 registers" and " registers"; 0 if there is
// none.
unsigned numberBefore(StringRef line, StringRef what) {
  StringRef before = line.substr(0, line.find(what));
  if (before.size() == line.size())
    return 0;
  unsigned number = 0;
  before.take_back(before.size() - before.find_last_not_of("0123456789") - 1)
      .getAsInteger(10, number);
  return number;
}

} // namespace

Expected<std::optional<std::vector<char>>> dtc::assembleCubin(StringRef ptx, GpuTarget target,
                                                              std::string *report) {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return std::nullopt;
  TemporaryFile input("ptx"), output("cubin"), log("log");
  for (const TemporaryFile *file : {&input, &output, &log})
    if (Error error = file->check())
      return error;
  if (Error error = input.write(ptx))
    return error;
  std::string arch = ("-arch=sm_" + Twine(target.sm)).str();
  StringRef arguments[] = {*ptxas, "-O3", "-v", arch, input.getPath(), "-o", output.getPath()};
  std::string reason;
  int code = sys::ExecuteAndWait(*ptxas, arguments, std::nullopt,
                                 {StringRef(), log.getPath(), log.getPath()}, 0, 0, &reason);
  Expected<std::string> said = log.read();
  if (!said)
    return said.takeError();
  if (code != 0)
    return createStringError("'" + *ptxas + "' does not assemble the kernels' PTX: " +
                             (reason.empty() ? StringRef(*said).trim() : StringRef(reason)));
  if (report)
    *report = *said;
  Expected<std::string> cubin = output.read();
  if (!cubin)
    return cubin.takeError();
  return std::vector<char>(cubin->begin(), cubin->end());
}

std::vector<KernelResources> dtc::readResources(StringRef report) {
  std::vector<KernelResources> kernels;
  SmallVector<StringRef> lines;
  report.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function '"))
      kernels.push_back({line.split('\'').second.split('\'').first.str()});
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    kernel.localBytes += numberBefore(line, " bytes stack frame");
    kernel.spillBytes += numberBefore(line, " bytes spill stores");
    kernel.spillBytes += numberBefore(line, " bytes spill loads");
    if (!line.contains("Used "))
      continue;
    kernel.registers = numberBefore(line, " registers");
    kernel.sharedBytes = numberBefore(line, " bytes smem");
  }
  return kernels;
}
