#include "tools/cli/ZshCompletion.h"

#include "tools/cli/ShellWords.h"

namespace dtc {
namespace {

// Returns `text` with a backslash before each of `characters`.
std::string escaped(const std::string &text, const std::string &characters) {
  std::string result;
  for (char c : text)
    result += (characters.find(c) != std::string::npos ? "\\" : "") + std::string(1, c);
  return result;
}

std::string quotedForZsh(const std::string &text) { return quoted(text, "'\\''"); }

// Returns what _arguments does to complete a value: "(a b)", shell code, or files.
std::string action(const FlagInfo &flag) {
  if (!flag.choices.empty())
    return "(" + spaced(flag.choices) + ")";
  if (!flag.catalogue.empty())
    return "{compadd -- $(" + catalogueNames(flag.catalogue) + "); _files}";
  if (!flag.keys.empty())
    return "{compadd -S = -- " + spaced(flag.keys) + "}";
  return "_files";
}

// Returns the specifications of a flag, one for each of its names.
std::string flagLines(const FlagInfo &flag) {
  std::string lines, help = escaped(firstLine(flag.help), "[]\\");
  for (const std::string &name : flag.names) {
    bool isLong = name.rfind("--", 0) == 0;
    std::string spec = "*" + name +
                       (flag.value.empty() ? ""
                        : isLong           ? "="
                                           : "+") +
                       "[" + help + "]";
    if (!flag.value.empty())
      spec += ":" + escaped(flag.value, ":\\") + ":" + action(flag);
    lines += " \\\n    " + quotedForZsh(spec);
  }
  return lines;
}

std::string functionName(const CommandInfo &program, const std::string &path) {
  return "_" + identifier(program.name + path);
}

// Returns the function that completes the words behind a command.
std::string commandFunction(const CommandInfo &program, const std::string &path,
                            const CommandInfo &command) {
  std::string text = functionName(program, path) + "() {\n";
  std::string flags;
  for (const FlagInfo &flag : command.flags)
    flags += flagLines(flag);
  // The words behind a command that declares none are those of another program.
  if (command.commands.empty() && command.flags.empty() && command.arguments.empty())
    return text + "  _files\n}\n";
  if (command.commands.empty()) {
    std::string arguments;
    for (const FlagInfo &argument : command.arguments)
      arguments += " \\\n    " +
                   quotedForZsh((argument.repeated ? "*:" : ":") +
                                escaped(argument.names.front(), ":\\") + ":" + action(argument));
    return text + "  _arguments -S" + flags + arguments + "\n}\n";
  }
  std::string names, steps;
  for (const CommandInfo &next : command.commands) {
    names += "\n        " + quotedForZsh(next.name + ":" + escaped(firstLine(next.summary), ":\\"));
    steps +=
        "        " + next.name + ") " + functionName(program, path + " " + next.name) + " ;;\n";
  }
  return text +
         "  local context state state_descr line\n"
         "  typeset -A opt_args\n"
         "  _arguments -C" +
         flags +
         " \\\n    '1:command:->command' '*::word:->word'\n"
         "  case $state in\n"
         "    command)\n"
         "      local -a commands=(" +
         names +
         ")\n"
         "      _describe command commands ;;\n"
         "    word)\n"
         "      case $words[1] in\n" +
         steps +
         "      esac ;;\n"
         "  esac\n"
         "}\n";
}

} // namespace

std::string zshCompletion(const CommandInfo &program) {
  std::string text =
      "#compdef " + program.name + "\n# Completion of " + program.name + " in zsh.\n";
  forEachCommand(program, [&](const std::string &path, const CommandInfo &command) {
    text += commandFunction(program, path, command);
  });
  // zsh runs the file itself as the function when it loads it by name; others source it.
  std::string function = functionName(program, "");
  return text + "if [ \"$funcstack[1]\" = " + function + " ]; then\n  " + function +
         " \"$@\"\nelse\n  compdef " + function + " " + program.name + "\nfi\n";
}

} // namespace dtc
