// Computes column widths and alignment of a text table.
#include "compiler/support/Table.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cassert>

namespace dtc {

void Table::addRow(std::vector<std::string> cells) {
  assert(cells.size() <= header.size() && "a row has at most a cell per column");
  cells.resize(header.size());
  rows.push_back(std::move(cells));
}

static bool looksNumeric(const std::string &cell) {
  return !cell.empty() &&
         (llvm::isDigit(cell[0]) || cell[0] == '-' || cell[0] == '+' || cell[0] == '.');
}

void Table::print(llvm::raw_ostream &out, unsigned indent) const {
  size_t columns = header.size();
  std::vector<size_t> width(columns);
  std::vector<bool> right(columns, !rows.empty());
  for (size_t c = 0; c < columns; ++c) {
    width[c] = header[c].size();
    for (const std::vector<std::string> &row : rows) {
      width[c] = std::max(width[c], row[c].size());
      right[c] = right[c] && (row[c].empty() || looksNumeric(row[c]));
    }
  }
  auto printRow = [&](const std::vector<std::string> &row) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < columns; ++c) {
      std::string padding(width[c] - row[c].size(), ' ');
      line += (c ? "  " : "") + (right[c] ? padding + row[c] : row[c] + padding);
    }
    out << llvm::StringRef(line).rtrim(' ') << "\n";
  };
  printRow(header);
  for (const std::vector<std::string> &row : rows)
    printRow(row);
}

} // namespace dtc
