// toml++ with the settings that files from outside need. The one place that includes it.
#pragma once

// Errors as values; the shared library of toml++ is built for exceptions, so its headers are
// compiled in.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0

// toml++ 3.3 asserts, and with NDEBUG assumes, that a key starts with a letter of keys, where files
// such as "[=" get there with another one. The code behind the assertion reports the error
// properly, so the assertion has to go.
#define TOML_ASSERT(condition) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
