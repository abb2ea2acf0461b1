// Reads an ELF shared object as the system's loader would, but trusts nothing of it. In this order:
//  1. header and program headers: which bytes come to lie where, with which rights;
//  2. the dynamic section: which tables there are, and nothing that would run or link;
//  3. symbols, by the hash table through which the loader finds them;
//  4. relocations. The tables of 3 and 4 lie in memory that is not written, so that no relocation
//  changes them behind this check.
#include "runtime/format/CodeObject.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <optional>

namespace dtc::format {
namespace {

using rt::Status;

constexpr uint64_t kPage = 4096, kMostAlign = uint64_t(1) << 21;

// A PT_LOAD: bytes [offset, offset + fileBytes) of the file come to lie from `begin` on; zeros
// follow.
struct Region {
  uint64_t begin, end, offset, fileBytes;
  uint32_t flags;
};

struct Range {
  uint64_t begin = 0, bytes = 0; // addresses, once it is loaded
  uint64_t end() const { return begin + bytes; }
};

uint64_t roundUp(uint64_t value) { return (value + kPage - 1) / kPage * kPage; }
uint64_t roundDown(uint64_t value) { return value / kPage * kPage; }

class CodeReader {
public:
  CodeReader(std::span<const uint8_t> file, CodeFacts &facts) : file(file), facts(facts) {}

  Status read() {
    for (auto step :
         {&CodeReader::readHeader, &CodeReader::readRegions, &CodeReader::readParts,
          &CodeReader::readDynamic, &CodeReader::findStrings, &CodeReader::checkTags,
          &CodeReader::countSymbols, &CodeReader::readSymbols, &CodeReader::readRelocations})
      DTC_RETURN_IF_ERROR((this->*step)());
    std::sort(facts.imports.begin(), facts.imports.end());
    std::sort(facts.exports.begin(), facts.exports.end());
    return {};
  }

private:
  Status readHeader();
  Status readRegions();
  Status readRegion(const Elf64_Phdr &part);
  Status readParts();
  Status readPart(const Elf64_Phdr &part);
  Status readDynamic();
  Status findStrings();
  Status checkTags();
  Status countSymbols();
  Status readSymbols();
  Status readImport(const Elf64_Sym &symbol);
  Status readExport(const Elf64_Sym &symbol, uint64_t index);
  Status readRelocations();
  Status readRelocation(const Elf64_Rela &relocation, uint64_t index);

  // Reports an object that dtc did not write, whether by damage or on purpose.
  template <typename... Pieces> Status fail(const Pieces &...pieces) const {
    return Status::invalidArgument(text("code of ", file.size(), " bytes: ", pieces...,
                                        "; dtc writes no such code: do not run this file, "
                                        "recompile its model"));
  }

  // Reads a value; the caller has checked that the file has it.
  template <typename T> T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, file.data() + offset, sizeof(value));
    return value;
  }
  bool fits(uint64_t offset, uint64_t bytes) const {
    return offset <= file.size() && bytes <= file.size() - offset;
  }

  // Returns the region of the bytes, or null. A region may begin where another ends; an empty range
  // there belongs to the one that begins, if there is one.
  const Region *regionOf(uint64_t address, uint64_t bytes) const {
    const Region *ending = nullptr;
    for (const Region &region : regions) {
      if (address >= region.begin && address < region.end && bytes <= region.end - address)
        return &region;
      if (address == region.end && bytes == 0)
        ending = &region;
    }
    return ending;
  }
  // Returns the offset in the file of the bytes at an address; nullopt if there are none, or if
  // their right to be written is not `isWritten`.
  std::optional<uint64_t> offsetOf(uint64_t address, uint64_t bytes, bool isWritten = false) const {
    const Region *region = regionOf(address, bytes);
    if (!region || bool(region->flags & PF_W) != isWritten ||
        address - region->begin > region->fileBytes ||
        bytes > region->fileBytes - (address - region->begin))
      return std::nullopt;
    return region->offset + (address - region->begin);
  }
  // Returns the offset of a table of `count` entries that a tag of the dynamic section points to.
  std::optional<uint64_t> tableAt(int64_t tag, uint64_t count, uint64_t each) const {
    auto found = tags.find(tag);
    if (found == tags.end() || count > file.size() / each)
      return std::nullopt;
    return offsetOf(found->second, count * each);
  }
  uint64_t valueOf(int64_t tag) const {
    auto found = tags.find(tag);
    return found == tags.end() ? 0 : found->second;
  }
  // Returns a name of the string table, whose last byte is 0.
  std::string_view nameAt(uint64_t offset) const {
    return reinterpret_cast<const char *>(file.data()) + strings + offset;
  }

