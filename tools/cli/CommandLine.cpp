#include "tools/cli/CommandLine.h"

#include "runtime/format/NearestName.h"
#include "runtime/format/Printable.h"

#include <charconv>
#include <cmath>

namespace dtc {
namespace {

std::string shortest(double value) {
  char text[32];
  auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  return error == std::errc() ? std::string(text, end) : std::to_string(value);
}

// Reads the whole of `text` as a number.
template <typename T> bool read(const std::string &text, T &value) {
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

std::string wanted(const std::string &what, const std::string &found) {
  return "wanted " + what + ", found '" + found + "'";
}

const CLI::App *innermost(const CLI::App *app) {
  while (!app->get_subcommands().empty())
    app = app->get_subcommands().front();
  return app;
}

std::string fullName(const CLI::App *app) {
  std::string outer = app->get_parent() ? fullName(app->get_parent()) + " " : "";
  return outer + app->get_name();
}

using Names = std::vector<std::string>;

Names subcommandsOf(const CLI::App *app) {
  Names names;
  for (const CLI::App *command : app->get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// Returns "a, b or c" with " or " for `last`.
std::string listOf(const Names &names, const char *last = ", ") {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i)
    list += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + names[i];
  return list;
}

// Returns " (did you mean 'NEAREST'?)", the name with `prefix`, or "" if none is near.
std::string suggestion(const std::string &found, const Names &names, const char *prefix = "") {
  std::vector<std::string_view> known(names.begin(), names.end());
  std::string nearest = format::nearestName(found, known);
  return nearest.empty() ? "" : std::string(" (did you mean '") + prefix + nearest + "'?)";
}

// Returns the suggestion for a flag that does not exist; "" for any other argument.
std::string flagSuggestion(const CLI::App *command, const std::string &argument) {
  if (argument.rfind("--", 0) != 0)
    return "";
  Names flags;
  for (const CLI::Option *option : command->get_options())
    flags.insert(flags.end(), option->get_lnames().begin(), option->get_lnames().end());
  return suggestion(argument.substr(2, argument.find('=') - 2), flags, "--");
}

} // namespace

CLI::Validator wholeNumber(int64_t low, int64_t high) {
  std::string range =
      high == std::numeric_limits<int64_t>::max()
          ? "a whole number of " + std::to_string(low) + " or more"
          : "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  return CLI::Validator(
      [=](std::string &text) {
        int64_t value = 0;
        bool fits = read(text, value) && value >= low && value <= high;
        return fits ? "" : wanted(range, text);
      },
      "");
}

CLI::Validator numberBetween(double low, double high) {
  std::string range = high == std::numeric_limits<double>::max()
                          ? "a number of " + shortest(low) + " or more"
                          : "a number from " + shortest(low) + " to " + shortest(high);
  return CLI::Validator(
      [=](std::string &text) {
        double value = 0;
        bool fits = read(text, value) && value >= low && value <= high; // NaN does not
        return fits ? "" : wanted(range, text);
      },
      "");
}

CLI::Validator notEmpty() {
  return CLI::Validator(
      [](std::string &text) { return text.empty() ? "wanted a value, found ''" : ""; }, "");
}

CLI::Validator oneOf(const std::vector<std::string> &names) {
  return CLI::Validator(
      [=](std::string &text) {
        if (std::find(names.begin(), names.end(), text) != names.end())
          return std::string();
        return wanted(listOf(names, " or "), text) + suggestion(text, names);
      },
      "{" + CLI::detail::join(names, ",") + "}");
}

std::string usageMistake(const CLI::App *app, const CLI::Error &error) {
  const CLI::App *command = innermost(app);
  std::string message = error.what();
  // CLI11 reports missing arguments before unknown ones.
  std::vector<std::string> extras = command->remaining();
  if (dynamic_cast<const CLI::ArgumentMismatch *>(&error)) {
    std::string option = message.substr(0, message.find(':'));
    if (message.find("At Most 1") != std::string::npos)
      message = option + " is given twice";
    else if (message.find("missing") != std::string::npos)
      message = option + ": wanted a value";
  }
  if (extras.empty() && dynamic_cast<const CLI::RequiredError *>(&error))
    if (Names names = subcommandsOf(command); !names.empty())
      message = "wanted a command, one of " + listOf(names);
  if (!extras.empty()) {
    // A value that follows an unknown flag may be an extra argument, too: the flag is the mistake.
    auto flag = std::find_if(extras.begin(), extras.end(), [&](const std::string &extra) {
      return !flagSuggestion(command, extra).empty();
    });
    const std::string &extra = flag == extras.end() ? extras.front() : *flag;
    Names names = subcommandsOf(command);
    message = names.empty() ? "'" + extra + "' is not an argument of this command" +
                                  flagSuggestion(command, extra)
                            : "there is no command '" + extra + "', only " + listOf(names) +
                                  suggestion(extra, names);
  }
  return format::printable(message);
}

std::string usageError(const CLI::App *app, const CLI::Error &error) {
  return "error: " + usageMistake(app, error) + "; see '" + fullName(innermost(app)) + " --help'\n";
}

} // namespace dtc
