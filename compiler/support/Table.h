// A table of text with aligned columns.
#pragma once

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace dtc {

// Prints rows of cells. Columns are as wide as their widest cell, and two spaces apart. A column
// that has only numbers (a digit, sign or dot first) is aligned right. Example:
//   Table table({"name", "devices"});
//   table.addRow({"dgx-h100", "8"});
//   table.print(llvm::outs());
class Table {
public:
  explicit Table(std::vector<std::string> header) : header(std::move(header)) {}

  // Adds a row. It may have fewer cells than the header, and the rest is blank. More cells are a
  // bug.
  void addRow(std::vector<std::string> cells);
  // Prints the table. Each line starts with `indent` spaces and has none at its end.
  void print(llvm::raw_ostream &out, unsigned indent = 0) const;

private:
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

} // namespace dtc
