// Reads JSON piece by piece from a file, plain or compressed by gzip, without holding it in memory.
#pragma once

#include "compiler/support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

struct gzFile_s;

namespace dtc::solver {

// A reader that walks through one JSON text in order. Every method returns false after the first
// mistake, which error() then tells. Example, for {"a": [1, 2], "b": "x"}:
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

  bool beginObject() { return expect('{', "an object") && enter(); }
  // Reads the next key of the object that is open; false at its end.
  bool nextKey(std::string &key);
  bool beginArray() { return expect('[', "an array") && enter(); }
  // True where the array that is open has another element, which is read next; false at its end.
  bool nextElement();
  bool readInteger(int64_t &value);
  bool readString(std::string &value);
  // A whole array of integers, such as [1, 2, 3]; earlier contents of values are dropped.
  bool readIntegers(std::vector<int64_t> &values);
  // Skips one value of any kind.
  bool skipValue() { return skipValue(0); }
  // Only white space may be left. Reads to the end, so that a damaged compressed file is noticed.
  bool expectEnd();

  // Records a mistake at the present place.
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
  bool first = false;         // the object or array just opened has no element read yet
  bool hasFailed = false;
  UserError mistake{""};
};

} // namespace dtc::solver
