// Errors that the user can correct, as values: a message, the location it points at, and a note
// about the correction.
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

// A location in a text file. Lines and columns count from 1, and 0 means unknown. An empty file
// name means that there is no place.
struct SourceLocation {
  std::string file;
  int64_t line = 0, column = 0;
};

// One mistake of the user. The message is lower case without a full stop and tells the action, its
// object, the value found and the value expected. The note tells how to correct it (may be empty).
// Example of text():
//   cluster.toml:3:10: error: 'memory' of [device] is 16, wanted a string with a unit
//   cluster.toml:3:10: note: write "16 GiB"
struct UserError {
  std::string message, note;
  SourceLocation location;

  UserError(std::string message, std::string note = "", SourceLocation location = {})
      : message(std::move(message)), note(std::move(note)), location(std::move(location)) {}

  // Returns "file:line:col: error: message" and, if there is a note, a second line, without a
  // newline at the end. Names from files cannot control a terminal or fill it (format::printable).
  std::string text() const;
  // Prints text() and a newline. Returns 1, the exit code of a user's error.
  int report(llvm::raw_ostream &errors) const;
};

// A value of type T or a UserError. It is a bug to read the one that is absent. Example:
//   Result<Topology> topology = loadTopology("dgx-h100");
//   if (!topology) return topology.error().report(llvm::errs());
//   use(*topology);
// It replaces llvm::Expected because it needs no class hierarchy per error, can be copied, and does
// not abort if an error is not read.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(UserError error) : state(std::in_place_index<1>, std::move(error)) {}

  // Returns true if there is a value.
  bool ok() const { return state.index() == 0; }
  // Returns true if there is a value.
  explicit operator bool() const { return ok(); }

  // Returns the value. Call only if ok().
  T &operator*() { return value(); }
  // Returns the value. Call only if ok().
  const T &operator*() const { return value(); }
  // Accesses a member of the value. Call only if ok().
  T *operator->() { return &value(); }
  // Accesses a member of the value. Call only if ok().
  const T *operator->() const { return &value(); }

  // Returns the value. Call only if ok().
  T &value() {
    assert(ok() && "ok() is asked before the value is read");
    return *std::get_if<0>(&state);
  }
  // Returns the value. Call only if ok().
  const T &value() const { return const_cast<Result *>(this)->value(); }

  // Returns the error. Call only if not ok().
  const UserError &error() const {
    assert(!ok() && "only a failed result has an error");
    return *std::get_if<1>(&state);
  }

private:
  std::variant<T, UserError> state;
};

// Success, or a UserError.
// Example: `if (Status wrote = writeFileAtomically(path, text); !wrote) ...`
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(UserError error) : failure(std::move(error)) {}

  // Returns true for success.
  bool ok() const { return !failure; }
  // Returns true for success.
  explicit operator bool() const { return ok(); }
  // Returns the error. Call only if not ok().
  const UserError &error() const {
    assert(failure && "only a failed outcome has an error");
    return *failure;
  }

private:
  std::optional<UserError> failure;
};

// Returns the name in `known` nearest to `name` by edit distance, or "" if none is near enough to
// be meant.
std::string nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace dtc
