// Machine code of a .dte file for this machine's processor, looked at before it is mapped.
//
// Whoever runs a .dte runs its code, with all rights that he has; no check of a file can change that.
// What this check gives: loading a file runs nothing of it, the system's loader (which trusts what it
// loads) meets nothing that could mislead it, and the code calls nothing by name but functions of
// libm and those that copy memory. `dtc inspect` shows these.
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

struct CodeFacts {
  std::vector<std::string> imports; // what it calls beside itself, ascending
  std::vector<std::string> exports; // what can be called by name, ascending
};

// Whether code may call a function of this name beside itself (CodeImports.def).
bool mayImport(std::string_view name);

// `object`: an ELF shared object for x86-64 as dtc writes them. InvalidArgument for any other:
//  - what is no whole file, or has tables that are not where they should be;
//  - code that runs when it is loaded or unloaded: constructors, destructors, IFUNCs;
//  - what links a library, or imports a name that mayImport() does not know;
//  - memory that is both written and run, relocations of code, an executable stack;
//  - anything else that dtc does not write (thread-local variables, versions of symbols, notes).
// Example: a library with a constructor gives "code of 8192 bytes: it has a constructor (DT_INIT_ARRAY),
// and would run when it is loaded; dtc writes no such code: do not run this file".
rt::Status readCode(std::span<const uint8_t> object, CodeFacts &facts);

} // namespace dtc::format
