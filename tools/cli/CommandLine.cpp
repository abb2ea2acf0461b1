#include "tools/cli/CommandLine.h"

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

// The whole of `text` as a number.
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

std::string subcommandsOf(const CLI::App *app) {
  std::string names;
  for (const CLI::App *command : app->get_subcommands([](const CLI::App *) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
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
        bool fits = read(text, value) && value >= low && value <= high; // not so for NaN
        return fits ? "" : wanted(range, text);
      },
      "");
}

CLI::Validator notEmpty() {
  return CLI::Validator(
      [](std::string &text) { return text.empty() ? "wanted a value, found ''" : ""; }, "");
}

std::string usageMistake(const CLI::App *app, const CLI::Error &error) {
  const CLI::App *command = innermost(app);
  std::string message = error.what();
  // CLI11 asks for what is missing before it looks at what nothing has asked for.
  std::vector<std::string> extras = command->remaining();
  if (dynamic_cast<const CLI::ArgumentMismatch *>(&error)) {
    std::string option = message.substr(0, message.find(':'));
    if (message.find("At Most 1") != std::string::npos)
      message = option + " is given twice";
    else if (message.find("missing") != std::string::npos)
      message = option + ": wanted a value";
  }
  if (extras.empty() && dynamic_cast<const CLI::RequiredError *>(&error))
    if (std::string names = subcommandsOf(command); !names.empty())
      message = "wanted a command, one of " + names;
  if (!extras.empty()) {
    std::string names = subcommandsOf(command);
    message = names.empty() ? "'" + extras.front() + "' is not an argument of this command"
                            : "there is no command '" + extras.front() + "', only " + names;
  }
  return format::printable(message);
}

std::string usageError(const CLI::App *app, const CLI::Error &error) {
  return "error: " + usageMistake(app, error) + "; see '" + fullName(innermost(app)) + " --help'\n";
}

} // namespace dtc
