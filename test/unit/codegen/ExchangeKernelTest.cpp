// Kernels of rows of experts that are on several ranks: what ranks send each other in blocks, and
// order by expert, is what one device has of the same samples.
#include "CompiledKernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace dtc::test;
using Values = std::vector<double>;

namespace {

std::string tensor(const std::vector<int64_t> &shape, const std::string &element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

struct Case {
  int64_t ranks, samples, tokens, top, experts, columns; // samples of each rank
  bool ofOne = false;                                    // all tokens want the same experts

  int64_t ofBlock() const { return tokens * top; }
  int64_t mean() const { return (tokens * top + experts - 1) / experts; }
  // Choices of the samples of a rank.
  Values choicesOf(int64_t rank) const {
    Values choices;
    for (int64_t i = rank * samples * tokens; i < (rank + 1) * samples * tokens; ++i)
      for (int64_t k = 0; k < top; ++k)
        choices.push_back(static_cast<double>(ofOne ? (experts - 1 + k) % experts
                                                    : (i * 7 + i / 3 + k) % experts));
    return choices;
  }
};
const Case kCases[] = {{2, 1, 3, 1, 2, 1},
                       {2, 2, 5, 2, 4, 16},
                       {4, 3, 9, 2, 8, 33},
                       {3, 2, 7, 3, 6, 5, true},
                       {4, 1, 8, 1, 4, 8, true}};

struct Placed {
  Values rowOf, counts;
};

Placed place(const Case &c, int64_t rank, int64_t ranks) {
  std::string e = tensor({c.samples, c.tokens, c.top}, "i32"),
              n = tensor({c.samples, c.experts}, "i32");
  CompiledKernel kernel("(%e: " + e + ") -> (" + e + ", " + n + ")",
                        "%0:2 = graph.place_rows %e ranks " + std::to_string(ranks) + " : (" + e +
                            ") -> (" + e + ", " + n + ")",
                        "%0#0, %0#1");
  std::vector<Values> found = kernel.run({c.choicesOf(rank)});
  return {found[0], found[1]};
}

// The rows that a choice has in the blocks of its rank: by rank of its expert, by sample, by expert
// and by its own number.
TEST(PlaceRowsKernel, PutsChoicesIntoBlocks) {
  for (const Case &c : kCases) {
    Values choices = c.choicesOf(0), wanted(choices.size());
    std::map<int64_t, std::vector<std::pair<double, size_t>>> blocks;
    for (size_t i = 0; i < choices.size(); ++i) {
      int64_t rank = static_cast<int64_t>(choices[i]) / (c.experts / c.ranks);
      int64_t sample = static_cast<int64_t>(i) / c.ofBlock();
      blocks[rank * c.samples + sample].emplace_back(choices[i], i);
    }
    for (auto &[block, rows] : blocks) {
      std::sort(rows.begin(), rows.end());
      for (size_t j = 0; j < rows.size(); ++j)
        wanted[rows[j].second] = static_cast<double>(block * c.ofBlock() + static_cast<int64_t>(j));
    }
    EXPECT_EQ(place(c, 0, c.ranks).rowOf, wanted);
  }
}

// Tokens are numbered, so that each row tells where it is from.
Values tokensOf(const Case &c, int64_t rank) {
  Values x;
  for (int64_t i = 0; i < c.samples * c.tokens; ++i)
    for (int64_t h = 0; h < c.columns; ++h)
      x.push_back(static_cast<double>(1 + (rank * c.samples * c.tokens + i) * c.columns + h));
  return x;
}

// The rows that a rank receives: its block of each sample, and the numbers of its experts. Rows
// that no choice has are NaN, which nothing may read.
struct Received {
  Values blocks, counts;
};

Received receive(const Case &c, int64_t rank) {
  Received result;
  int64_t ofRank = c.experts / c.ranks;
  for (int64_t from = 0; from < c.ranks; ++from) {
    Placed placed = place(c, from, c.ranks);
    Values x = tokensOf(c, from);
    size_t begin = result.blocks.size();
    result.blocks.resize(begin + static_cast<size_t>(c.samples * c.ofBlock() * c.columns),
                         std::numeric_limits<double>::quiet_NaN());
    int64_t first = rank * c.samples * c.ofBlock();
    for (size_t i = 0; i < placed.rowOf.size(); ++i) {
      int64_t row = static_cast<int64_t>(placed.rowOf[i]) - first;
      for (int64_t h = 0; h < c.columns && row >= 0 && row < c.samples * c.ofBlock(); ++h)
        result.blocks[begin + static_cast<size_t>(row * c.columns + h)] =
            x[static_cast<int64_t>(i) / c.top * c.columns + h];
    }
    for (int64_t b = 0; b < c.samples; ++b)
      for (int64_t e = rank * ofRank; e < (rank + 1) * ofRank; ++e)
        result.counts.push_back(placed.counts[b * c.experts + e]);
  }
  return result;
}

// Returns the tokens of all choices of a rank's experts, by expert, as one device orders them.
Values rowsOf(const Case &c, int64_t rank) {
  int64_t ofRank = c.experts / c.ranks;
  std::vector<std::pair<double, int64_t>> order; // expert, number of the choice
  for (int64_t from = 0; from < c.ranks; ++from) {
    Values choices = c.choicesOf(from);
    for (size_t i = 0; i < choices.size(); ++i)
      if (static_cast<int64_t>(choices[i]) / ofRank == rank)
        order.emplace_back(choices[i], from * c.samples * c.ofBlock() + static_cast<int64_t>(i));
  }
  std::sort(order.begin(), order.end());
  Values rows;
  for (auto [expert, choice] : order) {
    int64_t token = choice / c.top;
    for (int64_t h = 0; h < c.columns; ++h)
      rows.push_back(static_cast<double>(1 + token * c.columns + h));
  }
  return rows;
}

TEST(ExchangeKernels, OrderWhatArrivesAsOneDeviceDoes) {
  for (const Case &c : kCases)
    for (int64_t rank = 0; rank < c.ranks; ++rank) {
      int64_t samples = c.ranks * c.samples, ofRank = c.experts / c.ranks;
      std::string n = tensor({samples, ofRank}, "i32"),
                  p = tensor({1, samples, c.ofBlock()}, "i32");
      std::string b = tensor({1, samples, c.ofBlock(), c.columns}),
                  r = tensor({ofRank, samples, c.ranks * c.mean(), c.columns});
      Received received = receive(c, rank);
      CompiledKernel order("(%n: " + n + ") -> " + p,
                           "%0 = graph.place_blocks %n : (" + n + ") -> " + p, "%0");
      Values rowOf = order.run({received.counts})[0];

      CompiledKernel sort("(%b: " + b + ", %p: " + p + ") -> " + r,
                          "%0 = graph.sort_rows %b at %p : (" + b + ", " + p + ") -> " + r, "%0");
      Values wanted = rowsOf(c, rank), rows = sort.run({received.blocks, rowOf})[0];
      wanted.resize(rows.size(), 0);
      EXPECT_EQ(rows, wanted);

      // And back, where what no choice has is zero.
      CompiledKernel unsort("(%r: " + r + ", %p: " + p + ") -> " + b,
                            "%0 = graph.unsort_rows %r at %p : (" + r + ", " + p + ") -> " + b,
                            "%0");
      Values blocks = received.blocks;
      std::replace_if(
          blocks.begin(), blocks.end(), [](double x) { return std::isnan(x); }, 0);
      EXPECT_EQ(unsort.run({rows, rowOf})[0], blocks);
    }
}

TEST(PackRowsKernel, WritesTheRowsOfBlocks) {
  for (const Case &c : kCases) {
    Placed placed = place(c, 0, c.ranks);
    std::string t = tensor({c.samples, c.tokens, c.columns}),
                p = tensor({c.samples, c.tokens, c.top}, "i32"),
                b = tensor({c.ranks, c.samples, c.ofBlock(), c.columns});
    CompiledKernel pack("(%x: " + t + ", %p: " + p + ") -> " + b,
                        "%0 = graph.pack_rows %x at %p blocks : (" + t + ", " + p + ") -> " + b,
                        "%0");
    CompiledKernel unpack("(%b: " + b + ", %p: " + p + ") -> " + t,
                          "%0 = graph.unpack_rows %b at %p blocks : (" + b + ", " + p + ") -> " + t,
                          "%0");
    pack.allowGaps(); // rows that no choice has
    Values x = tokensOf(c, 0), blocks = pack.run({x, placed.rowOf})[0], sums = x;
    for (size_t i = 0; i < placed.rowOf.size(); ++i)
      for (int64_t h = 0; h < c.columns; ++h)
        EXPECT_EQ(blocks[static_cast<int64_t>(placed.rowOf[i]) * c.columns + h],
                  x[static_cast<int64_t>(i) / c.top * c.columns + h]);
    for (double &sum : sums)
      sum *= static_cast<double>(c.top);
    EXPECT_EQ(unpack.run({blocks, placed.rowOf})[0], sums);
  }
}

// Each choice is in one round, in the order of its block, and what rounds add up to is what one
// exchange with room for all brings.
TEST(RoundKernels, TakeTheRowsOfBlocksInTurn) {
  for (const Case &c : kCases) {
    int64_t room = (c.ofBlock() + c.ranks - 1) / c.ranks;
    Placed placed = place(c, 0, c.ranks);
    Values choices = c.choicesOf(0), x = tokensOf(c, 0), sums(x.size(), 0);
    std::string t = tensor({c.samples, c.tokens, c.columns}),
                p = tensor({c.samples, c.tokens, c.top}, "i32"),
                w = tensor({c.samples, c.tokens, c.top}), n = tensor({c.samples, c.experts}, "i32"),
                b = tensor({c.ranks, c.samples, room, c.columns});
    for (int64_t round = 0; round * room < c.ofBlock(); ++round) {
      std::string turn = " round " + std::to_string(round) + " room " + std::to_string(room);
      CompiledKernel rows("(%p: " + p + ") -> " + p, "%0 = graph.round_rows %p" + turn + " : " + p,
                          "%0");
      CompiledKernel counts("(%n: " + n + ") -> " + n,
                            "%0 = graph.round_counts %n experts " +
                                std::to_string(c.experts / c.ranks) + turn + " : " + n,
                            "%0");
      Values now(choices.size(), -1), ofExperts(placed.counts.size(), 0), ofWeights(now.size(), 0);
      for (size_t i = 0; i < now.size(); ++i) {
        auto row = static_cast<int64_t>(placed.rowOf[i]), at = row % c.ofBlock() - round * room;
        if (at < 0 || at >= room)
          continue;
        now[i] = static_cast<double>(row / c.ofBlock() * room + at);
        auto sample = static_cast<int64_t>(i) / c.ofBlock();
        ++ofExperts[sample * c.experts + static_cast<int64_t>(choices[i])];
        for (int64_t h = 0; h < c.columns; ++h)
          ofWeights[i] += std::pow(x[static_cast<int64_t>(i) / c.top * c.columns + h], 2);
      }
      EXPECT_EQ(rows.run({placed.rowOf})[0], now);
      EXPECT_EQ(counts.run({placed.counts})[0], ofExperts);

      CompiledKernel pack("(%x: " + t + ", %p: " + p + ") -> " + b,
                          "%0 = graph.pack_rows %x at %p blocks : (" + t + ", " + p + ") -> " + b,
                          "%0");
      pack.allowGaps();
      Values blocks = pack.run({x, now})[0];
      for (size_t i = 0; i < now.size(); ++i)
        for (int64_t h = 0; h < c.columns && now[i] >= 0; ++h)
          EXPECT_EQ(blocks[static_cast<int64_t>(now[i]) * c.columns + h],
                    x[static_cast<int64_t>(i) / c.top * c.columns + h]);
      // Nothing reads what no choice has.
      for (size_t row = 0; row < blocks.size() / static_cast<size_t>(c.columns); ++row)
        if (std::find(now.begin(), now.end(), static_cast<double>(row)) == now.end())
          std::fill_n(blocks.begin() + static_cast<int64_t>(row) * c.columns, c.columns,
                      std::numeric_limits<double>::quiet_NaN());
      CompiledKernel unpack(
          "(%b: " + b + ", %p: " + p + ") -> " + t,
          "%0 = graph.unpack_rows %b at %p blocks : (" + b + ", " + p + ") -> " + t, "%0");
      Values added = unpack.run({blocks, now})[0];
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += added[i];
      CompiledKernel grad("(%b: " + b + ", %p: " + p + ", %x: " + t + ") -> " + w,
                          "%0 = graph.unpack_weight_grad %b at %p, %x : (" + b + ", " + p + ", " +
                              t + ") -> " + w,
                          "%0");
      Values found = grad.run({blocks, now, x})[0];
      for (size_t i = 0; i < now.size(); ++i)
        EXPECT_NEAR(found[i], ofWeights[i], 1e-6 * ofWeights[i]);
    }
    for (double &token : x)
      token *= static_cast<double>(c.top);
    EXPECT_EQ(sums, x);
  }
}

} // namespace
