// text-fuzz: runs the compiler's readers of texts under libFuzzer. The first byte of an input gives
// its kind (README.md lists the letters).
//
// A reader may accept an input, or refuse it with a message that begins with the location; it may
// not crash. An accepted input that can be written is read back.
#include "compiler/decide/plan/Plan.h"
#include "compiler/decide/plan/PlanJson.h"
#include "compiler/decide/plan/PlanToJson.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/describe/topology/Calibration.h"
#include "compiler/describe/topology/CalibrationFiles.h"
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/Inventory.h"
#include "compiler/describe/topology/NcclXml.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/Resolve.h"
#include "compiler/price/uncertainty/ErrorTable.h"
#include "compiler/search/planner/PlanCache.h"
#include "compiler/search/solver/Problem.h"
#include "compiler/search/solver/ProblemReader.h"
#include "compiler/show/export/Export.h"
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/timeline/ReadTrace.h"
#include "test/fuzz/MutateJson.h"

#include "mlir/IR/MLIRContext.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <unistd.h>

// Makes AddressSanitizer ignore marks of allocators. LLVM's allocators mark memory that they have
// not handed out, and LLVM's libraries, which are compiled without a sanitizer, do not unmark it.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=0:detect_container_overflow=0";
}
// These names are prescribed by libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// NOLINTEND(readability-identifier-naming)

namespace {

using namespace dtc;
using llvm::StringRef;

[[noreturn]] void fail(const char *what, StringRef message) {
  std::fprintf(stderr, "%s: %s\n", what, message.str().c_str());
  std::abort();
}

// Returns the path of a file of this process in memory.
const std::string &path() {
  static const std::string name = "/dev/shm/text-fuzz-" + std::to_string(::getpid());
  static const int removed = std::atexit([] { ::unlink(name.c_str()); });
  (void)removed;
  return name;
}

void write(StringRef text) {
  std::ofstream(path(), std::ios::binary) << std::string_view(text.data(), text.size());
}

bool takeNumber(StringRef &text) {
  size_t digits = text.find_if_not([](char c) { return std::isdigit(c); });
  if (digits == 0 || digits == StringRef::npos)
    return false;
  text = text.drop_front(digits);
  return text.consume_front(":");
}

// Checks the form FILE:LINE:COLUMN: error: TEXT. The line with a caret below it may follow, and
// must with `withLine`; then a note may follow.
void checkMessage(StringRef message, bool withLine) {
  for (char c : message)
    if (c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))
      fail("a control character", message);
  StringRef rest = message;
  if (!rest.consume_front(path()) || !rest.consume_front(":"))
    fail("no file at the begin", message);
  bool hasLine = takeNumber(rest) && takeNumber(rest);
  if (withLine && !hasLine)
    fail("no line and column", message);
  if (!rest.consume_front(" error: ") || rest.starts_with("error:") || rest.starts_with("\n"))
    fail("no words after the place", message);
  if (message.size() > 20000 || message.count('\n') > 4)
    fail("a long message", message);
}

void check(const UserError &error, bool withLine) { checkMessage(error.text() + "\n", withLine); }

