// Reads JSON from zlib, token by token.
#include "compiler/search/solver/JsonScanner.h"

#include <sys/stat.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <limits>

namespace dtc::solver {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr int kMaxDepth = 64;
constexpr size_t kMaxStringBytes = 1 << 16;

bool isDigit(int c) { return c >= '0' && c <= '9'; }

} // namespace

JsonScanner::JsonScanner(const std::string &path) : path(path), buffer(kBufferBytes) {
  auto refuse = [&](const std::string &why) {
    hasFailed = true;
    mistake = UserError("reading the problem: " + why, "", {path, 0, 0});
  };
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    refuse(std::strerror(errno));
  else if (S_ISDIR(status.st_mode))
    refuse("it is a directory, wanted a file");
  else if (file = gzopen(path.c_str(), "rb"); !file)
    refuse(std::strerror(errno));
  else
    gzbuffer(file, kBufferBytes);
}

JsonScanner::~JsonScanner() {
  if (file)
    gzclose(file);
}

bool JsonScanner::fail(const std::string &message, const std::string &note) {
  if (hasFailed)
    return false;
  hasFailed = true;
  int64_t offset = offsetOfBuffer + static_cast<int64_t>(position);
  mistake = UserError(message, note, {path, line, offset - lineStart + 1});
  return false;
}

bool JsonScanner::refill() {
  if (hasFailed)
    return false;
  offsetOfBuffer += static_cast<int64_t>(filled);
  position = filled = 0;
  int got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()));
  int code = Z_OK;
  const char *words = gzerror(file, &code);
  if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
    // Z_BUF_ERROR at the end of the file: the compressed stream ends too early.
    fail(std::string("reading the compressed file: ") + words, "the file is damaged or cut short");
    return false;
  }
  filled = static_cast<size_t>(got);
  return got > 0;
}

int JsonScanner::skipSpace() {
  for (;;) {
    int c = peek();
    if (c == '\n') {
      ++line;
      lineStart = offsetOfBuffer + static_cast<int64_t>(position) + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return c;
    }
    ++position;
  }
}

bool JsonScanner::failAt(int found, const char *wanted) {
  std::string what = found < 0 ? "the end of the file" : "'" + std::string(1, char(found)) + "'";
  if (found >= 0 && (found < ' ' || found > '~'))
    what = "byte " + std::to_string(found);
  return fail("reading JSON: found " + what + ", wanted " + wanted);
}

bool JsonScanner::expect(char wanted, const char *what) {
  int c = skipSpace();
  if (c != wanted)
    return failAt(c, what);
  ++position;
  return true;
}

bool JsonScanner::enter() {
  first = true;
  return true;
}

bool JsonScanner::nextKey(std::string &key) {
  int c = skipSpace();
  if (c == '}') {
    ++position;
    first = false;
    return false;
  }
  if (!first && !expect(',', "',' or '}'"))
    return false;
  first = false;
  return readString(key) && expect(':', "':'");
}

bool JsonScanner::nextElement() {
  int c = skipSpace();
  if (c == ']') {
    ++position;
    first = false;
    return false;
  }
  if (!first && !expect(',', "',' or ']'"))
    return false;
  first = false;
  return !hasFailed;
}

bool JsonScanner::readInteger(int64_t &value) {
  int c = skipSpace();
  bool negative = c == '-';
  if (negative) {
    ++position;
    c = peek();
  }
  if (!isDigit(c))
    return failAt(c, "an integer");
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  value = 0;
  for (; isDigit(c); c = peek()) {
    int digit = c - '0';
    if (value > (kLargest - digit) / 10)
      return fail("reading JSON: the number does not fit in 64 bits");
    value = value * 10 + digit;
    ++position;
  }
  if (c == '.' || c == 'e' || c == 'E')
    return fail("reading JSON: found a fraction or an exponent, wanted an integer");
  value = negative ? -value : value;
  return true;
}

bool JsonScanner::readString(std::string &value) {
  if (!expect('"', "a string"))
    return false;
  value.clear();
  for (int c = peek(); c != '"'; c = peek()) {
    if (c < ' ')
      return failAt(c, "a character of a string");
    if (value.size() >= kMaxStringBytes)
      return fail("reading JSON: a string is longer than 64 KiB");
    ++position;
    value.push_back(static_cast<char>(c));
    if (c != '\\')
      continue;
    // Escapes are kept as written, because no name that matters has any.
    if (int escaped = peek(); escaped < ' ')
      return failAt(escaped, "an escaped character");
    value.push_back(static_cast<char>(peek()));
    ++position;
  }
  ++position;
  return true;
}

bool JsonScanner::readIntegers(std::vector<int64_t> &values) {
  values.clear();
  if (!beginArray())
    return false;
  while (nextElement()) {
    int64_t value = 0;
    if (!readInteger(value))
      return false;
    values.push_back(value);
  }
  return !hasFailed;
}

bool JsonScanner::skipWord() {
  std::string word;
  for (int c = peek(); (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '-' ||
                       c == '+' || c == '.';
       c = peek()) {
    if (word.size() >= 400)
      return fail("reading JSON: a number is longer than 400 digits");
    word.push_back(static_cast<char>(c));
    ++position;
  }
  if (word == "true" || word == "false" || word == "null" ||
      (!word.empty() && (isDigit(word[0]) || word[0] == '-')))
    return true;
  return word.empty() ? failAt(peek(), "a value")
                      : fail("reading JSON: found '" + word + "', wanted a value");
}

bool JsonScanner::skipValue(int depth) {
  if (depth > kMaxDepth)
    return fail("reading JSON: objects and arrays are nested more than 64 deep");
  int c = skipSpace();
  std::string text;
  if (c == '"')
    return readString(text);
  if (c == '{') {
    beginObject();
    while (nextKey(text))
      if (!skipValue(depth + 1))
        return false;
    return !hasFailed;
  }
  if (c == '[') {
    beginArray();
    while (nextElement())
      if (!skipValue(depth + 1))
        return false;
    return !hasFailed;
  }
  return skipWord();
}

bool JsonScanner::expectEnd() {
  int c = skipSpace();
  if (c >= 0)
    return failAt(c, "the end of the file");
  return !hasFailed;
}

} // namespace dtc::solver
