// The environment variables of the runtime, as a table (Env.def) that code and --help read.
//
// Example: uint64_t threads; DTC_RETURN_IF_ERROR(envUnsigned(EnvVar::Threads, threads));
// with DTC_THREADS unset gives 0, with DTC_THREADS=two an error that names variable and value.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace dtc::rt {

// The environment variables of Env.def.
enum class EnvVar {
#define DTC_ENV(id, name, default_, unit, sentence) id,
#include "runtime/base/Env.def"
#undef DTC_ENV
};

// The table entry of one variable.
struct EnvInfo {
  const char *name, *defaultValue, *unit, *sentence;
};

// Returns all variables, in the order of EnvVar.
std::span<const EnvInfo> envTable();
// Returns the entry of a variable.
const EnvInfo &envInfo(EnvVar variable);

// Returns the variable's value, or its default if it is unset or empty.
std::string envText(EnvVar variable);
// Reads the variable as a whole number. InvalidArgument names the variable and its text.
Status envUnsigned(EnvVar variable, uint64_t &value);
// Reads the variable as seconds, which must be positive and finite; errors as above.
Status envSeconds(EnvVar variable, double &seconds);

// Checks that every variable that is set holds what its unit says; returns an error for the first
// that does not. This finds mistakes in variables that are rarely read.
Status checkEnv();

// Returns one line per variable with unit, default and meaning, for --help.
std::string describeEnv();

} // namespace dtc::rt
