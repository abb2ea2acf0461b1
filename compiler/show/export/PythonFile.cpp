#include "compiler/show/export/PythonFile.h"

namespace dtc::launch {
namespace {

std::string escaped(llvm::StringRef text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

} // namespace

void PythonFile::comment(llvm::StringRef text) { body += ("    # " + text + "\n").str(); }

void PythonFile::set(llvm::StringRef path, int64_t value) { setCode(path, std::to_string(value)); }

void PythonFile::set(llvm::StringRef path, const std::string &text) {
  setCode(path, pythonString(text));
}

void PythonFile::setFlag(llvm::StringRef path, bool value) { setCode(path, pythonFlag(value)); }

void PythonFile::setCode(llvm::StringRef path, llvm::StringRef code) {
  body += ("    config." + path + " = " + code + "\n").str();
}

std::string pythonFlag(bool value) { return value ? "True" : "False"; }

std::string pythonString(llvm::StringRef text) { return "\"" + escaped(text) + "\""; }

std::string pythonDocstring(const PlanView &view, llvm::StringRef use) {
  std::string text;
  for (const std::string &line : view.summary())
    text += escaped(line) + "\n";
  return "\"\"\"" + text + "\n" + use.str() + "\"\"\"\n";
}

} // namespace dtc::launch
