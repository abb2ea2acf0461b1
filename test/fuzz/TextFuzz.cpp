// text-fuzz: texts that the compiler reads, under libFuzzer. The first byte says what the rest is: a
// model (.mlir), a config.json, a topology, NCCL's description of a node, a stack, a plan, or a problem
// of dtc-solve.
//
// A reader may accept, or refuse with a message that begins with the place; it may not crash. What was
// accepted and can be written is read back. By hand, for hours:
//   build/test/text-fuzz -max_total_time=3600 -dict=test/fuzz/text.dict build/test/fuzz/text-corpus
#include "compiler/frontend/Frontend.h"
#include "compiler/plan/Plan.h"
#include "compiler/solver/Problem.h"
#include "compiler/stack/SoftwareStack.h"
#include "compiler/topology/Description.h"
#include "compiler/topology/Inventory.h"
#include "compiler/topology/NcclXml.h"
#include "test/fuzz/MutateJson.h"

#include "mlir/IR/MLIRContext.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <unistd.h>

// LLVM's allocators mark what they have not handed out, and those of its libraries, which are compiled
// without a sanitizer, do not unmark it.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=0:detect_container_overflow=0";
}
// Names that libFuzzer looks for.
// NOLINTBEGIN(readability-identifier-naming)
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

// In memory, of this process.
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

// FILE:LINE:COLUMN: error: WORDS, and perhaps a note; `withLine`: the line must be there.
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
  if (message.size() > 20000 || message.count('\n') > 2)
    fail("a long message", message);
}

void check(const UserError &error, bool withLine) { checkMessage(error.text() + "\n", withLine); }

void readModel(StringRef text, int64_t sequence) {
  // A context keeps all types and attributes that it has seen.
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

void readTopology(StringRef text) {
  Result<SystemDescription> system = parseDescription(text, path());
  if (!system)
    return check(system.error(), true);
  std::string printed = printDescription(*system);
  if (Result<SystemDescription> again = parseDescription(printed, path()); !again)
    fail("does not read back", again.error().text() + "\n" + printed);
  for (auto [nodes, devices] : {std::pair<int64_t, int64_t>{0, 0}, {2, 0}, {0, 16}})
    if (Result<Topology> topology = resolve(*system, nodes, devices); !topology)
      if (topology.error().message.empty())
        fail("no words", text);
}

void readInventory(StringRef text) {
  if (Result<Inventory> inventory = readNcclXml(text, path()); !inventory)
    check(inventory.error(), false);
}

void readStack(StringRef text) {
  if (Result<SoftwareStack> stack = parseStack(text, path()); !stack)
    check(stack.error(), true);
}

void readPlan(StringRef text) {
  Plan plan, again;
  if (Outcome read = planFromJson(text.str(), path(), plan); !read)
    return check(read.error(), true);
  if (Outcome read = planFromJson(planToJson(plan), path(), again); !read)
    fail("does not read back", read.error().text());
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
  case 'r':
    readProblem(text);
    break;
  default:
    return -1; // not kept in the corpus
  }
  return 0;
}

// JSON stays JSON half of the time.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  fuzz::Random random(seed);
  if (size > 1 && std::strchr("cpr", data[0]) && random.below(2)) {
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
