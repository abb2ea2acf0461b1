// Tables of enumerations. A table has a row for each enumerator, with its name and everything else
// that is known of it, so that names are written in one place alone.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cassert>
#include <optional>
#include <string>
#include <vector>

namespace dtc {

// Returns true if row i is that of enumerator i. Each table asserts it, since rowOf relies on it.
template <typename Row, size_t kRows> constexpr bool isInOrder(const Row (&table)[kRows]) {
  for (size_t index = 0; index < kRows; ++index)
    if (static_cast<size_t>(table[index].value) != index)
      return false;
  return true;
}

// Returns the row of an enumerator.
template <typename Row, size_t kRows>
constexpr const Row &rowOf(const Row (&table)[kRows], decltype(Row::value) value) {
  assert(static_cast<size_t>(value) < kRows && "every enumerator has a row");
  return table[static_cast<size_t>(value)];
}

// Parses a name; returns nullopt for a name that no row has.
template <typename Row, size_t kRows>
std::optional<decltype(Row::value)> valueNamed(const Row (&table)[kRows], llvm::StringRef name) {
  for (const Row &row : table)
    if (row.name == name)
      return row.value;
  return std::nullopt;
}

// Returns the names of all rows in order, as a constant.
template <typename Row, size_t kRows>
constexpr std::array<llvm::StringRef, kRows> nameColumn(const Row (&table)[kRows]) {
  std::array<llvm::StringRef, kRows> names;
  for (size_t index = 0; index < kRows; ++index)
    names[index] = table[index].name;
  return names;
}

// Returns the names of the rows that `isWanted` accepts, in order.
template <typename Row, size_t kRows, typename Predicate>
std::vector<std::string> namesOf(const Row (&table)[kRows], Predicate isWanted) {
  std::vector<std::string> names;
  for (const Row &row : table)
    if (isWanted(row))
      names.push_back(row.name.str());
  return names;
}

// Returns the names of all rows, in order.
template <typename Row, size_t kRows> std::vector<std::string> namesOf(const Row (&table)[kRows]) {
  return namesOf(table, [](const Row &) { return true; });
}

// Joins names as a sentence lists them: "f32, bf16 or f16".
inline std::string alternatives(const std::vector<std::string> &names) {
  std::string list;
  for (size_t index = 0; index < names.size(); ++index)
    list += (index == 0 ? "" : index + 1 < names.size() ? ", " : " or ") + names[index];
  return list;
}

} // namespace dtc
