// The result of every fallible function of the runtime: ok, or a code for programs and a message
// for people.
#pragma once

#include <string>
#include <utility>

namespace dtc::rt {

// The kinds of results.
enum class StatusCode {
  Ok,
  InvalidArgument, // the caller's or user's input is wrong; trying again fails again
  NotFound,
  DataLoss,    // a file is damaged or does not hold what it says
  Unavailable, // a backend or feature is absent on this machine
  ResourceExhausted,
  Aborted, // another rank died, or a collective timed out
  Internal,
};

// A result. Ok costs nothing to make or test. A message names what was being done, to what, what
// was found and what was wanted.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message) : code(code), text(std::move(message)) {}

  // Returns ok.
  static Status okStatus() { return {}; }
  // Returns an error in the caller's or user's input.
  static Status invalidArgument(std::string m) {
    return {StatusCode::InvalidArgument, std::move(m)};
  }
  // Returns an error about something that does not exist.
  static Status notFound(std::string m) { return {StatusCode::NotFound, std::move(m)}; }
  // Returns an error about a damaged file.
  static Status dataLoss(std::string m) { return {StatusCode::DataLoss, std::move(m)}; }
  // Returns an error about a backend or feature that this machine lacks.
  static Status unavailable(std::string m) { return {StatusCode::Unavailable, std::move(m)}; }
  // Returns an error about memory, space or another resource that ran out.
  static Status resourceExhausted(std::string m) {
    return {StatusCode::ResourceExhausted, std::move(m)};
  }
  // Returns an error caused by another rank or a timeout.
  static Status aborted(std::string m) { return {StatusCode::Aborted, std::move(m)}; }
  // Returns an error that the user did not cause.
  static Status internal(std::string m) { return {StatusCode::Internal, std::move(m)}; }

  // Returns true if there is no error.
  bool ok() const { return code == StatusCode::Ok; }
  StatusCode statusCode() const { return code; }
  const std::string &message() const { return text; }

private:
  StatusCode code = StatusCode::Ok;
  std::string text;
};

} // namespace dtc::rt

#define DTC_RETURN_IF_ERROR(expr)                                                                  \
  do {                                                                                             \
    ::dtc::rt::Status dtcStatus = (expr);                                                          \
    if (!dtcStatus.ok())                                                                           \
      return dtcStatus;                                                                            \
  } while (false)
