// Links object files to a shared object with LLVM's linker, as a library.
#include "passes/codegen/ObjectCode.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace {

// What kernels may call; the dynamic linker finds these in the process, which has libm.
bool isMathFunction(StringRef name) {
  static const StringSet<> names = {
      "acos",     "asin",         "atan", "atan2",    "cbrt",         "ceil",      "cos", "cosh",
      "erf",      "erfc",         "exp",  "exp2",     "expm1",        "floor",     "fma", "fmax",
      "fmaximum", "fmaximum_num", "fmin", "fminimum", "fminimum_num", "fmod",      "log", "log10",
      "log1p",    "log2",         "pow",  "rint",     "round",        "roundeven", "sin", "sincos",
      "sinh",     "sqrt",         "tan",  "tanh",     "trunc"};
  return names.contains(name) || (name.consume_back("f") && names.contains(name));
}

Error writeFile(StringRef path, ArrayRef<char> bytes) {
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (!code) {
    stream.write(bytes.data(), bytes.size());
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return createStringError("writing '" + path + "' for the linker: " + code.message());
  return Error::success();
}

Error runLinker(ArrayRef<std::string> inputs, const std::string &output) {
  std::vector<const char *> arguments = {
      "ld.lld", "-shared",     "--build-id=none", "--strip-all", "-z",          "now",
      "-z",     "noexecstack", "--gc-sections",   "-o",          output.c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  // The linker keeps global state.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0 || !result.canRunAgain)
    return createStringError("linking kernels: " + messages);
  return Error::success();
}

Error checkImports(MemoryBufferRef library) {
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
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() && !isMathFunction(*name))
      others += (others.empty() ? "'" : ", '") + name->str() + "'";
  }
  if (others.empty())
    return Error::success();
  return createStringError("linking kernels: the code calls " + others +
                           ", but may only call functions of libm");
}

} // namespace

Expected<std::vector<char>> dtc::linkObjects(ArrayRef<SmallVector<char, 0>> objects) {
  SmallString<128> folder;
  if (std::error_code code = sys::fs::createUniqueDirectory("dtc-kernels", folder))
    return createStringError("making a folder for the linker: " + code.message());
  scope_exit removeFolder([&] { sys::fs::remove_directories(folder); });
  std::vector<std::string> inputs;
  for (auto [i, bytes] : enumerate(objects)) {
    inputs.push_back((folder + "/kernels" + Twine(i) + ".o").str());
    if (Error error = writeFile(inputs.back(), bytes))
      return error;
  }
  std::string output = (folder + "/kernels.so").str();
  if (Error error = runLinker(inputs, output))
    return error;
  auto library = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!library)
    return createStringError("reading '" + output +
                             "' from the linker: " + library.getError().message());
  if (Error error = checkImports(**library))
    return error;
  return std::vector<char>((*library)->getBufferStart(), (*library)->getBufferEnd());
}
