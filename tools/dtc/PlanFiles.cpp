// Plans from files, for the commands that explain them.
#include "tools/dtc/PlanFiles.h"

#include "compiler/support/File.h"

namespace dtc {

Result<Plan> readPlan(const std::string &file, const std::string &doing) {
  Result<std::string> text = readFile(file);
  if (!text)
    return text.error();
  if (llvm::StringRef(*text).starts_with("DTEX"))
    return UserError(doing + " '" + file +
                         "': it is an executable; its instructions carry no times, so dtc takes "
                         "plans only",
                     "give the plan.json that it was compiled from ('dtc plan -o plan.json')");
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