  std::span<const uint8_t> file;
  CodeFacts &facts;
  Elf64_Ehdr header = {};
  std::vector<Region> regions; // ascending
  std::optional<Range> dynamic;
  std::map<int64_t, uint64_t> tags; // entries of the dynamic section
  std::vector<uint64_t> needed;     // offsets of the names of libraries
  uint64_t strings = 0, stringBytes = 0, symbols = 0, numSymbols = 0; // offsets in the file
};

Status CodeReader::readHeader() {
  if (file.size() < sizeof(header) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return fail("it is no ELF file");
  header = at<Elf64_Ehdr>(0);
  bool isOurs = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
                header.e_ident[EI_VERSION] == EV_CURRENT && header.e_type == ET_DYN &&
                header.e_machine == EM_X86_64;
  if (!isOurs)
    return fail("it is no shared object for x86-64");
  constexpr uint64_t mostParts = 32;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > mostParts || !fits(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)))
    return fail("it has ", header.e_phnum, " program headers at byte ", header.e_phoff,
                ", wanted 1 to ", mostParts, " within the file");
  return {};
}

Status CodeReader::readRegion(const Elf64_Phdr &part) {
  std::string name = text("the part at address ", part.p_vaddr);
  if (!fits(part.p_offset, part.p_filesz))
    return fail(name, " has bytes beyond the file's end");
  if (part.p_memsz < part.p_filesz || part.p_memsz > maxCodeBytes || part.p_vaddr > maxCodeBytes)
    return fail(name, " takes ", part.p_memsz, " bytes, wanted those of the file and at most ",
                maxCodeBytes);
  if ((part.p_flags & PF_W) && (part.p_flags & PF_X))
    return fail(name, " may be both written and run");
  if (!(part.p_flags & PF_R) || (part.p_flags & ~uint32_t(PF_R | PF_W | PF_X)))
    return fail(name, " has rights ", part.p_flags, ", wanted to read, and to write or run");
  bool isAligned = part.p_align >= kPage && part.p_align <= kMostAlign &&
                   (part.p_align & (part.p_align - 1)) == 0 &&
                   (part.p_vaddr - part.p_offset) % part.p_align == 0;
  if (!isAligned)
    return fail(name, " has alignment ", part.p_align, ", wanted that of pages");
  if (!regions.empty() && roundDown(part.p_vaddr) < roundUp(regions.back().end))
    return fail(name, " overlaps the one before it");
  regions.push_back(
      {part.p_vaddr, part.p_vaddr + part.p_memsz, part.p_offset, part.p_filesz, part.p_flags});
  return {};
}

Status CodeReader::readRegions() {
  for (uint64_t i = 0; i < header.e_phnum; ++i)
    if (auto part = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)); part.p_type == PT_LOAD)
      DTC_RETURN_IF_ERROR(readRegion(part));
  return regions.empty() ? fail("it has nothing to load") : Status();
}

Status CodeReader::readPart(const Elf64_Phdr &part) {
  bool isInside = regionOf(part.p_vaddr, part.p_memsz) != nullptr;
  switch (part.p_type) {
  case PT_NULL:
  case PT_LOAD:
  case PT_GNU_STACK: // below
    return {};
  case PT_PHDR:
    if (offsetOf(part.p_vaddr, header.e_phnum * sizeof(Elf64_Phdr)) == header.e_phoff)
      return {};
    return fail("its program headers are not where it says");
  case PT_GNU_EH_FRAME:
    return isInside ? Status() : fail("its table of frames is not in its memory");
  case PT_GNU_RELRO: {
    // The end of a region may be that of the page that holds the last of the memory.
    const Region *region = regionOf(part.p_vaddr, 0);
    if (region && (region->flags & PF_W) && part.p_memsz <= roundUp(region->end) - part.p_vaddr)
      return {};
    return fail("what is to be read only after it is loaded is not in its memory");
  }
  case PT_DYNAMIC:
    if (dynamic || offsetOf(part.p_vaddr, part.p_filesz, /*isWritten=*/true) != part.p_offset)
      return fail("its dynamic section is not where it says, or there are two");
    dynamic = Range{part.p_vaddr, part.p_filesz};
    return {};
  case PT_INTERP:
    return fail("it is a program of its own (PT_INTERP)");
  case PT_TLS:
    return fail("it has thread-local variables");
  default:
    return fail("it has a part of kind ", part.p_type);
  }
}

