// Errors that are the user's to mend, as values: a message, the place it points at, and a note on
// how to mend it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace dtc {

// A place in a text file. Lines and columns count from 1; 0: unknown. An empty file name: no place
// at all.
struct SourcePlace {
  std::string file;
  int64_t line = 0, column = 0;
};

// One mistake of the user. The message is lower case without a full stop and says what was being
// done, to what, the value found and the value wanted; the note says how to mend it (may be empty).
// Example of text():
//   cluster.toml:3:10: error: 'memory' of [device] is 16, wanted a string with a unit
//   cluster.toml:3:10: note: write "16 GiB"
struct UserError {
  std::string message, note;
  SourcePlace place;

  UserError(std::string message, std::string note = "", SourcePlace place = {})
      : message(std::move(message)), note(std::move(note)), place(std::move(place)) {}

  // "file:line:col: error: message" and, where there is a note, a second line; no newline at the
  // end. Names from files can't steer a terminal or fill it (format::printable).
  std::string text() const;
  // text() and a newline; returns 1, the exit code of a user's error.
  int report(llvm::raw_ostream &errors) const;
};

// A value of type T or a UserError. Reading the one that is absent is a bug. Example:
//   Result<Topology> topology = loadTopology("dgx-h100");
//   if (!topology) return topology.error().report(llvm::errs());
//   use(*topology);
// Chosen over llvm::Expected: no RTTI-like class hierarchy per error, copyable, and no abort for an
// unread error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(UserError error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &operator*() { return value(); }
  const T &operator*() const { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  T &value() {
    assert(ok() && "ok() is asked before the value is read");
    return *std::get_if<0>(&state);
  }
  const T &value() const { return const_cast<Result *>(this)->value(); }

  const UserError &error() const {
    assert(!ok() && "only a failed result has an error");
    return *std::get_if<1>(&state);
  }

private:
  std::variant<T, UserError> state;
};

// Success, or a UserError. Example: if (Outcome wrote = writeFileAtomically(path, text); !wrote)
// ...
class [[nodiscard]] Outcome {
public:
  Outcome() = default;
  Outcome(UserError error) : failure(std::move(error)) {}

  bool ok() const { return !failure; }
  explicit operator bool() const { return ok(); }
  const UserError &error() const {
    assert(failure && "only a failed outcome has an error");
    return *failure;
  }

private:
  std::optional<UserError> failure;
};

// The name in `known` nearest to `name` by edit distance, or "" where none is near enough to be
// meant.
std::string nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace dtc
