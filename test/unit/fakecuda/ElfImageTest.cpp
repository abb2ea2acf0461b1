// Tests the check that an object file is complete, on the test's own program.
#include "runtime/cuda/ElfImage.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

namespace dtc::rt {
namespace {

std::vector<uint8_t> ownProgram() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(IsWholeElf, TakesAProgram) { EXPECT_TRUE(isWholeElf(ownProgram())); }

TEST(IsWholeElf, RefusesWhatIsCutOff) {
  std::vector<uint8_t> whole = ownProgram();
  ASSERT_GT(whole.size(), sizeof(Elf64_Ehdr));
  for (size_t bytes : {size_t(0), size_t(3), sizeof(Elf64_Ehdr) - 1, sizeof(Elf64_Ehdr),
                       whole.size() / 2, whole.size() - 1})
    EXPECT_FALSE(isWholeElf(std::span(whole).first(bytes))) << bytes << " bytes";
}

TEST(IsWholeElf, RefusesHeadersThatPointOutside) {
  std::vector<uint8_t> whole = ownProgram(), wrong = whole;
  wrong[0] = 'e';
  EXPECT_FALSE(isWholeElf(wrong));
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  auto with = [&](auto change) {
    Elf64_Ehdr changed = header;
    change(changed);
    std::vector<uint8_t> bytes = whole;
    std::memcpy(bytes.data(), &changed, sizeof(changed));
    return bytes;
  };
  EXPECT_FALSE(isWholeElf(with([](Elf64_Ehdr &each) { each.e_shoff = ~uint64_t(0) - 63; })));
  EXPECT_FALSE(isWholeElf(with([&](Elf64_Ehdr &each) { each.e_phoff = whole.size() - 1; })));
  EXPECT_FALSE(isWholeElf(with([](Elf64_Ehdr &each) { each.e_shentsize = 1; })));
  Elf64_Shdr section;
  size_t at = header.e_shoff + sizeof(section); // the first is empty
  std::memcpy(&section, whole.data() + at, sizeof(section));
  ASSERT_NE(section.sh_type, static_cast<uint32_t>(SHT_NOBITS));
  section.sh_size = whole.size();
  wrong = whole;
  std::memcpy(wrong.data() + at, &section, sizeof(section));
  EXPECT_FALSE(isWholeElf(wrong));
}

} // namespace
} // namespace dtc::rt
