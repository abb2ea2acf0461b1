#include "tools/cli/CommandTree.h"

namespace dtc {
namespace {

// Returns the words of "{a,b}" in CLI11's name of an option's type; none if there is no such list.
std::vector<std::string> choicesOf(const std::string &type) {
  size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

// Returns the name of an option's value in CLI11's name of its type, which has the texts of
// validators behind it: "TEXT:{a,b}", "FLOAT:FLOAT in [0 - 1]". "CLAIM:FOLDER" is a whole name.
std::string valueNameOf(const std::string &type) {
  size_t end = type.find(":{"), range = type.find(" in [");
  if (range != std::string::npos)
    end = std::min(end, type.rfind(':', range));
  return type.substr(0, end);
}

std::string catalogueOf(const std::string &help) {
  constexpr std::string_view kBefore = "a name of '", kAfter = " list'";
  size_t begin = help.find(kBefore);
  size_t end = begin == std::string::npos ? begin : help.find(kAfter, begin);
  if (end == std::string::npos)
    return "";
  begin += kBefore.size();
  return help.substr(begin, end - begin) + " list";
}

std::vector<std::string> keysOf(const std::string &help) {
  std::vector<std::string> keys;
  for (const std::string &line : CLI::detail::split(help, '\n')) {
    size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (end != std::string::npos && end > 0 && line[end] == '=')
      keys.push_back(line.substr(0, end));
  }
  return keys;
}

std::string trimmed(std::string text) { return CLI::detail::trim(text); }

// Removes the spaces before each line.
std::string outdented(const std::string &text) {
  std::string lines;
  for (const std::string &line : CLI::detail::split(text, '\n'))
    lines += CLI::detail::trim_copy(line) + "\n";
  return trimmed(lines);
}

FlagInfo flagInfo(const CLI::Option &option) {
  FlagInfo flag;
  if (option.get_positional()) {
    flag.names = {option.get_name(true)};
  } else {
    for (const std::string &name : option.get_snames())
      flag.names.push_back("-" + name);
    for (const std::string &name : option.get_lnames())
      flag.names.push_back("--" + name);
  }
  flag.help = trimmed(option.get_description());
  flag.required = option.get_required();
  flag.catalogue = catalogueOf(flag.help);
  if (option.get_items_expected_max() == 0)
    return flag;
  std::string type = option.get_type_name(); // "TEXT:{a,b}", "PORT"
  flag.choices = choicesOf(type);
  flag.keys = keysOf(flag.help);
  flag.value = valueNameOf(type);
  flag.standard = option.get_default_str();
  flag.repeated = option.get_items_expected_max() > 1;
  return flag;
}

// Moves the paragraph "Example:" or "Examples:" of `text` into `example`, without its first line.
void takeExample(std::string &text, std::string &example) {
  size_t begin = text.rfind("Example", 0) == 0 ? 0 : text.find("\n\nExample");
  if (begin == std::string::npos)
    return;
  begin = text.find('\n', begin == 0 ? 0 : begin + 2);
  if (begin == std::string::npos)
    return;
  size_t end = text.find("\n\n", begin);
  example = outdented(text.substr(begin, end == std::string::npos ? end : end - begin));
  size_t heading = text.rfind("Example", begin);
  text = trimmed(text.substr(0, heading) + (end == std::string::npos ? "" : text.substr(end)));
}

} // namespace

CommandInfo commandInfo(const CLI::App &app) {
  CommandInfo info;
  info.name = app.get_name();
  info.summary = trimmed(app.get_description());
  takeExample(info.summary, info.example);
  info.footer = trimmed(app.get_footer());
  takeExample(info.footer, info.example);
  // An option without a group is hidden: it is for a program that calls this one.
  for (const CLI::Option *option :
       app.get_options([](const CLI::Option *any) { return !any->get_group().empty(); }))
    (option->get_positional() ? info.arguments : info.flags).push_back(flagInfo(*option));
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    info.commands.push_back(commandInfo(*command));
  return info;
}

} // namespace dtc
