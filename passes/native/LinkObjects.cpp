// Links object files to a shared object by calling LLVM's linker as a library.
#include "passes/native/LinkObjects.h"

#include "passes/native/ObjectCode.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace {

// True for functions that kernels may import from libm; the dynamic linker resolves them in the
// process.
bool isMathFunction(StringRef name) {
  static const StringSet<> names = {
#define DTC_MATH_IMPORT(name) #name,
#define DTC_MEMORY_IMPORT(name)
#include "runtime/format/CodeImports.def"
#undef DTC_MATH_IMPORT
#undef DTC_MEMORY_IMPORT
  };
  return names.contains(name) || (name.consume_back("f") && names.contains(name));
}

// A file in memory (memfd) for the linker. It has no name in any folder, so that nothing stays
// behind however dtc ends.
class MemoryFile {
public:
  explicit MemoryFile(const char *label) : descriptor(::memfd_create(label, MFD_CLOEXEC)) {
    if (descriptor < 0)
      failure = errnoAsErrorCode();
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile(MemoryFile &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)), failure(other.failure) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  Error write(ArrayRef<char> bytes) {
    if (!failure) {
      raw_fd_ostream stream(descriptor, /*shouldClose=*/false);
      stream.write(bytes.data(), bytes.size());
      stream.flush();
      failure = stream.error();
      stream.clear_error();
    }
    return check();
  }
  Error check() const {
    if (!failure)
      return Error::success();
    return createStringError("keeping a file for the linker in memory: " + failure.message());
  }
  // The path under which the linker opens the file.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
  std::error_code failure;
};

// A pipe that receives the linker's output. The linker would create a regular file under another
// name first, but it writes into a pipe directly.
class Outlet {
public:
  Outlet() {
    if (::pipe2(ends, O_CLOEXEC) == 0)
      reader = std::thread([this] { read(); });
    else
      failure = errnoAsErrorCode();
  }

  Error check() const {
    return failure ? createStringError("making a pipe for the linker: " + failure.message())
                   : Error::success();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends[1]); }

  // Returns everything that was written, after closing the write end.
  std::vector<char> finish() {
    if (reader.joinable()) {
      ::close(ends[1]);
      reader.join();
      ::close(ends[0]);
    }
    return std::move(bytes);
  }

private:
  void read() {
    char piece[1 << 16];
    for (ssize_t got; (got = ::read(ends[0], piece, sizeof(piece))) != 0;) {
      if (got > 0)
        bytes.insert(bytes.end(), piece, piece + got);
      else if (errno != EINTR)
        return;
    }
  }

  int ends[2] = {-1, -1};
  std::error_code failure;
  std::vector<char> bytes;
  std::thread reader;
};

Error runLinker(ArrayRef<std::string> inputs, const std::string &output) {
  std::vector<const char *> arguments = {
      "ld.lld", "-shared",     "--build-id=none", "--strip-all", "-z",          "now",
      "-z",     "noexecstack", "--gc-sections",   "-o",          output.c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  // Serialises the calls, because the linker keeps global state.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0 || !result.canRunAgain)
    return createStringError("linking kernels: " + messages);
  return Error::success();
}

Error checkImports(MemoryBufferRef library, ArrayRef<StringRef> allowed) {
  auto object = object::ObjectFile::createELFObjectFile(library);
  if (!object)
    return object.takeError();
  std::string others;
  for (const object::ELFSymbolRef &symbol :
       cast<object::ELFObjectFileBase>(**object).getDynamicSymbolIterators()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return joinErrors(flags.takeError(), name.takeError());
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() && !isMathFunction(*name) &&
        !is_contained(allowed, *name))
      others += (others.empty() ? "'" : ", '") + name->str() + "'";
  }
  if (others.empty())
    return Error::success();
  return createStringError("linking kernels: the code calls " + others +
                           ", but may only call functions of libm");
}

} // namespace

Expected<std::vector<char>> dtc::linkObjects(ArrayRef<SmallVector<char, 0>> objects,
                                             ArrayRef<StringRef> others) {
  std::vector<MemoryFile> files;
  std::vector<std::string> inputs;
  for (const SmallVector<char, 0> &bytes : objects) {
    files.emplace_back("dtc-kernels.o");
    if (Error error = files.back().write(bytes))
      return error;
    inputs.push_back(files.back().path());
  }
  Outlet outlet;
  Error failure = outlet.check();
  if (!failure)
    failure = runLinker(inputs, outlet.path());
  std::vector<char> library = outlet.finish();
  if (failure)
    return failure;
  if (Error error = checkImports(
          MemoryBufferRef(StringRef(library.data(), library.size()), "kernels.so"), others))
    return error;
  return library;
}