Status CodeReader::readParts() {
  bool hasStack = false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    auto part = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    DTC_RETURN_IF_ERROR(readPart(part));
    // The loader takes an absent PT_GNU_STACK for an executable stack.
    hasStack = hasStack || (part.p_type == PT_GNU_STACK && !(part.p_flags & PF_X));
    if (part.p_type == PT_GNU_STACK && (part.p_flags & PF_X))
      return fail("it asks for a stack that may be run");
  }
  if (!hasStack)
    return fail("it does not say that its stack may not be run");
  return dynamic ? Status() : fail("it has no dynamic section");
}

Status CodeReader::readDynamic() {
  uint64_t offset = *offsetOf(dynamic->begin, dynamic->bytes, /*isWritten=*/true);
  for (uint64_t i = 0; i < dynamic->bytes / sizeof(Elf64_Dyn); ++i) {
    auto entry = at<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL)
      return {};
    if (entry.d_tag == DT_NEEDED)
      needed.push_back(entry.d_un.d_val);
    else if (!tags.emplace(entry.d_tag, entry.d_un.d_val).second)
      return fail("its dynamic section has tag ", entry.d_tag, " twice");
  }
  return fail("its dynamic section has no end");
}

Status CodeReader::findStrings() {
  stringBytes = valueOf(DT_STRSZ);
  std::optional<uint64_t> found = tableAt(DT_STRTAB, stringBytes, 1);
  if (!found || stringBytes == 0 || file[*found + stringBytes - 1] != 0)
    return fail("its names are not where it says");
  strings = *found;
  return {};
}

// Refuses tags of code that runs when it is loaded or unloaded, tags that link, and unknown tags.
Status CodeReader::checkTags() {
  const std::pair<int64_t, const char *> running[] = {
      {DT_INIT, "a constructor (DT_INIT)"},
      {DT_INIT_ARRAY, "a constructor (DT_INIT_ARRAY)"},
      {DT_PREINIT_ARRAY, "a constructor (DT_PREINIT_ARRAY)"},
      {DT_FINI, "a destructor (DT_FINI)"},
      {DT_FINI_ARRAY, "a destructor (DT_FINI_ARRAY)"}};
  for (auto [tag, name] : running)
    if (tags.count(tag))
      return fail("it has ", name, ", and would run when it is loaded or unloaded");
  if (!needed.empty())
    return fail("it links the library '",
                needed[0] < stringBytes ? nameAt(needed[0]) : std::string_view(), "'");
  if (tags.count(DT_TEXTREL) || (valueOf(DT_FLAGS) & DF_TEXTREL))
    return fail("its code is relocated (DT_TEXTREL)");
  const int64_t known[] = {DT_STRTAB, DT_STRSZ,  DT_SYMTAB,   DT_SYMENT,    DT_HASH,   DT_GNU_HASH,
                           DT_RELA,   DT_RELASZ, DT_RELAENT,  DT_RELACOUNT, DT_JMPREL, DT_PLTRELSZ,
                           DT_PLTREL, DT_PLTGOT, DT_BIND_NOW, DT_FLAGS,     DT_FLAGS_1};
  for (auto [tag, value] : tags)
    if (std::find(std::begin(known), std::end(known), tag) == std::end(known))
      return fail("its dynamic section has tag ", tag);
  bool isPlain = (valueOf(DT_FLAGS) & ~uint64_t(DF_BIND_NOW)) == 0 &&
                 (valueOf(DT_FLAGS_1) & ~uint64_t(DF_1_NOW)) == 0 &&
                 valueOf(DT_SYMENT) == sizeof(Elf64_Sym) &&
                 (!tags.count(DT_RELA) || valueOf(DT_RELAENT) == sizeof(Elf64_Rela)) &&
                 (!tags.count(DT_JMPREL) || valueOf(DT_PLTREL) == DT_RELA) &&
                 (!tags.count(DT_PLTGOT) || regionOf(valueOf(DT_PLTGOT), 0));
  return isPlain ? Status() : fail("its dynamic section asks for what no code here needs");
}

