// Corrupts one field of a good object at a time. The reader must report it.
#include "runtime/format/CodeObject.h"

#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <functional>

namespace dtc::format {
namespace {

using Bytes = std::vector<uint8_t>;

const Bytes &good() {
  static const Bytes bytes = test::readBytes(DTC_SAMPLE_KERNELS);
  return bytes;
}

std::string errorOf(std::span<const uint8_t> object) {
  CodeFacts facts;
  return readCode(object, facts).message();
}

template <typename T> T &at(Bytes &bytes, uint64_t offset) {
  return *reinterpret_cast<T *>(bytes.data() + offset);
}
Elf64_Ehdr &header(Bytes &bytes) { return at<Elf64_Ehdr>(bytes, 0); }

// Returns the n-th program header of this kind.
Elf64_Phdr &part(Bytes &bytes, uint32_t type, int n = 0) {
  for (uint64_t i = 0;; ++i) {
    auto &found = at<Elf64_Phdr>(bytes, header(bytes).e_phoff + i * sizeof(Elf64_Phdr));
    if (found.p_type == type && n-- == 0)
      return found;
  }
}
Elf64_Dyn &tag(Bytes &bytes, int64_t wanted) {
  for (uint64_t i = 0;; ++i) {
    auto &found = at<Elf64_Dyn>(bytes, part(bytes, PT_DYNAMIC).p_offset + i * sizeof(Elf64_Dyn));
    if (found.d_tag == wanted)
      return found;
  }
}
// The tables of the sample are in its first region, in which addresses are offsets in the file.
uint64_t table(Bytes &bytes, int64_t wanted) { return tag(bytes, wanted).d_un.d_ptr; }
Elf64_Sym &symbol(Bytes &bytes, uint64_t index) {
  return at<Elf64_Sym>(bytes, table(bytes, DT_SYMTAB) + index * sizeof(Elf64_Sym));
}
uint32_t &hash(Bytes &bytes, uint64_t word) {
  return at<uint32_t>(bytes, table(bytes, DT_GNU_HASH) + word * sizeof(uint32_t));
}
// Replaces the end of the dynamic section by this entry and another end behind it.
void addTag(Bytes &bytes, int64_t added, uint64_t value) {
  Elf64_Dyn &end = tag(bytes, DT_NULL);
  (&end)[1] = end;
  end = {added, {value}};
  part(bytes, PT_DYNAMIC).p_filesz += sizeof(Elf64_Dyn);
  part(bytes, PT_LOAD, 2).p_filesz += sizeof(Elf64_Dyn);
}
// Adds a table of one relocation to the dynamic section, in place of the first bytes of the frames.
Elf64_Rela &addRelocation(Bytes &bytes, Elf64_Rela relocation) {
  uint64_t where = part(bytes, PT_GNU_EH_FRAME).p_offset;
  addTag(bytes, DT_RELA, where);
  addTag(bytes, DT_RELASZ, sizeof(Elf64_Rela));
  addTag(bytes, DT_RELAENT, sizeof(Elf64_Rela));
  return at<Elf64_Rela>(bytes, where) = relocation;
}
// Returns a writable address behind the dynamic section.
uint64_t data(Bytes &bytes) {
  Elf64_Phdr &region = part(bytes, PT_LOAD, 2);
  return region.p_vaddr + region.p_memsz - 8;
}

struct Corruption {
  const char *name;
  std::function<void(Bytes &)> apply;
  const char *message; // part of the reader's message
};

// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Corruption &corruption, std::ostream *out) { *out << corruption.name; }

class CodeCorruption : public testing::TestWithParam<Corruption> {};

TEST_P(CodeCorruption, IsNamed) {
  Bytes bytes = good();
  bytes.resize(bytes.size() + 256); // room for additions; code may be followed by any bytes
  GetParam().apply(bytes);
  EXPECT_NE(errorOf(bytes).find(GetParam().message), std::string::npos) << errorOf(bytes);
}

constexpr uint64_t huge = ~uint64_t(0);

const Corruption corruptions[] = {
    {"NoElf", [](Bytes &b) { b[0] = 0; }, "it is no ELF file"},
    {"OtherMachine", [](Bytes &b) { header(b).e_machine = EM_AARCH64; }, "no shared object for"},
    {"Program", [](Bytes &b) { header(b).e_type = ET_EXEC; }, "no shared object for"},
    {"HeadersBeyond", [](Bytes &b) { header(b).e_phoff = huge - 8; }, "program headers at byte"},
    {"HeadersMany", [](Bytes &b) { header(b).e_phnum = 60000; }, "it has 60000 program headers"},
    {"HeadersSize", [](Bytes &b) { header(b).e_phentsize = 1; }, "program headers at byte"},
    {"HeadersElsewhere", [](Bytes &b) { part(b, PT_PHDR).p_vaddr += 8; }, "not where it says"},
    {"RegionBeyond", [](Bytes &b) { part(b, PT_LOAD).p_filesz = huge; }, "beyond the file's end"},
    {"RegionFrom", [](Bytes &b) { part(b, PT_LOAD, 1).p_offset = huge; }, "beyond the file's end"},
    {"RegionHuge", [](Bytes &b) { part(b, PT_LOAD, 2).p_memsz = huge; }, "wanted those of the"},
    {"RegionSmall", [](Bytes &b) { part(b, PT_LOAD, 2).p_memsz = 1; }, "wanted those of the file"},
    {"RegionHigh", [](Bytes &b) { part(b, PT_LOAD, 2).p_vaddr = huge & ~4095ULL; }, "takes"},
    {"RegionAlign", [](Bytes &b) { part(b, PT_LOAD, 1).p_align = 3; }, "has alignment 3"},
    {"RegionAlignHuge", [](Bytes &b) { part(b, PT_LOAD, 1).p_align = 1ULL << 40; }, "alignment"},
    {"RegionOverlaps", [](Bytes &b) { part(b, PT_LOAD, 1).p_vaddr -= 0x1000; }, "overlaps the one"},
    {"RegionWrittenAndRun", [](Bytes &b) { part(b, PT_LOAD, 1).p_flags |= PF_W; },
     "may be both written and run"},
    {"RegionRights", [](Bytes &b) { part(b, PT_LOAD, 1).p_flags = PF_X; }, "has rights 1"},
    {"NoRegions",
     [](Bytes &b) {
       for (int i = 0; i < 3; ++i)
         part(b, PT_LOAD).p_type = PT_NULL;
     },
     "it has nothing to load"},
    {"Interpreter", [](Bytes &b) { part(b, PT_GNU_EH_FRAME).p_type = PT_INTERP; }, "PT_INTERP"},
    {"Note", [](Bytes &b) { part(b, PT_GNU_EH_FRAME).p_type = PT_NOTE; }, "a part of kind 4"},
    {"FramesBeyond", [](Bytes &b) { part(b, PT_GNU_EH_FRAME).p_vaddr = huge; }, "table of frames"},
    {"ReadOnlyBeyond", [](Bytes &b) { part(b, PT_GNU_RELRO).p_memsz = huge; }, "to be read only"},
    {"ReadOnlyCode", [](Bytes &b) { part(b, PT_GNU_RELRO).p_vaddr = 0; }, "to be read only"},
    {"Stack", [](Bytes &b) { part(b, PT_GNU_STACK).p_flags |= PF_X; }, "a stack that may be run"},
    {"NoStack", [](Bytes &b) { part(b, PT_GNU_STACK).p_type = PT_NULL; },
     "does not say that its stack may not be run"},
    {"NoDynamic", [](Bytes &b) { part(b, PT_DYNAMIC).p_type = PT_NULL; }, "no dynamic section"},
    {"DynamicElsewhere", [](Bytes &b) { part(b, PT_DYNAMIC).p_offset += 8; }, "dynamic section is"},
    {"DynamicEndless", [](Bytes &b) { part(b, PT_DYNAMIC).p_filesz -= 16; }, "has no end"},
    {"TagTwice", [](Bytes &b) { addTag(b, DT_STRSZ, 1); }, "has tag 10 twice"},
    {"TagUnknown", [](Bytes &b) { addTag(b, DT_RUNPATH, 0); }, "has tag 29"},
    {"Audit", [](Bytes &b) { addTag(b, DT_AUDIT, 0); }, "dynamic section has tag"},
    {"Needed", [](Bytes &b) { addTag(b, DT_NEEDED, 1); }, "it links the library 'mean_square'"},
    {"NeededBeyond", [](Bytes &b) { addTag(b, DT_NEEDED, huge); }, "it links the library ''"},
    {"Init", [](Bytes &b) { addTag(b, DT_INIT, 0); }, "a constructor (DT_INIT)"},
    {"InitArray", [](Bytes &b) { addTag(b, DT_INIT_ARRAY, 0); }, "a constructor (DT_INIT_ARRAY)"},
    {"PreinitArray", [](Bytes &b) { addTag(b, DT_PREINIT_ARRAY, 0); }, "(DT_PREINIT_ARRAY)"},
    {"Fini", [](Bytes &b) { addTag(b, DT_FINI, 0); }, "a destructor (DT_FINI)"},
    {"FiniArray", [](Bytes &b) { addTag(b, DT_FINI_ARRAY, 0); }, "a destructor (DT_FINI_ARRAY)"},
    {"TextRelocations", [](Bytes &b) { addTag(b, DT_TEXTREL, 0); }, "its code is relocated"},
    {"TextFlag", [](Bytes &b) { addTag(b, DT_FLAGS, DF_TEXTREL); }, "its code is relocated"},
    {"StaticThread", [](Bytes &b) { addTag(b, DT_FLAGS, DF_STATIC_TLS); }, "what no code here"},
    {"NoDelete", [](Bytes &b) { addTag(b, DT_FLAGS_1, DF_1_NODELETE); }, "what no code here"},
    {"PlaceOfCalls", [](Bytes &b) { addTag(b, DT_PLTGOT, huge); }, "what no code here needs"},
    {"NamesBeyond", [](Bytes &b) { tag(b, DT_STRTAB).d_un.d_ptr = huge; }, "its names are not"},
    {"NamesMany", [](Bytes &b) { tag(b, DT_STRSZ).d_un.d_val = huge; }, "its names are not where"},
    {"NamesOpen", [](Bytes &b) { tag(b, DT_STRSZ).d_un.d_val -= 1; }, "its names are not where"},
    {"NamesWritten", [](Bytes &b) { tag(b, DT_STRTAB).d_un.d_ptr = part(b, PT_DYNAMIC).p_vaddr; },
     "its names are not where"},
    {"SymbolSize", [](Bytes &b) { tag(b, DT_SYMENT).d_un.d_val = 1; }, "what no code here needs"},
    {"SymbolsBeyond", [](Bytes &b) { tag(b, DT_SYMTAB).d_un.d_ptr = huge; }, "symbols are not"},
    {"SymbolName", [](Bytes &b) { symbol(b, 1).st_name = 1 << 30; }, "the name of symbol 1 is"},
    {"SymbolValue", [](Bytes &b) { symbol(b, 1).st_value = huge; }, "'mean_square' is not in its"},
    {"SymbolBytes", [](Bytes &b) { symbol(b, 1).st_size = huge; }, "'mean_square' is not in its"},
    {"SymbolOfData", [](Bytes &b) { symbol(b, 2).st_value = 0; }, "a function that may not be run"},
    {"SymbolAbsolute", [](Bytes &b) { symbol(b, 1).st_shndx = SHN_ABS; }, "symbol 1 'mean_square'"},
    {"SymbolUnique", [](Bytes &b) { symbol(b, 1).st_info = 0xa2; }, "symbol 1 'mean_square' is of"},
    {"SymbolIfunc", [](Bytes &b) { symbol(b, 1).st_info = 0x1a; }, "is an IFUNC, which would run"},
    {"Import", [](Bytes &b) { symbol(b, 1).st_shndx = SHN_UNDEF; },
     "it calls 'mean_square', and may call functions of libm and memory alone"},
    {"NoHashes", [](Bytes &b) { tag(b, DT_GNU_HASH).d_tag = DT_HASH; }, "table of hashes is not"},
    {"HashesBeyond", [](Bytes &b) { tag(b, DT_GNU_HASH).d_un.d_ptr = huge; }, "table of hashes"},
    {"NoBuckets", [](Bytes &b) { hash(b, 0) = 0; }, "its table of hashes is not sound"},
    {"ManyBuckets", [](Bytes &b) { hash(b, 0) = ~0U; }, "its table of hashes is not sound"},
    {"HashWords", [](Bytes &b) { hash(b, 2) = 3; }, "its table of hashes is not sound"},
    {"HashShift", [](Bytes &b) { hash(b, 3) = 99; }, "its table of hashes is not sound"},
    {"BucketBelow", [](Bytes &b) { hash(b, 1) = 100; }, "its table of hashes is not sound"},
    {"BucketBeyond", [](Bytes &b) { hash(b, 4 + 2 * hash(b, 2)) = ~0U; }, "its table of hashes"},
    {"ChainEndless",
     [](Bytes &b) {
       uint64_t chains = 4 + 2 * hash(b, 2) + hash(b, 0);
       for (uint64_t at = chains; table(b, DT_GNU_HASH) + at * 4 + 4 <= part(b, PT_LOAD).p_filesz;
            ++at)
         hash(b, at) &= ~1U;
     },
     "its "},
    {"RelocationsBeyond",
     [](Bytes &b) {
       addRelocation(b, {});
       tag(b, DT_RELA).d_un.d_ptr = huge;
     },
     "its relocations are not where it says"},
    {"RelocationsMany",
     [](Bytes &b) {
       addRelocation(b, {});
       tag(b, DT_RELASZ).d_un.d_val = huge / 24 * 24;
     },
     "its relocations are not where it says"},
    {"RelocationOfCode",
     [](Bytes &b) {
       addRelocation(b, {0x1350, R_X86_64_RELATIVE, 0});
     },
     "relocation 0 changes address 4944, which is not in its data"},
    {"RelocationBeyond",
     [](Bytes &b) {
       addRelocation(b, {huge - 3, R_X86_64_RELATIVE, 0});
     },
     "which is not in its data"},
    {"RelocationOfDynamic",
     [](Bytes &b) {
       addRelocation(b, {part(b, PT_DYNAMIC).p_vaddr, R_X86_64_RELATIVE, 0});
     },
     "which is not in its data"},
    {"RelocationTo",
     [](Bytes &b) {
       addRelocation(b, {data(b), R_X86_64_RELATIVE, -1});
     },
     "relocation 0 points to -1, which is not in its memory"},
    {"RelocationKind",
     [](Bytes &b) {
       addRelocation(b, {data(b), R_X86_64_COPY, 0});
     },
     "relocation 0 is of kind 5"},
    {"RelocationIfunc",
     [](Bytes &b) {
       addRelocation(b, {data(b), R_X86_64_IRELATIVE, 0x1350});
     },
     "relocation 0 is of an IFUNC"},
    {"RelocationSymbol",
     [](Bytes &b) {
       addRelocation(b, {data(b), ELF64_R_INFO(99, R_X86_64_64), 0});
     },
     "relocation 0 is of symbol 99 and 0, wanted one of the 3 symbols"},
    {"RelocationAddend",
     [](Bytes &b) {
       addRelocation(b, {data(b), ELF64_R_INFO(1, R_X86_64_64), 8});
     },
     "relocation 0 is of symbol 1 and 8"},
    {"RelocationCount",
     [](Bytes &b) {
       addRelocation(b, {data(b), ELF64_R_INFO(1, R_X86_64_64), 0});
       addTag(b, DT_RELACOUNT, 1);
     },
     "relocation 0 is not relative as it says"},
    {"RelocationCountHuge",
     [](Bytes &b) {
       addRelocation(b, {data(b), R_X86_64_RELATIVE, 0});
       addTag(b, DT_RELACOUNT, huge);
     },
     "relative relocations of 1"},
};
INSTANTIATE_TEST_SUITE_P(Fields, CodeCorruption, testing::ValuesIn(corruptions),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(CodeObject, NamesWhatItCallsAndOffers) {
  CodeFacts facts;
  rt::Status status = readCode(good(), facts);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(facts.exports, (std::vector<std::string>{"decay", "mean_square"}));
  EXPECT_TRUE(facts.imports.empty());
  Bytes bytes = good();
  bytes.resize(bytes.size() + 256);
  // Imports a function of libm in place of the object's own: 'decay' becomes 'expf', which does not
  // exist here.
  std::memcpy(bytes.data() + table(bytes, DT_STRTAB) + symbol(bytes, 2).st_name, "expf", 5);
  symbol(bytes, 2).st_shndx = SHN_UNDEF;
  ASSERT_EQ(errorOf(bytes), "");
  ASSERT_TRUE(readCode(bytes, facts).ok());
  EXPECT_EQ(facts.imports, std::vector<std::string>{"expf"});
}

TEST(CodeObject, KnowsWhatCodeMayCall) {
  for (const char *name : {"exp", "expf", "logf", "cosf", "fmaximum_numf", "memcpy", "memset"})
    EXPECT_TRUE(mayImport(name)) << name;
  for (const char *name : {"", "f", "system", "memcpyf", "expff", "execve", "dlopen", "exp "})
    EXPECT_FALSE(mayImport(name)) << name;
}

// For any changed byte, and for any length of the file, the reader stays within it.
TEST(CodeObject, StaysWithinAnyBytes) {
  size_t refused = 0;
  for (size_t bytes = 0; bytes < good().size(); ++bytes)
    refused +=
        !errorOf(Bytes(good().begin(), good().begin() + static_cast<ptrdiff_t>(bytes))).empty();
  EXPECT_GT(refused, 1000U);
  for (size_t i = 0; i < good().size(); ++i)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes bytes = good();
      bytes[i] = value;
      refused += !errorOf(bytes).empty();
    }
  EXPECT_GT(refused, 2500U);
}

// If the code is a whole number of pages long, the data begin where it ends.
TEST(CodeObject, MayHaveDataWhereItsCodeEnds) {
  Bytes bytes = test::readBytes(DTC_ALIGNED_KERNELS);
  EXPECT_EQ(errorOf(bytes), "");
  Elf64_Phdr *code = nullptr, *data = nullptr;
  for (int i = 0; !data; ++i) {
    Elf64_Phdr &each = part(bytes, PT_LOAD, i);
    code = each.p_flags & PF_X ? &each : code;
    data = each.p_flags & PF_W ? &each : data;
  }
  ASSERT_EQ(data->p_vaddr % 4096, 0u);
  code->p_memsz = data->p_vaddr - code->p_vaddr;
  EXPECT_EQ(errorOf(bytes), "");
}

} // namespace
} // namespace dtc::format
