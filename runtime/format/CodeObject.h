// Checks the machine code of a .dte file for this machine's processor before it is mapped.
//
// A .dte file's code runs with all rights of the user who runs it; no check of a file can change
// that. This check gives: loading a file runs nothing of it, the system's loader (which trusts what
// it loads) meets nothing that could mislead it, and the code calls nothing by name but functions
// of libm and those that copy memory. `dtc inspect` shows these.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::format {

// The most that code may take when it is loaded.
inline constexpr uint64_t maxCodeBytes = uint64_t(1) << 30;

// The names that an object imports and exports.
struct CodeFacts {
  std::vector<std::string> imports; // functions that the code calls beside its own, ascending
  std::vector<std::string> exports; // functions that can be called by name, ascending
};

// Returns true if code may import a function of this name (CodeImports.def).
bool mayImport(std::string_view name);

// Checks an ELF shared object for x86-64 as dtc writes them, and reads its names into `facts`.
// InvalidArgument for:
// - incomplete files, and tables that are not where they should be;
// - code that runs when it is loaded or unloaded: constructors, destructors, IFUNCs;
// - objects that link a library, or import a name that mayImport() does not know;
// - memory that is both written and run, relocations of code, an executable stack;
// - anything else that dtc does not write (thread-local variables, versions of symbols, notes).
// Example: a library with a constructor gives "code of 8192 bytes: it has a constructor
// (DT_INIT_ARRAY), and would run when it is loaded; dtc writes no such code: do not run this file".
rt::Status readCode(std::span<const uint8_t> object, CodeFacts &facts);

} // namespace dtc::format