// Counts the symbols through the hash table, as the loader does: no number of symbols is stored,
// and each chain ends with an entry whose lowest bit is set.
Status CodeReader::countSymbols() {
  auto broken = [&] { return fail("its table of hashes is not sound"); };
  std::optional<uint64_t> head = tableAt(DT_GNU_HASH, 4, sizeof(uint32_t));
  if (!head)
    return broken();
  auto buckets = at<uint32_t>(*head), first = at<uint32_t>(*head + 4),
       words = at<uint32_t>(*head + 8), shift = at<uint32_t>(*head + 12);
  uint64_t address = valueOf(DT_GNU_HASH) + 16;
  if (buckets == 0 || buckets > file.size() || words == 0 || (words & (words - 1)) != 0 ||
      words > file.size() || shift >= 32)
    return broken();
  std::optional<uint64_t> table =
      offsetOf(address, uint64_t(words) * 8 + uint64_t(buckets) * sizeof(uint32_t));
  if (!table)
    return broken();
  *table += uint64_t(words) * 8;
  address += uint64_t(words) * 8 + uint64_t(buckets) * sizeof(uint32_t);
  uint64_t last = 0; // the largest first symbol of a bucket
  for (uint64_t i = 0; i < buckets; ++i) {
    auto symbol = at<uint32_t>(*table + i * sizeof(uint32_t));
    if (symbol != 0 && symbol < first)
      return broken();
    last = std::max<uint64_t>(last, symbol);
  }
  numSymbols = std::max<uint64_t>(first, 1);
  for (uint64_t i = first; last >= first && last != 0; ++i) {
    std::optional<uint64_t> chain =
        offsetOf(address + (i - first) * sizeof(uint32_t), sizeof(uint32_t));
    if (!chain)
      return broken();
    numSymbols = i + 1;
    if (i >= last && (at<uint32_t>(*chain) & 1))
      break;
  }
  std::optional<uint64_t> found = tableAt(DT_SYMTAB, numSymbols, sizeof(Elf64_Sym));
  if (!found)
    return fail("its ", numSymbols, " symbols are not where it says");
  symbols = *found;
  return {};
}

Status CodeReader::readImport(const Elf64_Sym &symbol) {
  std::string_view name = nameAt(symbol.st_name);
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (!mayImport(name) || (type != STT_NOTYPE && type != STT_FUNC))
    return fail("it calls '", name, "', and may call functions of libm and memory alone");
  facts.imports.emplace_back(name);
  return {};
}

Status CodeReader::readExport(const Elf64_Sym &symbol, uint64_t index) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info), binding = ELF64_ST_BIND(symbol.st_info);
  std::string_view name = nameAt(symbol.st_name);
  if (type == STT_GNU_IFUNC)
    return fail("symbol '", name, "' is an IFUNC, which would run when it is loaded");
  bool isKnown = (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC) &&
                 (binding == STB_GLOBAL || binding == STB_WEAK) && symbol.st_shndx < SHN_LORESERVE;
  if (!isKnown)
    return fail("symbol ", index, " '", name, "' is of kind ", symbol.st_info, " in section ",
                symbol.st_shndx);
  const Region *region = regionOf(symbol.st_value, symbol.st_size);
  if (!region || (type == STT_FUNC && !(region->flags & PF_X)))
    return fail("symbol '", name, "' is not in its memory, or is a function that may not be run");
  if (region->flags & PF_X)
    facts.exports.emplace_back(name);
  return {};
}

