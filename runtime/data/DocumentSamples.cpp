#include "runtime/data/DocumentSamples.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <bit>

namespace dtc::rt {
using format::text;

std::optional<DocumentInput> documentInput(const std::string &name) {
  if (name == "tokens")
    return DocumentInput::Tokens;
  if (name == "targets")
    return DocumentInput::Targets;
  if (name == "documents")
    return DocumentInput::Documents;
  if (name == "positions")
    return DocumentInput::Positions;
  if (name == "weights")
    return DocumentInput::Weights;
  return std::nullopt;
}

Status findDocuments(const TokenSource &tokens, std::optional<int32_t> end,
                     std::vector<uint64_t> &ends) {
  ends.clear();
  if (!end) {
    DTC_RETURN_IF_ERROR(tokens.documentEnds(ends));
    if (ends.empty())
      return Status::invalidArgument(
          text("'", tokens.name(),
               "' does not say where its documents end, which the model reads; "
               "give the token that ends them: --document-end TOKEN"));
    return {};
  }
  constexpr uint64_t most = 1 << 16;
  std::vector<int32_t> block;
  for (uint64_t begin = 0; begin < tokens.size(); begin += block.size()) {
    block.resize(std::min(most, tokens.size() - begin));
    DTC_RETURN_IF_ERROR(tokens.read(begin, block));
    for (uint64_t i = 0; i < block.size(); ++i)
      if (block[i] == *end)
        ends.push_back(begin + i + 1);
  }
  if (ends.empty())
    return Status::invalidArgument(text("'", tokens.name(), "' has no token ", *end,
                                        ", which --document-end says is behind each document"));
  if (ends.back() < tokens.size())
    ends.push_back(tokens.size());
  return {};
}

namespace {

// Returns the weight of a token's loss in a document of `length` tokens, as the bits of f32.
int32_t weightOf(uint64_t position, uint64_t length) {
  return std::bit_cast<int32_t>(position + 1 < length ? 1 / static_cast<float>(length - 1) : 0.0f);
}

// Returns the elements of a buffer of bytes.
std::span<int32_t> elementsOf(std::span<std::byte> out) {
  return {reinterpret_cast<int32_t *>(out.data()), out.size() / kSampleElementBytes};
}

Status checkPosition(const std::string &name, uint64_t index, uint64_t begin, uint64_t count,
                     uint64_t samples, uint64_t length) {
  if (index < samples && begin <= length && count <= length - begin)
    return {};
  return Status::invalidArgument(text("reading '", name, "': wanted ", count, " tokens from token ",
                                      begin, " of sample ", index, ", there are ", samples,
                                      " samples of ", length));
}

class PackedSamples final : public SampleSource {
public:
  PackedSamples(std::shared_ptr<const TokenSource> tokens, std::shared_ptr<const Packing> packing,
                DocumentInput input, int32_t ignored)
      : tokens(std::move(tokens)), packing(std::move(packing)), input(input), ignored(ignored) {}

  const std::string &name() const override { return tokens->name(); }
  uint64_t samples() const override { return packing->samples(); }

  Status read(uint64_t index, uint64_t begin, std::span<std::byte> bytes) const override {
    std::span<int32_t> out = elementsOf(bytes);
    DTC_RETURN_IF_ERROR(
        checkPosition(name(), index, begin, out.size(), samples(), packing->length()));
    uint64_t end = begin + out.size(), at = 0; // `at`: the place of a piece in the sample
    int32_t number = 0;
    for (const PackedPiece &piece : packing->piecesOf(index)) {
      uint64_t from = std::max(at, begin), to = std::min(at + piece.length, end);
      if (from < to)
        DTC_RETURN_IF_ERROR(
            readPiece(piece, number, from - at, out.subspan(from - begin, to - from)));
      at += piece.length;
      ++number;
    }
    for (uint64_t position = std::max(at, begin); position < end; ++position)
      out[position - begin] = empty(number + static_cast<int32_t>(position - at));
    return {};
  }

private:
  // Returns the value of an empty token, which is document `number`.
  int32_t empty(int32_t number) const {
    return input == DocumentInput::Targets     ? ignored
           : input == DocumentInput::Documents ? number
                                               : 0;
  }

  // Fills `out` from token `first` of a piece on.
  Status readPiece(const PackedPiece &piece, int32_t number, uint64_t first,
                   std::span<int32_t> out) const {
    if (input == DocumentInput::Tokens)
      return tokens->read(piece.begin + first, out);
    if (input == DocumentInput::Documents)
      std::fill(out.begin(), out.end(), number);
    else if (input == DocumentInput::Positions)
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<int32_t>(first + i);
    else if (input == DocumentInput::Weights)
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = weightOf(first + i, piece.length);
    if (input != DocumentInput::Targets)
      return {};
    bool hasLast = first + out.size() == piece.length;
    if (hasLast)
      out.back() = ignored;
    return tokens->read(piece.begin + first + 1, out.first(out.size() - (hasLast ? 1 : 0)));
  }

