#include "tools/cli/BashCompletion.h"

#include "tools/cli/ShellWords.h"

namespace dtc {
namespace {

// Returns the alternatives of a case for all names of `flag` below the command at `path`.
std::string pattern(const std::string &path, const FlagInfo &flag) {
  std::string names;
  for (const std::string &name : flag.names)
    names += (names.empty() ? "'" : " | '") + path + " " + name + "'";
  return names;
}

// Returns the lines that complete the value of `flag`: one of its words, a key, or a file.
std::string valueCase(const std::string &path, const FlagInfo &flag) {
  std::string words, reply = "COMPREPLY=()";
  if (!flag.choices.empty())
    words = spaced(flag.choices);
  else if (!flag.catalogue.empty())
    words = "$(" + catalogueNames(flag.catalogue) + ")";
  else if (!flag.keys.empty())
    words = CLI::detail::join(flag.keys, "= ") + "=";
  if (!words.empty())
    reply = "mapfile -t COMPREPLY < <(compgen -W \"" + words + "\" -- \"$current\")";
  if (!flag.keys.empty())
    reply = "compopt -o nospace 2>/dev/null\n      " + reply;
  return "    " + pattern(path, flag) + ")\n      " + reply + "\n      return ;;\n";
}

} // namespace

std::string bashCompletion(const CommandInfo &program) {
  std::string function = "_" + identifier(program.name);
  std::string steps, values, words;
  forEachCommand(program, [&](const std::string &path, const CommandInfo &command) {
    std::vector<std::string> here;
    for (const CommandInfo &next : command.commands) {
      steps += "      '" + path + " " + next.name + "') path+=\" $word\" ;;\n";
      here.push_back(next.name);
    }
    for (const FlagInfo &flag : command.flags) {
      here.insert(here.end(), flag.names.begin(), flag.names.end());
      if (!flag.value.empty())
        values += valueCase(path, flag);
    }
    std::string lists;
    for (const FlagInfo &argument : command.arguments) {
      here.insert(here.end(), argument.choices.begin(), argument.choices.end());
      if (!argument.catalogue.empty())
        lists += " $(" + catalogueNames(argument.catalogue) + ")";
    }
    words += "    '" + path + "') words=\"" + spaced(here) + lists + "\" ;;\n";
  });
  // '=' divides words of COMP_WORDS, so that the flag of --flag=value is two words back. Behind the
  // '=' of a key, as in --fix zero=1, nothing is known.
  return "# Completion of " + program.name + " in bash.\n" + function +
         "() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local path= word words= divided=yes\n"
         "  if [ \"$current\" = = ]; then\n"
         "    current=\n"
         "  elif [ \"$flag\" = = ]; then\n"
         "    flag=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  else\n"
         "    divided=\n"
         "  fi\n"
         "  if [ -n \"$divided\" ] && [[ $flag != -* ]]; then\n"
         "    COMPREPLY=()\n"
         "    return\n"
         "  fi\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$path $word\" in\n" +
         steps +
         "    esac\n"
         "  done\n"
         "  case \"$path $flag\" in\n" +
         values +
         "  esac\n"
         "  case \"$path\" in\n" +
         words +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F " +
         function + " " + program.name + "\n";
}

} // namespace dtc