Status CodeReader::readSymbols() {
  for (uint64_t i = 1; i < numSymbols; ++i) {
    auto symbol = at<Elf64_Sym>(symbols + i * sizeof(Elf64_Sym));
    if (symbol.st_name >= stringBytes)
      return fail("the name of symbol ", i, " is not where it says");
    DTC_RETURN_IF_ERROR(symbol.st_shndx == SHN_UNDEF ? readImport(symbol) : readExport(symbol, i));
  }
  return {};
}

// Checks values and addresses that the loader adds up: the result lies in the code's own memory, or
// is a function that it may call.
Status CodeReader::readRelocation(const Elf64_Rela &relocation, uint64_t index) {
  std::string name = text("relocation ", index);
  const Region *region = regionOf(relocation.r_offset, sizeof(uint64_t));
  bool meetsDynamic = relocation.r_offset < dynamic->end() &&
                      relocation.r_offset + sizeof(uint64_t) > dynamic->begin;
  if (!region || !(region->flags & PF_W) || meetsDynamic)
    return fail(name, " changes address ", relocation.r_offset, ", which is not in its data");
  uint64_t symbol = ELF64_R_SYM(relocation.r_info);
  switch (ELF64_R_TYPE(relocation.r_info)) {
  case R_X86_64_RELATIVE:
    if (symbol == 0 && regionOf(static_cast<uint64_t>(relocation.r_addend), 0))
      return {};
    return fail(name, " points to ", relocation.r_addend, ", which is not in its memory");
  case R_X86_64_64:
  case R_X86_64_GLOB_DAT:
  case R_X86_64_JUMP_SLOT:
    if (symbol > 0 && symbol < numSymbols && relocation.r_addend == 0)
      return {};
    return fail(name, " is of symbol ", symbol, " and ", relocation.r_addend,
                ", wanted one of the ", numSymbols, " symbols");
  case R_X86_64_IRELATIVE:
    return fail(name, " is of an IFUNC, which would run when it is loaded");
  default:
    return fail(name, " is of kind ", ELF64_R_TYPE(relocation.r_info));
  }
}

Status CodeReader::readRelocations() {
  for (auto [table, size] : {std::pair(DT_RELA, DT_RELASZ), std::pair(DT_JMPREL, DT_PLTRELSZ)}) {
    uint64_t bytes = valueOf(size), count = bytes / sizeof(Elf64_Rela);
    std::optional<uint64_t> offset = tableAt(table, count, sizeof(Elf64_Rela));
    if (bytes == 0 && !tags.count(table))
      continue;
    if (!offset || bytes % sizeof(Elf64_Rela) != 0)
      return fail("its relocations are not where it says");
    // The loader takes so many of the first entries for relative ones without checking them.
    uint64_t relative = table == DT_RELA ? valueOf(DT_RELACOUNT) : 0;
    if (relative > count)
      return fail("it has ", relative, " relative relocations of ", count);
    for (uint64_t i = 0; i < count; ++i) {
      auto relocation = at<Elf64_Rela>(*offset + i * sizeof(Elf64_Rela));
      if (i < relative && ELF64_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE)
        return fail("relocation ", i, " is not relative as it says");
      DTC_RETURN_IF_ERROR(readRelocation(relocation, i));
    }
  }
  return {};
}

} // namespace

bool mayImport(std::string_view name) {
  static constexpr std::string_view math[] = {
#define DTC_MATH_IMPORT(name) #name,
#define DTC_MEMORY_IMPORT(name)
#include "runtime/format/CodeImports.def"
#undef DTC_MATH_IMPORT
#undef DTC_MEMORY_IMPORT
  };
  static constexpr std::string_view memory[] = {
#define DTC_MATH_IMPORT(name)
#define DTC_MEMORY_IMPORT(name) #name,
#include "runtime/format/CodeImports.def"
#undef DTC_MATH_IMPORT
#undef DTC_MEMORY_IMPORT
  };
  auto isIn = [](const auto &names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return isIn(math, name) || isIn(memory, name) ||
         (name.ends_with('f') && isIn(math, name.substr(0, name.size() - 1)));
}

Status readCode(std::span<const uint8_t> object, CodeFacts &facts) {
  facts = {};
  return CodeReader(object, facts).read();
}

} // namespace dtc::format