  std::shared_ptr<const TokenSource> tokens;
  std::shared_ptr<const Packing> packing;
  DocumentInput input;
  int32_t ignored;
};

class NumberedSamples final : public SampleSource {
public:
  NumberedSamples(std::shared_ptr<const SampleSource> documents,
                  std::shared_ptr<const SampleSource> given, DocumentInput input,
                  DocumentInput givenAs, uint64_t length, int32_t ignored)
      : documents(std::move(documents)), given(std::move(given)), input(input), givenAs(givenAs),
        length(length), ignored(ignored) {}

  const std::string &name() const override { return given ? given->name() : documents->name(); }
  uint64_t samples() const override { return given ? given->samples() : documents->samples(); }

  Status read(uint64_t index, uint64_t begin, std::span<std::byte> bytes) const override {
    std::span<int32_t> out = elementsOf(bytes);
    DTC_RETURN_IF_ERROR(checkPosition(name(), index, begin, out.size(), samples(), length));
    if (input == DocumentInput::Tokens ||
        (given && (input == DocumentInput::Positions || input == DocumentInput::Weights)))
      return given->read(index, begin, bytes);
    bool isWeights = input == DocumentInput::Weights; // which need the end of the last document
    uint64_t end = isWeights ? length : std::min(begin + out.size() + 1, length);
    std::vector<int32_t> numbers(end);
    DTC_RETURN_IF_ERROR(documents->read(index, 0, std::as_writable_bytes(std::span(numbers))));
    for (uint64_t i = 1; i < end; ++i)
      if (numbers[i] < numbers[i - 1])
        return Status::dataLoss(text("reading '", documents->name(), "': token ", i, " of sample ",
                                     index, " is of document ", numbers[i], ", behind one of ",
                                     numbers[i - 1], "; numbers of documents never fall"));
    if (input == DocumentInput::Documents)
      std::copy_n(numbers.begin() + static_cast<int64_t>(begin), out.size(), out.begin());
    else if (input == DocumentInput::Positions)
      placeTokens(numbers, begin, out);
    else if (isWeights)
      weighTokens(numbers, begin, out);
    else
      return readTargets(index, numbers, begin, out);
    return {};
  }

private:
  static void placeTokens(std::span<const int32_t> numbers, uint64_t begin,
                          std::span<int32_t> out) {
    int32_t position = 0;
    for (uint64_t i = 0; i < begin + out.size(); ++i) {
      position = i > 0 && numbers[i] == numbers[i - 1] ? position + 1 : 0;
      if (i >= begin)
        out[i - begin] = position;
    }
  }

  static void weighTokens(std::span<const int32_t> numbers, uint64_t begin,
                          std::span<int32_t> out) {
    for (uint64_t from = 0; from < numbers.size();) {
      uint64_t to = from + 1;
      while (to < numbers.size() && numbers[to] == numbers[from])
        ++to;
      for (uint64_t i = std::max(from, begin); i < std::min(to, begin + out.size()); ++i)
        out[i - begin] = weightOf(i - from, to - from);
      from = to;
    }
  }

  Status readTargets(uint64_t index, std::span<const int32_t> numbers, uint64_t begin,
                     std::span<int32_t> out) const {
    bool areTokens = givenAs == DocumentInput::Tokens;
    // The token behind the sample's last one is not known.
    uint64_t from = begin + (areTokens ? 1 : 0), count = std::min(out.size(), length - from);
    DTC_RETURN_IF_ERROR(given->read(index, from, std::as_writable_bytes(out.first(count))));
    for (uint64_t i = 0; i < out.size(); ++i) {
      uint64_t next = begin + i + 1;
      if (next < length ? numbers[next] != numbers[next - 1] : areTokens)
        out[i] = ignored;
    }
    return {};
  }

  std::shared_ptr<const SampleSource> documents, given;
  DocumentInput input, givenAs;
  uint64_t length;
  int32_t ignored;
};

// Numbers that are all 0.
class OneDocumentEach final : public SampleSource {
public:
  OneDocumentEach(std::string name, uint64_t samples) : called(std::move(name)), count(samples) {}
  const std::string &name() const override { return called; }
  uint64_t samples() const override { return count; }
  Status read(uint64_t, uint64_t, std::span<std::byte> out) const override {
    std::fill(out.begin(), out.end(), std::byte(0));
    return {};
  }

private:
  std::string called;
  uint64_t count;
};

} // namespace

std::unique_ptr<SampleSource> makeOneDocumentEach(const std::string &name, uint64_t samples) {
  return std::make_unique<OneDocumentEach>(name, samples);
}

std::unique_ptr<SampleSource> makePackedSamples(std::shared_ptr<const TokenSource> tokens,
                                                std::shared_ptr<const Packing> packing,
                                                DocumentInput input, int32_t ignored) {
  return std::make_unique<PackedSamples>(std::move(tokens), std::move(packing), input, ignored);
}

std::unique_ptr<SampleSource> makeDocumentSamples(std::shared_ptr<const SampleSource> documents,
                                                  std::shared_ptr<const SampleSource> given,
                                                  DocumentInput input, DocumentInput givenAs,
                                                  uint64_t length, int32_t ignored) {
  return std::make_unique<NumberedSamples>(std::move(documents), std::move(given), input, givenAs,
                                           length, ignored);
}

} // namespace dtc::rt
