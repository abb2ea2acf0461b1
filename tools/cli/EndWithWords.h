// The end of a program whose exception nobody catches: one line and an exit code, in place of
// "terminate called after ..." and a signal.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <new>
#include <system_error>

namespace dtc {

// What the lines begin with, and which exit codes they end in.
struct LastWords {
  const char *program = "";
  const char *mend = ""; // what to do where memory or threads run out
  int userError = 1, internalError = 70;
};
inline LastWords lastWords;

[[noreturn]] inline void sayMemoryRanOut() {
  std::fprintf(stderr, "%s: memory ran out; %s\n", lastWords.program, lastWords.mend);
  std::fflush(stderr);
  std::_Exit(lastWords.userError);
}

[[noreturn]] inline void endWithWords() {
  int code = lastWords.internalError;
  try {
    if (std::exception_ptr exception = std::current_exception())
      std::rethrow_exception(exception);
    std::fprintf(stderr, "%s: internal error: ended without an exception\n", lastWords.program);
  } catch (const std::bad_alloc &) {
    sayMemoryRanOut();
  } catch (const std::system_error &error) { // of threads and locks: nothing else throws it
    std::fprintf(stderr, "%s: the system refused a thread: %s; %s\n", lastWords.program,
                 error.code().message().c_str(), lastWords.mend);
    code = lastWords.userError;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: internal error: %s\n", lastWords.program, error.what());
  } catch (...) {
    std::fprintf(stderr, "%s: internal error: an exception of unknown type\n", lastWords.program);
  }
  std::fflush(stderr);
  std::_Exit(code);
}

// From now on, on every thread.
inline void installLastWords(const LastWords &words) {
  lastWords = words;
  // What unwinds the stack is loaded now: when memory has run out that would end the program with other
  // words (of glibc's, "libgcc_s.so.1 must be installed").
  void *frame = nullptr;
  (void)::backtrace(&frame, 1);
  std::set_terminate(endWithWords);
}

} // namespace dtc
