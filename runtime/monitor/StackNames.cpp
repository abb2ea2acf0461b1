#include "runtime/monitor/StackNames.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/monitor/Frames.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <map>

namespace dtc::rt {
using format::text;

namespace {

// Names of the functions of an ELF file, by the addresses that it gives them.
class SymbolTable {
public:
  explicit SymbolTable(const std::string &path) {
    InputFile file;
    if (!file.open(path).ok() || file.size() > mostBytes || !file.readAll(bytes).ok())
      bytes.clear();
    read();
  }
  // The function at `address` and how far into it that is; empty where there is none.
  std::string find(uint64_t address) const {
    auto next = functions.upper_bound(address);
    if (next == functions.begin())
      return {};
    auto [begin, function] = *std::prev(next);
    if (address >= begin + std::max<uint64_t>(function.bytes, 1))
      return {};
    char digits[24];
    std::snprintf(digits, sizeof(digits), " +0x%llx",
                  static_cast<unsigned long long>(address - begin));
    return function.name + digits;
  }

private:
  static constexpr uint64_t mostBytes = uint64_t(256) << 20;
  struct Function {
    uint64_t bytes;
    std::string name;
  };
  // The `index`th of what lies one after another from `offset` on; false where the file ends
  // before.
  template <typename T> bool at(uint64_t offset, uint64_t index, T &value) const {
    if (offset > bytes.size() || index > bytes.size() / sizeof(T) ||
        offset + (index + 1) * sizeof(T) > bytes.size())
      return false;
    std::memcpy(&value, bytes.data() + offset + index * sizeof(T), sizeof(T));
    return true;
  }
  void read() {
    Elf64_Ehdr header;
    if (!at(0, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
      return;
    Elf64_Shdr section, names;
    for (uint64_t i = 0; i < header.e_shnum && at(header.e_shoff, i, section); ++i)
      if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
          at(header.e_shoff, section.sh_link, names))
        readSymbols(section, names);
  }
  void readSymbols(const Elf64_Shdr &section, const Elf64_Shdr &names) {
    Elf64_Sym symbol;
    for (uint64_t i = 0; i < section.sh_size / sizeof(symbol) && at(section.sh_offset, i, symbol);
         ++i) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0 ||
          symbol.st_name >= names.sh_size || names.sh_offset + symbol.st_name >= bytes.size())
        continue;
      const char *name =
          reinterpret_cast<const char *>(bytes.data()) + names.sh_offset + symbol.st_name;
      size_t room = bytes.size() - names.sh_offset - symbol.st_name;
      functions[symbol.st_value] = {symbol.st_size, std::string(name, ::strnlen(name, room))};
    }
  }

  std::vector<uint8_t> bytes;
  std::map<uint64_t, Function> functions;
};

std::string demangled(const std::string &name) {
  std::string symbol = name.substr(0, name.find_first_of(" +"));
  int status = 0;
  char *found = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string out = found ? found + name.substr(symbol.size()) : name;
  std::free(found);
  return out;
}

// "PATH(NAME+0xOFFSET) [0xADDRESS]", where the name may be empty.
std::string namedLine(const std::string &line, std::map<std::string, SymbolTable> &tables) {
  size_t open = line.rfind('('), close = line.find(')', open), plus = line.find('+', open);
  if (open == std::string::npos || close == std::string::npos || plus > close)
    return line;
  std::string path = line.substr(0, open), name = line.substr(open + 1, close - open - 1);
  if (plus == open + 1) {
    uint64_t offset = std::strtoull(line.c_str() + plus + 1, nullptr, 16);
    auto table = tables.try_emplace(path, path).first;
    name = table->second.find(offset);
    if (name.empty())
      return line;
  }
  return text(path.substr(path.rfind('/') + 1), ": ", demangled(name));
}

} // namespace

std::string withNames(const std::string &lines) {
  std::map<std::string, SymbolTable> tables;
  std::string out;
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = std::min(lines.find('\n', begin), lines.size());
    out += namedLine(lines.substr(begin, end - begin), tables) + "\n";
    begin = end + 1;
  }
  return out.substr(0, kMostStackBytes);
}

} // namespace dtc::rt
