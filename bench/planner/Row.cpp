// Reads a table of published measurements.
#include "bench/planner/Row.h"

#include <cmath>
#include <cstdlib>

namespace dtc::published {
namespace {

// Reads the cells of one record after the other.
class CsvReader {
public:
  explicit CsvReader(llvm::StringRef text) : rest(text) {}

  bool atEnd() const { return rest.empty(); }
  bool isOpen() const { return open; }
  size_t line() const { return lines; }

  std::vector<std::string> record() {
    std::vector<std::string> cells(1);
    bool quoted = false;
    while (!rest.empty()) {
      char c = take();
      if (quoted) {
        if (c != '"')
          cells.back() += c;
        else if (rest.starts_with("\""))
          cells.back() += take();
        else
          quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == ',') {
        cells.emplace_back();
      } else if (c == '\n') {
        return cells;
      } else if (c != '\r') {
        cells.back() += c;
      }
    }
    open = quoted;
    return cells;
  }

private:
  char take() {
    char c = rest.front();
    rest = rest.drop_front();
    lines += c == '\n';
    return c;
  }

  llvm::StringRef rest;
  size_t lines = 1;
  bool open = false;
};

uint64_t hashOf(const std::vector<std::string> &cells) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string &cell : cells)
    for (unsigned char c : cell + ",")
      hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

} // namespace

llvm::StringRef Row::text(llvm::StringRef column) const {
  auto it = cells.find(column.lower());
  return it == cells.end() ? llvm::StringRef() : llvm::StringRef(it->second).trim();
}

std::optional<double> Row::number(llvm::StringRef column) const {
  std::string cell = text(column).str();
  char *end = nullptr;
  double value = std::strtod(cell.c_str(), &end);
  if (end == cell.c_str() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> Row::count(llvm::StringRef column) const {
  std::optional<double> value = number(column);
  constexpr double kMost = 1e15;
  if (!value || *value < 1 || *value > kMost)
    return std::nullopt;
  return std::llround(*value);
}

Result<std::vector<Row>> parseRows(llvm::StringRef text, const std::string &path) {
  text.consume_front("\xEF\xBB\xBF");
  CsvReader reader(text);
  std::vector<std::string> columns = reader.record();
  if (columns.size() < 2)
    return UserError("reading the table '" + path + "': its first line names " +
                         std::to_string(columns.size()) + " column, wanted several",
                     "give a CSV file with the columns of published.csv");
  std::vector<Row> rows;
  while (!reader.atEnd()) {
    size_t line = reader.line();
    std::vector<std::string> cells = reader.record();
    if (reader.isOpen())
      return UserError("a quote is not closed before the end of the file", "",
                       {path, static_cast<int64_t>(line), 0});
    if (cells.size() == 1 && cells.front().empty())
      continue;
    Row row;
    row.line = line;
    row.hash = hashOf(cells);
    if (cells.size() != columns.size())
      row.malformed = "a row with more or fewer cells than the first line";
    else
      for (size_t i = 0; i < columns.size(); ++i)
        row.cells[llvm::StringRef(columns[i]).trim().lower()] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace dtc::published
