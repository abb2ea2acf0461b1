#include "compiler/show/jobs/JobCommand.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dtc::jobs {

bool hasFlag(const JobRequest &request, llvm::StringRef flag) {
  return llvm::any_of(request.flags, [&](llvm::StringRef word) {
    return word.consume_front(flag) && (word.empty() || word.front() == '=');
  });
}

std::vector<std::string> commandOf(const JobRequest &request) {
  std::vector<std::string> words = {"dtrun", request.program};
  words.insert(words.end(), request.flags.begin(), request.flags.end());
  // A start after the first goes on after the last checkpoint; the first finds none.
  if (hasFlag(request, "--checkpoint-dir") && !hasFlag(request, "--resume"))
    words.push_back("--resume");
  return words;
}

// Quotes a word so that a shell takes it as it is.
static std::string quoted(const std::string &word) {
  constexpr llvm::StringRef plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=,:@%";
  if (!word.empty() && word.find_first_not_of(plain.str()) == std::string::npos)
    return word;
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string lineOf(const std::vector<std::string> &words) {
  std::string line;
  for (const std::string &word : words)
    line += (line.empty() ? "" : " ") + quoted(word);
  return line;
}

std::vector<std::pair<std::string, std::string>> environmentOf(const JobRequest &request) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!request.interface.empty()) {
    all.push_back({"GLOO_SOCKET_IFNAME", request.interface});
    if (request.hasGpus)
      all.push_back({"NCCL_SOCKET_IFNAME", request.interface});
  }
  return all;
}

std::string nodeScript(const JobRequest &request, const std::string &node) {
  std::string local = std::to_string(request.ranksPerNode);
  return "node=$" + node + "\npids=()\nfor local in $(seq 0 " +
         std::to_string(request.ranksPerNode - 1) + "); do\n  RANK=$((node * " + local +
         " + local)) WORLD_SIZE=" + std::to_string(request.ranks()) +
         " LOCAL_RANK=$local LOCAL_WORLD_SIZE=" + local + " \\\n    " + lineOf(commandOf(request)) +
         " &\n  pids+=($!)\ndone\ntrap 'kill -TERM \"${pids[@]}\" 2>/dev/null' TERM INT\ncode=0\n"
         "for pid in \"${pids[@]}\"; do\n  wait \"$pid\"\n  status=$?\n"
         "  # A signal ends 'wait', and not the rank.\n"
         "  while [ $status -gt 128 ] && kill -0 \"$pid\" 2>/dev/null; do\n    wait \"$pid\"\n"
         "    status=$?\n  done\n  [ $status -eq 0 ] || code=$status\ndone\nexit $code\n";
}

std::string restartLoop(const JobRequest &request, const std::string &start) {
  if (request.restarts == 0)
    return start + "\n";
  std::vector<std::string> codes = {"0"};
  for (int code : kFinalCodes)
    codes.push_back(std::to_string(code));
  std::string final = llvm::join(codes, " | ");
  return "# Ranks that died or hung are started again after the last checkpoint.\nfor start in "
         "$(seq 0 " +
         std::to_string(request.restarts) + "); do\n  " + start + "\n  code=$?\n  case $code in " +
         final + " | 143) break ;; esac\n  echo \"start $start of " +
         std::to_string(request.restarts) + " ended with exit code $code\" >&2\ndone\nexit $code\n";
}

} // namespace dtc::jobs
