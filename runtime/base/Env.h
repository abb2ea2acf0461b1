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

enum class EnvVar {
#define DTC_ENV(id, name, default_, unit, sentence) id,
#include "runtime/base/Env.def"
#undef DTC_ENV
};

struct EnvInfo {
  const char *name, *defaultValue, *unit, *sentence;
};

// All variables, in the order of EnvVar.
std::span<const EnvInfo> envTable();
const EnvInfo &envInfo(EnvVar variable);

// The variable's value, or its default where it is unset or empty.
std::string envText(EnvVar variable);
// The same as a number. InvalidArgument names the variable and what it holds; `seconds` must be
// positive and finite.
Status envUnsigned(EnvVar variable, uint64_t &value);
Status envSeconds(EnvVar variable, double &seconds);

// Whether every variable that is set holds what its unit says; the first that does not, as an error.
// What a program reads only now and then is not wrong unnoticed until then.
Status checkEnv();

// One line per variable with unit, default and meaning, for --help.
std::string describeEnv();

} // namespace dtc::rt
