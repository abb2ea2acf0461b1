#include "tools/cli/FishCompletion.h"

#include "tools/cli/ShellWords.h"

namespace dtc {
namespace {

std::string quotedForFish(const std::string &text) {
  std::string result;
  for (char c : text)
    result += (c == '\\' ? "\\" : "") + std::string(1, c);
  return quoted(result, "\\'");
}

// Returns the condition under which the words so far lead to the command at `path`: each of its
// names is there, and none of the commands below it.
std::string condition(const std::string &path, const CommandInfo &command) {
  std::string test;
  for (const std::string &name : CLI::detail::split(CLI::detail::trim_copy(path), ' '))
    if (!name.empty())
      test += (test.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + name);
  std::vector<std::string> below;
  for (const CommandInfo &next : command.commands)
    below.push_back(next.name);
  if (!below.empty())
    test += std::string(test.empty() ? "" : "; and ") + "not __fish_seen_subcommand_from " +
            spaced(below);
  return test.empty() ? "" : " -n " + quotedForFish(test);
}

std::string words(const FlagInfo &flag) {
  if (!flag.choices.empty())
    return " -xa " + quotedForFish(spaced(flag.choices));
  if (!flag.catalogue.empty())
    return " -ra " + quotedForFish("(" + catalogueNames(flag.catalogue) + ")");
  if (!flag.keys.empty())
    return " -xa " + quotedForFish(CLI::detail::join(flag.keys, "= ") + "=");
  return flag.value.empty() ? "" : " -rF";
}

} // namespace

std::string fishCompletion(const CommandInfo &program) {
  std::string text = "# Completion of " + program.name + " in fish.\n";
  forEachCommand(program, [&](const std::string &path, const CommandInfo &command) {
    std::string start = "complete -c " + program.name + condition(path, command);
    if (!command.commands.empty()) {
      for (const CommandInfo &next : command.commands)
        text +=
            start + " -fa " + next.name + " -d " + quotedForFish(firstLine(next.summary)) + "\n";
    }
    for (const FlagInfo &flag : command.flags) {
      text += start;
      for (const std::string &name : flag.names)
        text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += words(flag) + " -d " + quotedForFish(firstLine(flag.help)) + "\n";
    }
    for (const FlagInfo &argument : command.arguments) {
      if (!argument.choices.empty())
        text += start + " -fa " + quotedForFish(spaced(argument.choices)) + "\n";
      if (!argument.catalogue.empty())
        text +=
            start + " -a " + quotedForFish("(" + catalogueNames(argument.catalogue) + ")") + "\n";
    }
  });
  return text;
}

} // namespace dtc
