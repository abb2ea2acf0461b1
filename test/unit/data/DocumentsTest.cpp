// Tests the boundaries of documents, their packing, and the samples that are made of both.
#include "runtime/data/Concatenation.h"
#include "runtime/data/DocumentSamples.h"
#include "runtime/data/OpenTokens.h"
#include "test/unit/data/TempFolder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace dtc::rt {
namespace {

using Values = std::vector<int32_t>;
using Ends = std::vector<uint64_t>;

constexpr int32_t kIgnored = -100;

// Tokens in memory. Token i is i unless values are given.
class Tokens final : public TokenSource {
public:
  explicit Tokens(Values values) : TokenSource({}), values(std::move(values)) {}
  static std::shared_ptr<const TokenSource> counting(uint64_t size) {
    Values values(size);
    std::iota(values.begin(), values.end(), 0);
    return std::make_shared<Tokens>(values);
  }
  const std::string &name() const override { return called; }
  uint64_t size() const override { return values.size(); }
  Status read(uint64_t begin, std::span<int32_t> out) const override {
    if (begin + out.size() > values.size())
      return Status::invalidArgument("past the end");
    std::copy_n(values.begin() + static_cast<int64_t>(begin), out.size(), out.begin());
    return {};
  }

private:
  Values values;
  std::string called = "tokens";
};

// Samples in memory.
class Rows final : public SampleSource {
public:
  explicit Rows(std::vector<Values> rows) : rows(std::move(rows)) {}
  const std::string &name() const override { return called; }
  uint64_t samples() const override { return rows.size(); }
  Status read(uint64_t index, uint64_t begin, std::span<std::byte> out) const override {
    std::memcpy(out.data(), rows.at(index).data() + begin, out.size());
    return {};
  }

private:
  std::vector<Values> rows;
  std::string called = "rows.npy";
};

Values read(const SampleSource &source, uint64_t index, uint64_t begin, uint64_t count) {
  Values values(count, -7);
  Status status = source.read(index, begin, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

Packing packed(const Ends &ends, uint64_t length, LongDocuments longer = LongDocuments::Split,
               uint64_t seed = 1, bool isShuffled = true) {
  Packing packing;
  Status status = Packing::make(ends, length, longer, seed, isShuffled, "tokens", packing);
  EXPECT_TRUE(status.ok()) << status.message();
  return packing;
}

// Returns the ends of `count` documents of 1 to `most` tokens, short ones more often.
Ends randomEnds(uint64_t count, uint64_t most) {
  Ends ends;
  uint64_t end = 0, state = 5;
  for (uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t draw = (state >> 33) % most;
    end += 1 + draw * draw / most;
    ends.push_back(end);
  }
  return ends;
}

TEST(FindDocuments, EndsThemBehindAToken) {
  Ends ends;
  ASSERT_TRUE(findDocuments(Tokens({5, 0, 0, 7, 7, 0, 3}), 0, ends).ok());
  EXPECT_EQ(ends, (Ends{2, 3, 6, 7}));
  ASSERT_TRUE(findDocuments(Tokens({5, 0}), 0, ends).ok());
  EXPECT_EQ(ends, (Ends{2}));
  EXPECT_EQ(findDocuments(Tokens({5, 6}), 0, ends).message(),
            "'tokens' has no token 0, which --document-end says is behind each document");
  EXPECT_EQ(findDocuments(Tokens({5, 6}), std::nullopt, ends).message(),
            "'tokens' does not say where its documents end, which the model reads; give the token "
            "that ends them: --document-end TOKEN");
}

TEST(FindDocuments, ReadsLongSourcesInBlocks) {
  Values values(200000, 1);
  for (uint64_t at : {65535u, 65536u, 131072u})
    values[at] = 9;
  Ends ends;
  ASSERT_TRUE(findDocuments(Tokens(values), 9, ends).ok());
  EXPECT_EQ(ends, (Ends{65536, 65537, 131073, 200000}));
}

class MegatronDocuments : public TempFolder {
protected:
  // Writes sequences of these lengths, and the bounds of documents in sequences.
  void write(const std::string &stem, const std::vector<int64_t> &lengths,
             const std::vector<int64_t> &bounds) {
    std::string pointers;
    int64_t tokens = 0;
    for (int64_t length : lengths) {
      pointers += bytesOfValues<int64_t>({tokens * 2});
      tokens += length;
    }
    writeFile(stem + ".bin",
              bytesOfValues<uint16_t>(std::vector<int64_t>(static_cast<size_t>(tokens), 3)));
    writeFile(stem + ".idx",
              std::string("MMIDIDX\0\0", 9) + bytesOfValues<uint64_t>({1}) + std::string(1, 8) +
                  bytesOfValues<uint64_t>(
                      {static_cast<int64_t>(lengths.size()), static_cast<int64_t>(bounds.size())}) +
                  bytesOfValues<int32_t>(lengths) + pointers + bytesOfValues<int64_t>(bounds));
  }
  Ends endsOf(const std::string &name) {
    std::unique_ptr<TokenSource> source;
    Status status = openTokens(path(name), {.vocabulary = 100}, source);
    EXPECT_TRUE(status.ok()) << status.message();
    Ends ends;
    status = findDocuments(*source, std::nullopt, ends);
    EXPECT_TRUE(status.ok()) << status.message();
    return ends;
  }
};

TEST_F(MegatronDocuments, EndWhereTheIndexSays) {
  write("a", {3, 2, 0, 4}, {0, 2, 3, 4}); // two sequences, none, one
  EXPECT_EQ(endsOf("a.bin"), (Ends{5, 9}));
  write("b", {3, 2, 4}, {0, 1}); // the sequences behind the last bound are one document
  EXPECT_EQ(endsOf("b.bin"), (Ends{3, 9}));
  write("c", {3, 2}, {});
  EXPECT_EQ(endsOf("c.bin"), (Ends{5}));
}

TEST_F(MegatronDocuments, OfAFolderFollowEachOther) {
  write("a", {3, 2}, {0, 1, 2});
  write("b", {4}, {0, 1});
  EXPECT_EQ(endsOf(""), (Ends{3, 5, 9}));
}

TEST(Packing, TakesEachTokenOnceAndOverfillsNothing) {
  for (uint64_t length : {1u, 7u, 64u, 65u, 500u, 5000u}) {
    Ends ends = randomEnds(3000, 700);
    Packing packing = packed(ends, length);
    std::vector<uint8_t> seen(ends.back());
    std::set<uint64_t> isEnd(ends.begin(), ends.end());
    for (uint64_t sample = 0; sample < packing.samples(); ++sample) {
      uint64_t tokens = 0;
      for (const PackedPiece &piece : packing.piecesOf(sample)) {
        tokens += piece.length;
        ASSERT_GE(piece.length, 1u);
        for (uint64_t i = 0; i < piece.length; ++i) {
          ASSERT_EQ(seen[piece.begin + i]++, 0);
          // No piece reaches over the end of a document.
          if (i + 1 < piece.length)
            ASSERT_FALSE(isEnd.contains(piece.begin + i + 1));
        }
      }
      ASSERT_LE(tokens, length);
      ASSERT_GE(tokens, 1u);
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<int64_t>(ends.back()));
    EXPECT_EQ(packing.tokens(), ends.back());
  }
}

TEST(Packing, LeavesFewTokensEmpty) {
  Packing packing = packed(randomEnds(20000, 1500), 4096);
  double rooms = static_cast<double>(packing.samples() * packing.length());
  EXPECT_LT(1 - static_cast<double>(packing.tokens()) / rooms, 0.01);
}

// A piece goes where it leaves the least free: 6 + 4, 5 + 5, and not 6 + 3.
TEST(Packing, FitsBest) {
  Packing packing = packed({3, 9, 14, 18, 23}, 10, LongDocuments::Refuse, 1, false);
  std::vector<Ends> lengths;
  for (uint64_t sample = 0; sample < packing.samples(); ++sample) {
    lengths.emplace_back();
    for (const PackedPiece &piece : packing.piecesOf(sample))
      lengths.back().push_back(piece.length);
  }
  EXPECT_EQ(lengths, (std::vector<Ends>{{6, 4}, {5, 5}, {3}}));
}

TEST(Packing, FollowsFromTheSeedAlone) {
  auto pieces = [](const Packing &packing) {
    Ends all;
    for (uint64_t sample = 0; sample < packing.samples(); ++sample)
      for (const PackedPiece &piece : packing.piecesOf(sample))
        all.push_back(piece.begin);
    return all;
  };
  Ends ends = randomEnds(3 * Packing::kWindow, 50);
  EXPECT_EQ(pieces(packed(ends, 64)), pieces(packed(ends, 64)));
  EXPECT_NE(pieces(packed(ends, 64)), pieces(packed(ends, 64, LongDocuments::Split, 2)));
}

TEST(Packing, SplitsCutsOrRefusesLongDocuments) {
  EXPECT_EQ(packed({25, 28}, 10, LongDocuments::Split).tokens(), 28u);
  EXPECT_EQ(packed({25, 28}, 10, LongDocuments::Split).samples(), 3u); // 10, 10, 5 + 3
  EXPECT_EQ(packed({25, 28}, 10, LongDocuments::Cut).tokens(), 13u);
  Packing packing;
  EXPECT_EQ(Packing::make(Ends{3, 14}, 10, LongDocuments::Refuse, 1, true, "t", packing).message(),
            "packing 't': document 1 has 11 tokens, more than the 10 of a sample; --long-documents "
            "split or cut takes it, or compile the model with a longer --seq-len");
  EXPECT_EQ(Packing::make(Ends{}, 10, LongDocuments::Split, 1, true, "t", packing).message(),
            "packing 't': it has no tokens");
}

TEST(PackedSamples, KeepDocumentsApart) {
  auto packing = std::make_shared<Packing>(packed({5, 6, 8}, 10, LongDocuments::Split, 1, false));
  auto tokens = Tokens::counting(8);
  auto sample = [&](DocumentInput input) {
    return makePackedSamples(tokens, packing, input, kIgnored);
  };
  const Values wanted[] = {{0, 1, 2, 3, 4, 6, 7, 5, 0, 0},
                           {1, 2, 3, 4, kIgnored, 7, kIgnored, kIgnored, kIgnored, kIgnored},
                           {0, 0, 0, 0, 0, 1, 1, 2, 3, 4},
                           {0, 1, 2, 3, 4, 0, 1, 0, 0, 0}};
  const DocumentInput inputs[] = {DocumentInput::Tokens, DocumentInput::Targets,
                                  DocumentInput::Documents, DocumentInput::Positions};
  for (size_t i = 0; i < 4; ++i) {
    auto source = sample(inputs[i]);
    EXPECT_EQ(source->samples(), 1u);
    EXPECT_EQ(read(*source, 0, 0, 10), wanted[i]);
    // Any part of a sample, which a split sequence reads.
    for (uint64_t begin = 0; begin <= 10; ++begin)
      for (uint64_t end = begin; end <= 10; ++end)
        ASSERT_EQ(read(*source, 0, begin, end - begin),
                  Values(wanted[i].begin() + static_cast<int64_t>(begin),
                         wanted[i].begin() + static_cast<int64_t>(end)))
            << begin << " to " << end;
    Values one(1);
    EXPECT_FALSE(source->read(1, 0, std::as_writable_bytes(std::span(one))).ok());
    EXPECT_FALSE(source->read(0, 10, std::as_writable_bytes(std::span(one))).ok());
  }
}

std::vector<float> readFloats(const SampleSource &source, uint64_t index, uint64_t begin,
                              uint64_t count) {
  std::vector<float> values(count, -7);
  Status status = source.read(index, begin, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

// All documents with targets have the same weight in sum.
TEST(DocumentWeights, AddUpToOneForEachDocument) {
  auto packing = std::make_shared<Packing>(packed({5, 6, 8}, 10, LongDocuments::Split, 1, false));
  auto source = makePackedSamples(Tokens::counting(8), packing, DocumentInput::Weights, kIgnored);
  const std::vector<float> wanted = {0.25f, 0.25f, 0.25f, 0.25f, 0, 1, 0, 0, 0, 0};
  EXPECT_EQ(readFloats(*source, 0, 0, 10), wanted);
  EXPECT_EQ(readFloats(*source, 0, 3, 4), (std::vector<float>{0.25f, 0, 1, 0}));
  auto numbers = std::make_shared<Rows>(std::vector<Values>{{2, 2, 2, 5, 6, 6}});
  source = makeDocumentSamples(numbers, nullptr, DocumentInput::Weights, DocumentInput::Weights, 6,
                               kIgnored);
  EXPECT_EQ(readFloats(*source, 0, 0, 6), (std::vector<float>{0.5f, 0.5f, 0, 0, 1, 0}));
  EXPECT_EQ(readFloats(*source, 0, 1, 2), (std::vector<float>{0.5f, 0}));
}

TEST(DocumentSamples, FollowFromNumbers) {
  auto numbers =
      std::make_shared<Rows>(std::vector<Values>{{2, 2, 2, 5, 6, 6}, {1, 1, 1, 1, 1, 1}});
  auto tokens =
      std::make_shared<Rows>(std::vector<Values>{{10, 11, 12, 13, 14, 15}, {1, 2, 3, 4, 5, 6}});
  auto targets =
      std::make_shared<Rows>(std::vector<Values>{{11, 12, 13, 14, 15, 16}, {2, 3, 4, 5, 6, 7}});
  auto make = [&](DocumentInput input, std::shared_ptr<const SampleSource> given,
                  DocumentInput givenAs) {
    return makeDocumentSamples(numbers, std::move(given), input, givenAs, 6, kIgnored);
  };
  using enum DocumentInput;
  EXPECT_EQ(read(*make(Positions, nullptr, Positions), 0, 0, 6), (Values{0, 1, 2, 0, 0, 1}));
  EXPECT_EQ(read(*make(Positions, nullptr, Positions), 0, 2, 3), (Values{2, 0, 0}));
  EXPECT_EQ(read(*make(Documents, nullptr, Documents), 0, 1, 4), (Values{2, 2, 5, 6}));
  EXPECT_EQ(read(*make(Tokens, tokens, Tokens), 0, 0, 6), (Values{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(read(*make(Targets, targets, Targets), 0, 0, 6),
            (Values{11, 12, kIgnored, kIgnored, 15, 16}));
  EXPECT_EQ(read(*make(Targets, targets, Targets), 0, 1, 2), (Values{12, kIgnored}));
  // The target of a sample's last token is not known without a file of targets.
  EXPECT_EQ(read(*make(Targets, tokens, Tokens), 1, 0, 6), (Values{2, 3, 4, 5, 6, kIgnored}));
  EXPECT_EQ(read(*make(Targets, tokens, Tokens), 0, 4, 2), (Values{15, kIgnored}));
}

TEST(DocumentSamples, RefuseNumbersThatFall) {
  auto numbers = std::make_shared<Rows>(std::vector<Values>{{0, 0, 1}, {3, 4, 2}});
  auto source = makeDocumentSamples(numbers, nullptr, DocumentInput::Positions,
                                    DocumentInput::Positions, 3, kIgnored);
  EXPECT_EQ(read(*source, 0, 0, 3), (Values{0, 1, 0}));
  Values values(3);
  EXPECT_EQ(source->read(1, 0, std::as_writable_bytes(std::span(values))).message(),
            "reading 'rows.npy': token 2 of sample 1 is of document 2, behind one of 4; numbers of "
            "documents never fall");
}

} // namespace
} // namespace dtc::rt
