// Megatron-LM's indexed dataset: X.bin holds the tokens, X.idx where the sequences are.
//
// X.idx, little endian and unaligned: 9 B "MMIDIDX\0\0", u64 version 1, u8 token type, u64 S
// sequences, u64 D document bounds; then i32 length[S] in tokens, i64 pointer[S] in bytes of X.bin,
// i64 document[D] (indices of sequences), optionally i8 mode[S].
// Source: megatron/core/datasets/indexed_dataset.py.
#include "runtime/data/Megatron.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"
#include "runtime/data/TokenArray.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace dtc::rt {
using format::text;

namespace {
constexpr char kMagic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
constexpr uint64_t kHeaderBytes = 34;

template <typename T> T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Returns the token type of the code in byte 17; false for floats and unknown codes.
bool tokenType(uint8_t code, TokenType &type) {
  constexpr TokenType types[] = {TokenType::U8, TokenType::I8, TokenType::I16, TokenType::I32,
                                 TokenType::I64};
  if (code == 8)
    type = TokenType::U16;
  else if (code >= 1 && code <= 5)
    type = types[code - 1];
  else
    return false;
  return true;
}

struct Index {
  TokenType type = TokenType::U16;
  uint64_t sequences = 0, documents = 0, tokens = 0;
};

Status damaged(const std::string &path, const std::string &what) {
  return Status::dataLoss(text("opening '", path, "': ", what));
}

// The entries of a list in the index, which may be larger than memory, read in order.
template <typename T> class Entries {
public:
  Entries(const InputFile &file, uint64_t offset, uint64_t count)
      : file(file), offset(offset), count(count) {}

  Status next(T &entry) {
    if (at == buffer.size()) {
      constexpr uint64_t most = 8192;
      buffer.resize(std::min(count - taken, most));
      DTC_RETURN_IF_ERROR(
          file.read(offset + taken * sizeof(T),
                    {reinterpret_cast<uint8_t *>(buffer.data()), buffer.size() * sizeof(T)}));
      taken += buffer.size();
      at = 0;
    }
    entry = buffer[at++];
    return {};
  }

private:
  const InputFile &file;
  uint64_t offset, count, taken = 0;
  std::vector<T> buffer;
  size_t at = 0;
};

Status readHeader(const InputFile &file, Index &index) {
  const std::string &path = file.path();
  std::array<uint8_t, kHeaderBytes> bytes;
  if (file.size() < kHeaderBytes)
    return damaged(path,
                   text("it has ", file.size(), " bytes, less than a header of ", kHeaderBytes));
  DTC_RETURN_IF_ERROR(file.read(0, bytes));
  if (std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return damaged(path, "it does not begin with MMIDIDX; wanted a Megatron index");
  if (auto version = load<uint64_t>(bytes.data() + 9); version != 1)
    return Status::invalidArgument(
        text("opening '", path, "': it is of version ", version, "; wanted 1"));
  if (uint8_t code = bytes[17]; !tokenType(code, index.type))
    return Status::invalidArgument(text("opening '", path, "': its tokens are of type ", int(code),
                                        "; wanted an integer type, 1 to 5 or 8"));
  index.sequences = load<uint64_t>(bytes.data() + 18);
  index.documents = load<uint64_t>(bytes.data() + 26);
  format::Checked plain =
      format::Checked(index.sequences) * 12 + format::Checked(index.documents) * 8 + kHeaderBytes;
  format::Checked withModes = plain + index.sequences;
  bool fits = (plain.ok() && plain.value() == file.size()) ||
              (withModes.ok() && withModes.value() == file.size());
  if (!fits)
    return damaged(path,
                   text("it has ", file.size(), " bytes, which do not hold its ", index.sequences,
                        " sequences and ", index.documents, " document bounds"));
  return Status::okStatus();
}

// Sequences must follow each other without a gap from byte 0 on, as Megatron writes them; then the
// whole .bin is one run of tokens.
Status readSequences(const InputFile &file, uint64_t binBytes, Index &index) {
  const std::string &path = file.path();
  uint64_t pointersAt = kHeaderBytes + index.sequences * 4;
  Entries<int32_t> lengths(file, kHeaderBytes, index.sequences);
  Entries<int64_t> pointers(file, pointersAt, index.sequences);
  Entries<int64_t> documents(file, pointersAt + index.sequences * 8, index.documents);
  uint64_t width = bytesOf(index.type);
  for (uint64_t i = 0; i < index.sequences; ++i) {
    int32_t length = 0;
    int64_t pointer = 0;
    DTC_RETURN_IF_ERROR(lengths.next(length));
    DTC_RETURN_IF_ERROR(pointers.next(pointer));
    if (length < 0)
      return damaged(path, text("sequence ", i, " has ", length, " tokens"));
    if (pointer < 0 || static_cast<uint64_t>(pointer) != index.tokens * width)
      return damaged(path, text("sequence ", i, " starts at byte ", pointer, "; wanted ",
                                index.tokens * width, ", where the one before it ends"));
    index.tokens += static_cast<uint64_t>(length);
  }
  int64_t before = 0;
  for (uint64_t i = 0; i < index.documents; ++i) {
    int64_t bound = 0;
    DTC_RETURN_IF_ERROR(documents.next(bound));
    if (bound < before || static_cast<uint64_t>(bound) > index.sequences || (i == 0 && bound != 0))
      return damaged(path, text("document bound ", i, " is sequence ", bound, "; wanted ", before,
                                " to ", i == 0 ? 0 : index.sequences));
    before = bound;
  }
  if (index.tokens * width != binBytes)
    return damaged(path, text("its sequences have ", index.tokens * width,
                              " bytes, but the .bin beside it has ", binBytes));
  return Status::okStatus();
}

// The tokens of a data set, whose index says where documents end.
class MegatronTokens final : public TokenSource {
public:
  MegatronTokens(std::string stem, const std::string &format, InputFile bin, const Index &index,
                 uint64_t vocabulary)
      : TokenSource({.format = format, .files = {bin.path()}, .leftOut = {}}),
        stem(std::move(stem)),
        tokens(std::move(bin), format, 0, index.tokens, index.type, vocabulary) {}

  const std::string &name() const override { return tokens.name(); }
  uint64_t size() const override { return tokens.size(); }
  Status read(uint64_t begin, std::span<int32_t> out) const override {
    return tokens.read(begin, out);
  }
  Status documentEnds(std::vector<uint64_t> &ends) const override {
    return megatronDocumentEnds(stem, size(), ends);
  }

private:
  std::string stem;
  TokenArray tokens;
};
} // namespace

Status megatronDocumentEnds(const std::string &stem, uint64_t tokens, std::vector<uint64_t> &ends) {
  ends.clear();
  InputFile idx;
  Index index;
  DTC_RETURN_IF_ERROR(idx.open(stem + ".idx"));
  DTC_RETURN_IF_ERROR(readHeader(idx, index));
  DTC_RETURN_IF_ERROR(
      readSequences(idx, tokens * static_cast<uint64_t>(bytesOf(index.type)), index));
  Entries<int32_t> lengths(idx, kHeaderBytes, index.sequences);
  Entries<int64_t> documents(idx, kHeaderBytes + index.sequences * 12, index.documents);
  uint64_t sequence = 0, end = 0;
  auto addUntil = [&](uint64_t bound) -> Status {
    uint64_t begin = end;
    for (; sequence < bound; ++sequence) {
      int32_t length = 0;
      DTC_RETURN_IF_ERROR(lengths.next(length));
      end += static_cast<uint64_t>(length);
    }
    if (end > begin)
      ends.push_back(end);
    return {};
  };
  for (uint64_t i = 0; i < index.documents; ++i) {
    int64_t bound = 0;
    DTC_RETURN_IF_ERROR(documents.next(bound));
    DTC_RETURN_IF_ERROR(addUntil(static_cast<uint64_t>(bound)));
  }
  return addUntil(index.sequences);
}

Status openMegatron(const std::string &stem, const TokenSourceOptions &options,
                    std::unique_ptr<TokenSource> &source) {
  InputFile bin, idx;
  DTC_RETURN_IF_ERROR(idx.open(stem + ".idx"));
  DTC_RETURN_IF_ERROR(bin.open(stem + ".bin"));
  Index index;
  DTC_RETURN_IF_ERROR(readHeader(idx, index));
  DTC_RETURN_IF_ERROR(readSequences(idx, bin.size(), index));
  source = std::make_unique<MegatronTokens>(stem, text("Megatron, ", idsOf(index.type)),
                                            std::move(bin), index, options.vocabulary);
  return Status::okStatus();
}

} // namespace dtc::rt
