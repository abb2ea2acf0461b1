// A command line as data: its commands, flags and arguments with their help. Completion scripts and
// manual pages are written from it, so that neither repeats what a command declares.
#pragma once

#include "tools/cli/CommandLine.h"

#include <string>
#include <vector>

namespace dtc {

// A flag or an argument without a name.
struct FlagInfo {
  std::vector<std::string> names;   // with their dashes, "-o" before "--output"; an argument's name
  std::string value;                // name of the value, such as "FILE"; empty for a switch
  std::vector<std::string> choices; // the only words allowed; empty if there are others
  std::string catalogue;            // command that lists further words, such as "dtc topology list"
  std::vector<std::string> keys;    // of a value of the form key=value[,key=value...]; or none
  std::string help;                 // lines
  std::string standard;             // value where the flag is not given; empty if none is stated
  bool required = false;
  bool repeated = false; // takes several values
};

// A program or one of its commands.
struct CommandInfo {
  std::string name;    // of this command alone
  std::string summary; // one line
  std::string example; // lines of commands, without indentation; empty if there are none
  std::string footer;  // lines
  std::vector<FlagInfo> arguments, flags;
  std::vector<CommandInfo> commands;
};

// Returns what `app` declares, without options that its help hides. The paragraph "Example:" or
// "Examples:" of a command's help or footer is its example. Help that says "a name of 'PROGRAM ...
// list'" names the catalogue; its lines that begin with "key=" are the keys.
CommandInfo commandInfo(const CLI::App &app);

} // namespace dtc
