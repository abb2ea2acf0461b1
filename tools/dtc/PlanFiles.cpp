// Plans from files, for the commands that explain them.
#include "tools/dtc/PlanFiles.h"

#include "compiler/support/File.h"
#include "runtime/format/Verify.h"

#include "llvm/Support/MemoryBuffer.h"

#include <span>

namespace dtc {

namespace {

// The text of the plan that an executable was compiled from, after all of dtrun's checks.
Result<std::string> planOfExecutable(const std::string &file, const std::string &doing) {
  // The format wants an address that 16 divides.
  auto buffer =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                  /*IsVolatile=*/false, llvm::Align(16));
  if (!buffer)
    return UserError("reading '" + file + "': " + buffer.getError().message());
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()),
                                 (*buffer)->getBufferSize());
  const format::Manifest *manifest = nullptr;
  if (rt::Status status = format::verifyExecutable(bytes, file, manifest); !status.ok())
    return UserError(status.message());
  if (!manifest->plan_json() || manifest->plan_json()->size() == 0)
    return UserError(doing + " '" + file + "': the executable does not hold its plan",
                     "give the plan.json that it was compiled from ('dtc plan -o plan.json')");
  return manifest->plan_json()->str();
}

} // namespace

Result<Plan> readPlan(const std::string &file, const std::string &doing) {
  Result<std::string> text = readFile(file);
  if (text && llvm::StringRef(*text).starts_with("DTEX"))
    text = planOfExecutable(file, doing);
  if (!text)
    return text.error();
  Plan plan;
  if (std::string problem = planFromJson(*text, file, plan); !problem.empty()) {
    // planFromJson's message has its place already.
    llvm::StringRef message(problem);
    auto [place, rest] = message.split(": error: ");
    auto [front, column] = place.rsplit(':');
    auto [name, line] = front.rsplit(':');
    SourcePlace at{name.str(), 0, 0};
    line.getAsInteger(10, at.line);
    column.getAsInteger(10, at.column);
    return UserError(rest.str(), "", at);
  }
  return plan;
}

} // namespace dtc
