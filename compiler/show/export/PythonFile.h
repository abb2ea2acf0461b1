// The text of a Python module that sets fields of a configuration. Internal to this folder.
#pragma once

#include "compiler/show/export/PlanView.h"

namespace dtc::launch {

// The body of `def apply_plan(config)`, one assignment a line.
class PythonFile {
public:
  // Adds a comment line.
  void comment(llvm::StringRef text);
  // `path` without "config.": "model.seq_length".
  void set(llvm::StringRef path, int64_t value);
  void set(llvm::StringRef path, const std::string &text); // assigns a Python string
  // Assigns True or False.
  void setFlag(llvm::StringRef path, bool value);
  void setCode(llvm::StringRef path, llvm::StringRef code); // an expression of Python
  // Assigns None.
  void setNone(llvm::StringRef path) { setCode(path, "None"); }

  std::string body;
};

// "True" or "False".
std::string pythonFlag(bool value);
// In double quotes, with what Python reads in them escaped.
std::string pythonString(llvm::StringRef text);
// The module's documentation: the plan's summary, then `use`.
std::string pythonDocstring(const PlanView &view, llvm::StringRef use);

} // namespace dtc::launch
