// A table of text with aligned columns.
#pragma once

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace dtc {

// Columns are as wide as their widest cell, two spaces apart; numbers (a digit, sign or dot first)
// are aligned right where the whole column is of them. Example:
//   Table table({"name", "devices"});
//   table.addRow({"dgx-h100", "8"});
//   table.print(llvm::outs());
class Table {
public:
  explicit Table(std::vector<std::string> header) : header(std::move(header)) {}

  // A row may have fewer cells than the header; the rest is blank. More is a bug.
  void addRow(std::vector<std::string> cells);
  // Each line starts with `indent` spaces and has none at its end.
  void print(llvm::raw_ostream &out, unsigned indent = 0) const;

private:
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

} // namespace dtc
