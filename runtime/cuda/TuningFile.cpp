#include "runtime/cuda/TuningFile.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/format/Header.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace dtc::rt {
namespace {

using format::text;

constexpr size_t kMostBytes = size_t(4) << 20; // some 20000 matrix products
constexpr size_t kHexDigits = 16;              // digits of 64 bits

std::string hexOf(uint64_t bits) {
  std::string digits(kHexDigits, '0');
  for (size_t i = kHexDigits; i-- > 0; bits >>= 4)
    digits[i] = "0123456789abcdef"[bits & 15];
  return digits;
}

// Reads 16 digits from the front of `from` and removes them.
bool takeHex(std::string_view &from, uint64_t &bits) {
  if (from.size() < kHexDigits)
    return false;
  const char *end = from.data() + kHexDigits;
  auto [stop, error] = std::from_chars(from.data(), end, bits, 16);
  from.remove_prefix(kHexDigits);
  return error == std::errc() && stop == end;
}

bool take(std::string_view &from, std::string_view wanted) {
  if (!from.starts_with(wanted))
    return false;
  from.remove_prefix(wanted.size());
  return true;
}

std::string front(const TuningKey &key) {
  return text("dtc tuning 2\nprogram ", key.program, "\ndevice ", key.device, "\ncapability ",
              key.capability, "\ndriver ", key.driver, "\ncublaslt ", key.blasLt, "\ncudnn ",
              key.cudnn, "\n");
}

std::string endOf(std::string_view body) {
  format::Hash128 hash =
      format::hash128({reinterpret_cast<const uint8_t *>(body.data()), body.size()});
  return text("end ", hexOf(hash.high), hexOf(hash.low), "\n");
}

bool takeChoice(std::string_view &from, TuningChoices &choices) {
  uint64_t product = 0;
  cu::BlasAlgo algorithm{};
  if (!take(from, "product ") || !takeHex(from, product) || !take(from, " "))
    return false;
  for (uint64_t &bits : algorithm.data)
    if (!takeHex(from, bits))
      return false;
  return take(from, "\n") && choices.emplace(product, algorithm).second;
}

} // namespace

std::string writeChoices(const TuningKey &key, const TuningChoices &choices) {
  std::string body = front(key);
  for (const auto &[product, algorithm] : choices) {
    body += text("product ", hexOf(product), " ");
    for (uint64_t bits : algorithm.data)
      body += hexOf(bits);
    body += "\n";
  }
  return body + endOf(body);
}

bool readChoices(std::string_view all, const TuningKey &key, TuningChoices &choices) {
  choices.clear();
  size_t end = all.rfind("end ");
  if (end == std::string_view::npos || all.substr(end) != endOf(all.substr(0, end)))
    return false;
  std::string_view rest = all.substr(0, end);
  bool isOurs = take(rest, front(key));
  TuningChoices found;
  while (isOurs && !rest.empty())
    isOurs = takeChoice(rest, found);
  if (isOurs)
    choices = std::move(found);
  return isOurs;
}

std::string tuningFile(const std::string &path, const std::string &device) {
  std::string name = device;
  for (char &each : name)
    if (!std::isalnum(static_cast<unsigned char>(each)))
      each = '-';
  return text(path, ".", name);
}

bool loadChoices(const std::vector<std::string> &files, const TuningKey &key,
                 TuningChoices &choices) {
  for (const std::string &path : files) {
    InputFile file;
    std::vector<uint8_t> bytes;
    if (!file.open(path).ok() || file.size() > kMostBytes || !file.readAll(bytes).ok())
      continue;
    std::string body(bytes.begin(), bytes.end());
    if (readChoices(body, key, choices))
      return true;
  }
  return false;
}

Status saveChoices(const std::vector<std::string> &files, const TuningKey &key,
                   const TuningChoices &choices) {
  std::string body = writeChoices(key, choices);
  Status status;
  for (const std::string &path : files) {
    AtomicFile file;
    status = file.open(path);
    if (status.ok())
      status = file.write(body.data(), body.size());
    if (status.ok())
      status = file.commit();
    if (status.ok())
      return {};
  }
  return status;
}

} // namespace dtc::rt
