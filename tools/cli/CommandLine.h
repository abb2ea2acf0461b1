// The common parts of the compiler's command lines: checks of values, and errors in one line.
#pragma once

// CLI11 consists of inline functions, which run once a process and whose optimisation would take
// some 3 s per command. Standard headers that it includes come first, so that they are optimised.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
#pragma clang optimize off
#include <CLI/CLI.hpp>
#pragma clang optimize on

#include <cstdint>

namespace dtc {

// Accepts whole numbers from `low` to `high`; the error says what was wanted. CLI11's own checks
// print a range of doubles in full, and accept NaN and numbers of more than 64 bits.
CLI::Validator wholeNumber(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());
// Accepts numbers from `low` to `high`, but not NaN.
CLI::Validator numberBetween(double low, double high = std::numeric_limits<double>::max());
// Accepts any text but the empty one.
CLI::Validator notEmpty();

// Accepts one of `names` only; for any other word the error suggests the nearest: "--precision:
// wanted f32, bf16 or f16, found 'fp16' (did you mean 'f16'?)".
CLI::Validator oneOf(const std::vector<std::string> &names);

// Returns the mistake of a command line, in a few words, without a newline.
std::string usageMistake(const CLI::App *app, const CLI::Error &error);

// Returns one line for CLI::App::failure_message, which names the command whose --help says more.
// Example: error: --devices: wanted a whole number of 1 or more, found '0'; see 'dtc plan --help'
std::string usageError(const CLI::App *app, const CLI::Error &error);

} // namespace dtc
