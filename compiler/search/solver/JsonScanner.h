// Reads JSON in pieces from a file, plain or compressed by gzip, without holding it in memory.
#pragma once

#include "compiler/support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

struct gzFile_s;

namespace dtc::solver {

// A reader that walks through one JSON text in order. Every method returns false after the first
// mistake, which error() then returns. Example, for {"a": [1, 2], "b": "x"}:
//   std::string key;
//   scanner.beginObject();
//   while (scanner.nextKey(key))
//     key == "a" ? scanner.readIntegers(values) : scanner.skipValue();
//   if (scanner.failed()) return scanner.error();
class JsonScanner {
public:
  explicit JsonScanner(const std::string &path);
  ~JsonScanner();
  JsonScanner(const JsonScanner &) = delete;
  JsonScanner &operator=(const JsonScanner &) = delete;

  bool failed() const { return hasFailed; }
  UserError error() const { return mistake; }

  // Enters an object. Fails if something else comes next.
  bool beginObject() { return expect('{', "an object") && enter(); }
  // Reads the next key of the open object. Returns false at its end.
  bool nextKey(std::string &key);
  // Enters an array. Fails if something else comes next.
  bool beginArray() { return expect('[', "an array") && enter(); }
  // Returns true if the open array has another element, which is read next, and false at its end.
  bool nextElement();
  // Reads an integer of 64 bits.
  bool readInteger(int64_t &value);
  // Reads a string, with escapes as written.
  bool readString(std::string &value);
  // Reads a whole array of integers, such as [1, 2, 3]. Replaces the contents of `values`.
  bool readIntegers(std::vector<int64_t> &values);
  // Skips one value of any kind.
  bool skipValue() { return skipValue(0); }
  // Checks that only white space is left. Reads to the end, so that a damaged compressed file is
  // found.
  bool expectEnd();

  // Records a mistake at the present location. Returns false.
  bool fail(const std::string &message, const std::string &note = "");

private:
  int peek() {
    return position < filled || refill() ? static_cast<unsigned char>(buffer[position]) : -1;
  }
  int skipSpace();
  bool refill();
  bool enter();
  bool expect(char wanted, const char *what);
  bool failAt(int found, const char *wanted);
  bool skipWord();
  bool skipValue(int depth);

  std::string path;
  gzFile_s *file = nullptr;
  std::vector<char> buffer;
  size_t position = 0, filled = 0;
  int64_t line = 1;
  int64_t lineStart = 0;      // offset in the text at which the present line begins
  int64_t offsetOfBuffer = 0; // offset in the text of buffer[0]
  bool first = false;         // no element of the object or array just opened has been read
  bool hasFailed = false;
  UserError mistake{""};
};

} // namespace dtc::solver
