// A table of names that a signal handler can read: taking a name out of it takes ownership.
#include "runtime/base/RemoveOnSignal.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace dtc::rt {
namespace {

constexpr int kMostFiles = 64;
std::atomic<char *> files[kMostFiles];
std::atomic<int> terminal{-1};

// Removes the files; the signal then has its default effect.
void removeAll(int signal) {
  for (std::atomic<char *> &file : files)
    if (char *name = file.exchange(nullptr))
      ::unlink(name);
  constexpr char erase[] = "\r\x1b[J";
  if (int descriptor = terminal.load(); descriptor >= 0)
    (void)!::write(descriptor, erase, sizeof(erase) - 1);
  (void)::raise(signal);
}

void takeSignals() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction now = {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
      continue;
    now.sa_handler = removeAll;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    (void)::sigaction(signal, &now, nullptr);
  }
}

} // namespace

int removeOnSignal(const std::string &path) {
  char *name = ::strdup(path.c_str());
  for (int i = 0; i < kMostFiles && name; ++i) {
    char *expected = nullptr;
    if (files[i].compare_exchange_strong(expected, name)) {
      takeSignals();
      return i;
    }
  }
  std::free(name);
  return -1;
}

void eraseOnSignal(int descriptor) {
  terminal = descriptor;
  if (descriptor >= 0)
    takeSignals();
}

void dropRemoval(int removal) {
  if (removal >= 0)
    std::free(files[removal].exchange(nullptr));
}

} // namespace dtc::rt
