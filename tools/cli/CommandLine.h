// What the command lines of the compiler's programs have in common: checks of values, and errors in
// one line.
#pragma once

// CLI11 is inline functions throughout, of which every command that has options would optimise its own copies for some 3 s, and
// which run once a process. What it includes comes first, as that is others' code too.
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

// Checks of one value, which say what was wanted. CLI11's own print a range of doubles in full, and
// let NaN and numbers of more than 64 bits pass.
CLI::Validator wholeNumber(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());
CLI::Validator numberBetween(double low, double high = std::numeric_limits<double>::max());
CLI::Validator notEmpty();

// Accepts one of `names` only; for any other word the error has the nearest of them:
// "--precision: wanted f32, bf16 or f16, found 'fp16' (did you mean 'f16'?)".
CLI::Validator oneOf(const std::vector<std::string> &names);

// What is wrong with a command line, in a few words, without a newline.
std::string usageMistake(const CLI::App *app, const CLI::Error &error);

// For CLI::App::failure_message: one line, which names the command whose --help says more. Example:
//   error: --devices: wanted a whole number of 1 or more, found '0'; see 'dtc plan --help'
std::string usageError(const CLI::App *app, const CLI::Error &error);

} // namespace dtc