void readModel(StringRef text, int64_t sequence) {
  // A context keeps all types and attributes that it has seen, so it is replaced from time to time.
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (!context || ++uses % 500 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  write(text);
  std::string errors;
  llvm::raw_string_ostream out(errors);
  bool isConfig = text.ltrim().starts_with("{");
  if (!loadModel(context.get(), path(), sequence, out))
    checkMessage(errors, !isConfig);
}

void checkReadsBack(const SystemDescription &system) {
  std::string printed = printDescription(system);
  if (Result<SystemDescription> again = parseDescription(printed, path()); !again)
    fail("does not read back", again.error().text() + "\n" + printed);
}

// Takes slices of the topology, as planners do.
void checkParts(const Topology &topology) {
  int64_t devices = topology.numDevices(), half = devices / 2;
  if (half == 0)
    return;
  if (topology.isHomogeneous() && topology.slice(half / 2, half).numDevices() != half)
    fail("another number of devices", topology.name);
  if (Path path = pathBetween({0, half - 1}, {half, devices - 1}, topology);
      !(path.bandwidth > 0) || !(path.latency >= 0))
    fail("nothing goes from half of the devices to the other half", topology.name);
}

void readTopology(StringRef text) {
  Result<SystemDescription> system = parseDescription(text, path());
  if (!system)
    return check(system.error(), true);
  checkReadsBack(*system);
  for (auto [nodes, devices] : {std::pair<int64_t, int64_t>{0, 0}, {2, 0}, {0, 16}})
    if (Result<Topology> topology = resolve(*system, nodes, devices))
      checkParts(*topology);
    else if (topology.error().message.empty())
      fail("no words", text);
}

void readInventory(StringRef text) {
  Result<Inventory> inventory = readNcclXml(text, path());
  if (!inventory)
    return check(inventory.error(), false);
  for (const char *device : {"", "dgx-h100"})
    if (Result<SystemDescription> system = describeInventory(*inventory, device))
      checkReadsBack(*system);
    else if (system.error().message.empty())
      fail("no words", text);
}

void readStack(StringRef text) {
  if (Result<SoftwareStack> stack = parseStack(text, path()); !stack)
    check(stack.error(), true);
}

void checkPlanReadsBack(const Plan &plan) {
  Plan again;
  if (Status read = planFromJson(planToJson(plan), path(), again); !read)
    fail("does not read back", read.error().text());
}

// Exports a plan for launchers. An error must have a text, and an export must be lines of text.
void writeForLaunchers(const Plan &plan) {
  Result<SoftwareStack> stack = stackOf(plan);
  if (!stack)
    return;
  for (StringRef name : launcherNames()) {
    Result<ExportedPlan> exported = exportPlan(plan, *stack, *launcherFrom(name));
    StringRef words = exported ? StringRef(exported->text) : exported.error().message;
    if (words.empty() || words.contains('\0'))
      fail("no words", name);
  }
}

void readPlan(StringRef text) {
  Plan plan;
  if (Status read = planFromJson(text.str(), path(), plan); !read)
    return check(read.error(), true);
  checkPlanReadsBack(plan);
  writeForLaunchers(plan);
}

// Reads an entry of a plan cache, under the key "0".
void readCached(StringRef text) {
  static const std::string folder = [] {
    std::string name = "/dev/shm/text-fuzz-cache-XXXXXX";
    if (!::mkdtemp(name.data()))
      fail("no folder", name);
    return name;
  }();
  static const int removed = std::atexit([] {
    ::unlink((folder + "/0.json").c_str());
    ::rmdir(folder.c_str());
  });
  (void)removed;
  std::ofstream(folder + "/0.json", std::ios::binary) << std::string_view(text.data(), text.size());
  static const Result<PlanCache> cache = PlanCache::open(folder, "/dev/null");
  if (std::optional<PlanResult> found = cache->find("0")) {
    checkPlanReadsBack(found->best);
    for (const Plan &other : found->others)
      checkPlanReadsBack(other);
  }
}

void readMeasured(StringRef text) {
  write(text);
  if (Result<Calibration> curves = readCurves(path(), "dgx-h100"); !curves) {
    if (curves.error().message.empty())
      fail("no words", text);
  } else if (Result<std::string> whole = withCalibration("dgx-h100", *curves); !whole) {
    fail("does not read back", whole.error().text());
  }
}

void readErrors(StringRef text) {
  Result<std::vector<ClassErrors>> table = parseErrorTable(text);
  if (!table) {
    if (table.error().message.empty() || table.error().location.line < 0)
      fail("no words or no line", text);
    return;
  }
  std::string printed = errorTableHeader() + "\n";
  for (const ClassErrors &errors : *table)
    printed += errorTableLine(errors) + "\n";
  (void)errorsOf(*table, {{"megatron-core"}, "H100", ModelKind::Mixture});
}

void readRuns(StringRef text) {
  uint32_t rank = 0;
  Result<std::vector<TracedRun>> runs = readTrace(text.str(), path(), rank);
  if (!runs)
    return runs.error().message.empty() ? fail("no words", text) : void();
  for (const TracedRun &run : *runs)
    if (!std::isfinite(run.begin) || !std::isfinite(run.end))
      fail("a time without end", text);
}

void readProblem(StringRef text) {
  write(text);
  if (Result<solver::Problem> problem = solver::readProblem(path()); !problem)
    check(problem.error(), false);
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  StringRef text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
  case 'm':
    readModel(text, 0);
    break;
  case 'c':
    readModel(text, 32);
    break;
  case 't':
    readTopology(text);
    break;
  case 'x':
    readInventory(text);
    break;
  case 's':
    readStack(text);
    break;
  case 'p':
    readPlan(text);
    break;
  case 'k':
    readCached(text);
    break;
  case 'a':
    readMeasured(text);
    break;
  case 'e':
    readErrors(text);
    break;
  case 'v':
    readRuns(text);
    break;
  case 'r':
    readProblem(text);
    break;
  default:
    return -1; // The input is not kept in the corpus.
  }
  return 0;
}

// Keeps JSON valid half of the time.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  fuzz::Random random(seed);
  if (size > 1 && std::strchr("cprkv", data[0]) && random.below(2)) {
    std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
    std::optional<std::string> changed = fuzz::mutateJson(text, random);
    if (changed && changed->size() < most) {
      std::copy(changed->begin(), changed->end(), data + 1);
      return 1 + changed->size();
    }
  }
  if (size == 0)
    return LLVMFuzzerMutate(data, size, most);
  return 1 + LLVMFuzzerMutate(data + 1, size - 1, most - 1);
}
