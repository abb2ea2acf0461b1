#include "runtime/monitor/ForeignMemory.h"

#include "runtime/base/Text.h"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <memory>
#include <sys/uio.h>

namespace dtc::rt {
using format::text;

bool ForeignMemory::read(uint64_t address, void *to, size_t bytes) const {
  iovec local = {to, bytes};
  iovec remote = {reinterpret_cast<void *>(address), bytes};
  return ::process_vm_readv(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool findModule(const ForeignMemory &memory, const std::vector<Mapping> &mappings,
                const Mapping &mapping, Module &module) {
  // The mapping of the file's beginning, from which the loader has mapped the others.
  const Mapping *first = nullptr;
  for (const Mapping &each : mappings)
    if (each.path == mapping.path && each.offset == 0 && each.begin <= mapping.begin)
      first = &each;
  Elf64_Ehdr header;
  constexpr size_t mostHeaders = 64;
  if (mapping.path.empty() || !first || !memory.read(first->begin, header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phnum > mostHeaders)
    return false;
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!memory.read(first->begin + header.e_phoff, headers.data(),
                   headers.size() * sizeof(Elf64_Phdr)))
    return false;
  bool isFound = false;
  for (const Elf64_Phdr &each : headers)
    if (each.p_type == PT_LOAD && each.p_offset == 0 && !isFound) {
      module.bias = first->begin - each.p_vaddr;
      isFound = true;
    }
  for (const Elf64_Phdr &each : headers)
    if (each.p_type == PT_GNU_EH_FRAME)
      module.unwindAt = module.bias + each.p_vaddr;
  return isFound;
}

std::vector<Mapping> mappingsOf(pid_t process) {
  std::vector<Mapping> out;
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(text("/proc/", process, "/maps").c_str(), "re"), &std::fclose);
  char line[4352];
  while (file && std::fgets(line, sizeof(line), file.get())) {
    line[std::strcspn(line, "\n")] = 0;
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, rights, &offset, &path) ==
        4)
      out.push_back({begin, end, offset, rights[2] == 'x', line + path});
  }
  return out;
}

const Mapping *codeAt(const std::vector<Mapping> &mappings, uint64_t address) {
  for (const Mapping &each : mappings)
    if (each.isCode && address >= each.begin && address < each.end)
      return &each;
  return nullptr;
}

} // namespace dtc::rt
