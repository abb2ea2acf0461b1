// One row of a table of published measurements, as it is written there.
#pragma once

#include "compiler/support/Error.h"

#include "llvm/ADT/StringMap.h"

#include <vector>

namespace dtc::published {

// Cells by the name of their column; a column that the table does not have reads as empty.
class Row {
public:
  // As written, without spaces around it; "" where the cell is empty.
  llvm::StringRef text(llvm::StringRef column) const;
  // The number that a cell starts with. Example: of "400/gpu" it is 400; of "" and "yes" nothing.
  std::optional<double> number(llvm::StringRef column) const;
  // The same as a whole number of 1 or more, nothing where it is none.
  std::optional<int64_t> count(llvm::StringRef column) const;
  int64_t countOr(llvm::StringRef column, int64_t fallback) const {
    return count(column).value_or(fallback);
  }
  // Whether the notes name a phrase, in any case.
  bool notes(llvm::StringRef phrase) const { return text("notes").contains_insensitive(phrase); }
  // "OOM" at the start of the notes: the run did not fit.
  bool ranOutOfMemory() const { return text("notes").starts_with("OOM"); }

  size_t line = 0;       // of the file, from 1
  uint64_t hash = 0;     // FNV-1a of its cells as they are written, joined by ','
  std::string malformed; // why its cells can't be read, "" where they can
  llvm::StringMap<std::string> cells;
};

// Reads CSV (RFC 4180) whose first line names the columns. `path` is what
// errors name. Errors: no first line, a quote that is not closed. A row with
// more or fewer cells than the first line is `malformed` and has none.
Result<std::vector<Row>> parseRows(llvm::StringRef text, const std::string &path);

} // namespace dtc::published
