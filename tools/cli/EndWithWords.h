// Ends a program whose exception nobody catches with one line and an exit code, in place of
// "terminate called after ..." and a signal.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <new>
#include <system_error>

namespace dtc {

// The beginning of the last line, and the exit codes.
struct LastWords {
  const char *program = "";
  const char *mend = ""; // advice if memory or threads run out
  int userError = 1, internalError = 70;
};
inline LastWords lastWords;

// Ends the program because memory ran out.
[[noreturn]] inline void sayMemoryRanOut() {
  std::fprintf(stderr, "%s: memory ran out; %s\n", lastWords.program, lastWords.mend);
  std::fflush(stderr);
  std::_Exit(lastWords.userError);
}

// Ends the program with a line about its exception: the handler of std::terminate.
[[noreturn]] inline void endWithWords() {
  int code = lastWords.internalError;
  try {
    if (std::exception_ptr exception = std::current_exception())
      std::rethrow_exception(exception);
    std::fprintf(stderr, "%s: internal error: ended without an exception\n", lastWords.program);
  } catch (const std::bad_alloc &) {
    sayMemoryRanOut();
  } catch (const std::system_error &error) { // thrown by threads and locks alone
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

// Installs endWithWords for all threads.
inline void installLastWords(const LastWords &words) {
  lastWords = words;
  // Loads the library that unwinds the stack now: without memory that would end the program with
  // another message (glibc's "libgcc_s.so.1 must be installed").
  void *frame = nullptr;
  (void)::backtrace(&frame, 1);
  std::set_terminate(endWithWords);
}

} // namespace dtc
