#include "tools/cli/ManualPage.h"

#include "tools/cli/ShellWords.h"

namespace dtc {
namespace {

// Returns `text` so that roff prints it as it is: no control lines, no escapes, real hyphens.
std::string roff(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool lineStarts = i == 0 || text[i - 1] == '\n';
    if (lineStarts && (text[i] == '.' || text[i] == '\''))
      result += "\\&";
    if (text[i] == '\\')
      result += "\\e";
    else if (text[i] == '-')
      result += "\\-";
    else
      result += text[i];
  }
  return result;
}

// Returns `lines` with a line break after each line but the last.
std::string lines(const std::string &text) {
  std::string result;
  for (const std::string &line : CLI::detail::split(text, '\n'))
    result += (result.empty() ? "" : "\n.br\n") + roff(CLI::detail::trim_copy(line));
  return result;
}

std::string section(const std::string &title, const std::string &body) {
  return body.empty() ? "" : ".SH " + title + "\n" + body + "\n";
}

std::string preformatted(const std::string &text) {
  return text.empty() ? "" : ".nf\n" + roff(text) + "\n.fi";
}

std::string valueOf(const FlagInfo &flag) {
  return flag.choices.empty() ? "\\fI" + roff(flag.value) + "\\fR"
                              : roff(CLI::detail::join(flag.choices, "|"));
}

std::string item(const std::string &term, const FlagInfo &flag) {
  std::string help = lines(flag.help);
  if (!flag.standard.empty())
    help += std::string(help.empty() ? "" : "\n.br\n") + "Default: " + roff(flag.standard);
  if (flag.required)
    help += std::string(help.empty() ? "" : "\n.br\n") + "Required.";
  return ".TP\n" + term + "\n" + help + "\n";
}

std::string synopsis(const std::string &name, const CommandInfo &command) {
  std::string text = "\\fB" + roff(name) + "\\fR";
  for (const FlagInfo &flag : command.flags)
    if (flag.required)
      text += " \\fB" + roff(flag.names.back()) + "\\fR " + valueOf(flag);
  text += " [\\fIoptions\\fR]";
  if (!command.commands.empty())
    text += " \\fIcommand\\fR ...";
  for (const FlagInfo &argument : command.arguments) {
    std::string word = "\\fI" + roff(argument.names.front()) + "\\fR";
    word += argument.repeated ? " ..." : "";
    text += argument.required ? " " + word : " [" + word + "]";
  }
  return text;
}

std::string optionItems(const CommandInfo &command) {
  std::string items;
  for (const FlagInfo &flag : command.flags) {
    std::string term;
    for (const std::string &name : flag.names)
      term += (term.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    items += item(term + (flag.value.empty() ? "" : " " + valueOf(flag)), flag);
  }
  return items;
}

std::string argumentItems(const CommandInfo &command) {
  std::string items;
  for (const FlagInfo &argument : command.arguments)
    items += item("\\fI" + roff(argument.names.front()) + "\\fR", argument);
  return items;
}

// Returns the name of the page of the command at `path`, such as "dtc-topology-show".
std::string pageName(const CommandInfo &program, const std::string &path) {
  std::string name = program.name + path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string commandItems(const CommandInfo &program, const std::string &path,
                         const CommandInfo &command) {
  std::string items;
  for (const CommandInfo &next : command.commands)
    items += ".TP\n\\fB" + roff(pageName(program, path + " " + next.name)) + "\\fR(1)\n" +
             roff(next.summary) + "\n";
  return items;
}

} // namespace

std::vector<ManualPage> manualPages(const CommandInfo &program, const std::string &version) {
  std::vector<ManualPage> pages;
  forEachCommand(program, [&](const std::string &path, const CommandInfo &command) {
    std::string name = pageName(program, path), title = name;
    for (char &c : title)
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string parent = path.empty() ? "" : pageName(program, path.substr(0, path.rfind(' ')));
    pages.push_back(
        {name + ".1",
         ".TH \"" + title + "\" 1 \"\" \"" + version + "\"\n" +
             section("NAME", roff(name) + " \\- " + roff(firstLine(command.summary))) +
             section("SYNOPSIS", synopsis(program.name + path, command)) +
             section("DESCRIPTION", roff(command.summary)) +
             section("COMMANDS", commandItems(program, path, command)) +
             section("ARGUMENTS", argumentItems(command)) +
             section("OPTIONS", optionItems(command)) +
             section("EXAMPLES", preformatted(command.example)) +
             section("NOTES", preformatted(command.footer)) +
             section("SEE ALSO", parent.empty() ? "" : "\\fB" + roff(parent) + "\\fR(1)")});
  });
  return pages;
}

} // namespace dtc
