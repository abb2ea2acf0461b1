#include "runtime/cuda/ElfImage.h"

#include <cstring>
#include <elf.h>

namespace dtc::rt {
namespace {

// True if `count` items of `each` bytes from `offset` on are within `size` bytes.
bool fits(uint64_t offset, uint64_t count, uint64_t each, uint64_t size) {
  return offset <= size && (each == 0 || count <= (size - offset) / each);
}

// Checks all headers of a table in `bytes`; `ranges` returns true if the file has everything that a
// header refers to.
template <typename Header, typename Ranges>
bool allFit(std::span<const uint8_t> bytes, uint64_t offset, uint64_t count, const Ranges &ranges) {
  for (uint64_t i = 0; i < count; ++i) {
    Header header;
    std::memcpy(&header, bytes.data() + offset + i * sizeof(header), sizeof(header));
    if (!ranges(header))
      return false;
  }
  return true;
}

} // namespace

bool isWholeElf(std::span<const uint8_t> bytes) {
  Elf64_Ehdr file;
  if (bytes.size() < sizeof(file) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return false;
  std::memcpy(&file, bytes.data(), sizeof(file));
  uint64_t size = bytes.size();
  if (file.e_ident[EI_CLASS] != ELFCLASS64 ||
      (file.e_shnum > 0 && file.e_shentsize != sizeof(Elf64_Shdr)) ||
      (file.e_phnum > 0 && file.e_phentsize != sizeof(Elf64_Phdr)) ||
      !fits(file.e_shoff, file.e_shnum, sizeof(Elf64_Shdr), size) ||
      !fits(file.e_phoff, file.e_phnum, sizeof(Elf64_Phdr), size))
    return false;
  return allFit<Elf64_Shdr>(bytes, file.e_shoff, file.e_shnum,
                            [size](const Elf64_Shdr &section) {
                              return section.sh_type == SHT_NOBITS ||
                                     fits(section.sh_offset, section.sh_size, 1, size);
                            }) &&
         allFit<Elf64_Phdr>(bytes, file.e_phoff, file.e_phnum, [size](const Elf64_Phdr &part) {
           return fits(part.p_offset, part.p_filesz, 1, size);
         });
}

} // namespace dtc::rt
