// Filters mpirun's explanations out of the ranks' output.
#include "runtime/comm/LauncherOutput.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dtc::rt {

// Returns true if `line` consists of as many dashes as Open MPI prints around a message.
static bool isRule(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.remove_suffix(1);
  return line.size() >= 60 && line.find_first_not_of('-') == std::string_view::npos;
}

// The number that follows `before` in `text`.
static std::optional<int> numberAfter(std::string_view text, std::string_view before) {
  size_t at = text.find(before);
  if (at == std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(at + before.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

bool LauncherOutput::understand(const std::string &text) {
  // "Primary job  terminated normally, but 1 process returned a non-zero exit code."
  if (text.find("Primary job") != std::string::npos)
    return true;
  RankEnd end;
  // "mpirun noticed that process rank 2 with PID 0 on node vm exited on signal 9 (Killed)."
  if (auto rank = numberAfter(text, "process rank"), signal = numberAfter(text, "exited on signal");
      rank && signal) {
    end.rank = *rank;
    end.signal = *signal;
  } else if (rank && text.find("exiting improperly") != std::string::npos) {
    // "mpirun has exited due to process rank 2 with PID 0 on node vm exiting improperly."
    end.rank = *rank;
    end.tooEarly = true;
  } else if (auto code = numberAfter(text, "Exit code:"); code) {
    // "Process name: [[8148,1],2]" of the job family, the job, and the rank.
    size_t job = text.find("Process name:");
    size_t comma = job == std::string::npos ? job : text.find("],", job);
    auto number = comma == std::string::npos
                      ? std::nullopt
                      : numberAfter(std::string_view(text).substr(comma), "],");
    if (!number)
      return false;
    end.rank = *number;
    end.exitCode = *code;
  } else {
    return false;
  }
  if (!found)
    found = end;
  return true;
}

void LauncherOutput::line(std::string_view text, std::string &out) {
  if (!inBlock && text.starts_with("mpirun: Forwarding signal "))
    return; // dtrun itself asked for this end
  if (!inBlock && !isRule(text)) {
    out += text;
    return;
  }
  block += text;
  if (isRule(text)) {
    if (inBlock) {
      if (!understand(block))
        out += block;
      block.clear();
    }
    inBlock = !inBlock;
    return;
  }
  // A message has some lines; more are a rank's own drawing.
  constexpr size_t mostBytes = 1 << 14;
  if (block.size() > mostBytes) {
    out += block;
    block.clear();
    inBlock = false;
  }
}

std::string LauncherOutput::feed(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    bool whole = end != std::string_view::npos;
    std::string_view piece = bytes.substr(0, whole ? end + 1 : bytes.size());
    bytes.remove_prefix(piece.size());
    if (midLine) {
      out += piece;
      midLine = !whole;
      continue;
    }
    partial += piece;
    if (whole) {
      line(std::exchange(partial, {}), out);
    } else if (!inBlock && partial.find_first_not_of('-') != std::string::npos) {
      // The start of a rank's line, for instance of a progress bar: it cannot wait for its end.
      out += std::exchange(partial, {});
      midLine = true;
    }
  }
  return out;
}

std::string LauncherOutput::finish() {
  std::string out;
  if (!partial.empty())
    line(std::exchange(partial, {}), out);
  if (!block.empty() && !understand(block))
    out += block;
  block.clear();
  inBlock = midLine = false;
  return out;
}

} // namespace dtc::rt
