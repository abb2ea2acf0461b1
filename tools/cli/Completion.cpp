#include "tools/cli/Completion.h"

#include "tools/cli/BashCompletion.h"
#include "tools/cli/FishCompletion.h"
#include "tools/cli/ZshCompletion.h"

namespace dtc {

std::vector<std::string> completionShells() { return {"bash", "zsh", "fish"}; }

std::string completionScript(const CommandInfo &program, const std::string &shell) {
  return shell == "zsh"    ? zshCompletion(program)
         : shell == "fish" ? fishCompletion(program)
                           : bashCompletion(program);
}

} // namespace dtc
