// Reads rows of a table of published measurements.
#pragma once

#include "compiler/support/Error.h"

#include "llvm/ADT/StringMap.h"

#include <vector>

namespace dtc::published {

// A row: cells by the name of their column. A column that the table does not have reads as empty.
class Row {
public:
  // Returns the cell without spaces around it; "" if it is empty.
  llvm::StringRef text(llvm::StringRef column) const;
  // Returns the number that a cell starts with. Example: 400 of "400/gpu"; nullopt of "" and "yes".
  std::optional<double> number(llvm::StringRef column) const;
  // Returns the number if it is a whole number of 1 or more; nullopt otherwise.
  std::optional<int64_t> count(llvm::StringRef column) const;
  // Returns the count, or `fallback` if there is none.
  int64_t countOr(llvm::StringRef column, int64_t fallback) const {
    return count(column).value_or(fallback);
  }
  // Returns true if the notes contain a phrase, in any case.
  bool notes(llvm::StringRef phrase) const { return text("notes").contains_insensitive(phrase); }
  // Returns true if the run did not fit: the notes start with "OOM".
  bool ranOutOfMemory() const { return text("notes").starts_with("OOM"); }

  size_t line = 0;       // in the file, from 1
  uint64_t hash = 0;     // FNV-1a of the cells as they are written, joined by ','
  std::string malformed; // reason why the cells can't be read; "" if they can
  llvm::StringMap<std::string> cells;
};

// Reads CSV (RFC 4180) whose first line names the columns. Errors name `path`. A row with more or
// fewer cells than the first line is `malformed` and has none. Errors: no first line, a quote that
// is not closed.
Result<std::vector<Row>> parseRows(llvm::StringRef text, const std::string &path);

} // namespace dtc::published
