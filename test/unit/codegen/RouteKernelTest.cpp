// Kernels of mixtures of experts without drops: routers against the results of transformers'
// classes, their gradients against central differences, and rows against definitions.
#include "CompiledKernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace dtc::test;
using Values = std::vector<double>;

namespace {

std::string tensor(const std::vector<int64_t> &shape, const std::string &element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

// A router: the attributes behind `top`, its scores, and whether there is a bias.
struct Router {
  std::string name, attributes;
  bool hasBias;
  int64_t top;
  // For each of three tokens, pairs of an expert and its weight.
  std::vector<std::vector<std::pair<int64_t, double>>> wanted;
};

// The logits and the bias of these results: three tokens, eight experts. Where scores are equal, as
// those of experts 0, 1 and 4 of the second token, the first is chosen (transformers on a processor
// chose 4 with a softmax, whose weight is the same).
const Values kLogits = {2, 1,  .5, -1, 1.5, .25, -.5, 0,    1,   1, -2,   .5,
                        1, .5, -1, 3,  -.5, 2.5, -3,  2.25, .75, 2, 1.75, -1.5};
const Values kBias = {0, -.25, .125, 0, .3125, 0, 0, -.25};

const std::vector<Router> &routers() {
  static const std::vector<Router> all = {
      {"mixtral",
       "normalised",
       false,
       2,
       {{{0, .622459}, {4, .377541}}, {{7, .880797}, {0, .119203}}, {{1, .562177}, {3, .437824}}}},
      {"qwen2_moe",
       "",
       false,
       2,
       {{{0, .379000}, {4, .229875}}, {{7, .626869}, {0, .084838}}, {{1, .322200}, {3, .250930}}}},
      {"deepseek_v2 greedy",
       "scale 16.0",
       false,
       2,
       {{{0, 6.064003}, {4, 3.678004}},
        {{7, 10.029905}, {0, 1.357400}},
        {{1, 5.155202}, {3, 4.014875}}}},
      {"deepseek_v2 groups",
       "scale 16.0 groups 4",
       false,
       2,
       {{{0, 6.064003}, {1, 2.230822}},
        {{7, 10.029905}, {6, .183704}},
        {{1, 5.155202}, {0, .256662}}}},
      {"deepseek_v3",
       "score \"sigmoid\" normalised epsilon 1.0e-20 scale 2.5",
       false,
       2,
       {{{0, 1.296532}, {4, 1.203468}},
        {{7, 1.414462}, {0, 1.085538}},
        {{1, 1.263323}, {3, 1.236677}}}},
      {"deepseek_v3 bias",
       "score \"sigmoid\" normalised epsilon 1.0e-20 scale 2.5",
       true,
       2,
       {{{4, 1.203468}, {0, 1.296532}}, {{4, 1.25}, {0, 1.25}}, {{4, 1.072052}, {3, 1.427948}}}},
      {"deepseek_v3 groups",
       "score \"sigmoid\" normalised epsilon 1.0e-20 scale 2.5 groups 4 members 2",
       false,
       2,
       {{{0, 1.366123}, {1, 1.133877}}, {{0, 1.25}, {1, 1.25}}, {{5, 1.411556}, {4, 1.088444}}}},
      {"deepseek_v3 groups and bias",
       "score \"sigmoid\" normalised epsilon 1.0e-20 scale 2.5 groups 4 members 2",
       true,
       2,
       {{{4, 1.481380}, {5, 1.018620}},
        {{4, 1.350293}, {5, 1.149706}},
        {{4, 1.088444}, {5, 1.411556}}}},
      {"deepseek_v3 two groups",
       "score \"sigmoid\" normalised epsilon 1.0e-20 scale 2.5 groups 4 kept 2 members 2",
       false,
       2,
       {{{0, 1.296532}, {4, 1.203468}}, {{0, 1.25}, {1, 1.25}}, {{1, 1.280018}, {5, 1.219982}}}},
      {"glm4_moe",
       "score \"sigmoid\" normalised epsilon 1.0e-20",
       true,
       2,
       {{{4, .481387}, {0, .518613}}, {{4, .5}, {0, .5}}, {{4, .428821}, {3, .571179}}}},
      {"glm4_moe plain",
       "score \"sigmoid\"",
       true,
       2,
       {{{4, .817574}, {0, .880797}}, {{4, .731059}, {0, .731059}}, {{4, .679179}, {3, .904651}}}},
      {"deepseek_v4",
       "score \"sqrtsoftplus\" normalised epsilon 1.0e-20 scale 1.5",
       true,
       2,
       {{{0, .791810}, {4, .708190}}, {{7, .905613}, {4, .594387}}, {{3, .768713}, {5, .731287}}}},
  };
  return all;
}

// Runs a router and returns experts and weights of each token, by rising expert.
std::vector<std::vector<std::pair<int64_t, double>>>
routed(const Router &router, const Values &logits, int64_t experts, const Values &bias) {
  int64_t tokens = static_cast<int64_t>(logits.size()) / experts;
  std::string l = tensor({1, tokens, experts}), b = tensor({experts}),
              w = tensor({1, tokens, router.top}), e = tensor({1, tokens, router.top}, "i32");
  CompiledKernel kernel("(%l: " + l + (router.hasBias ? ", %b: " + b : "") + ") -> (" + w + ", " +
                            e + ")",
                        "%0:2 = graph.route %l " + std::string(router.hasBias ? "bias %b " : "") +
                            "top " + std::to_string(router.top) + " " + router.attributes + " : (" +
                            l + (router.hasBias ? ", " + b : "") + ") -> (" + w + ", " + e + ")",
                        "%0#0, %0#1");
  std::vector<Values> operands = {logits};
  if (router.hasBias)
    operands.push_back(bias);
  std::vector<Values> results = kernel.run(operands);
  std::vector<std::vector<std::pair<int64_t, double>>> chosen(static_cast<size_t>(tokens));
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t k = 0; k < router.top; ++k)
      chosen[token].push_back({static_cast<int64_t>(results[1][token * router.top + k]),
                               results[0][token * router.top + k]});
  return chosen;
}

TEST(RouteKernel, GivesWhatTransformersDoes) {
  for (const Router &router : routers()) {
    auto found = routed(router, kLogits, 8, kBias);
    for (size_t token = 0; token < 3; ++token) {
      auto wanted = router.wanted[token], own = found[token];
      std::sort(wanted.begin(), wanted.end());
      std::sort(own.begin(), own.end());
      for (size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(own[k].first, wanted[k].first) << router.name << " token " << token;
        EXPECT_NEAR(own[k].second, wanted[k].second, 1.5e-6) << router.name << " token " << token;
      }
    }
  }
}

TEST(RouteKernel, TakesTheFirstOfEqualsAndNanBeforeAll) {
  Values logits(2 * 8, 1.0);
  logits[8 + 5] = std::numeric_limits<double>::quiet_NaN();
  auto found = routed({"", "normalised", false, 3, {}}, logits, 8, {});
  for (int64_t k = 0; k < 3; ++k)
    EXPECT_EQ(found[0][k].first, k);
  EXPECT_EQ(found[1][0].first, 5);
  EXPECT_EQ(found[1][1].first, 0);
}

TEST(RouteKernel, RoutesManyTokensAsTheFirstOnes) {
  Values logits;
  for (int i = 0; i < 400; ++i)
    logits.insert(logits.end(), kLogits.begin(), kLogits.end());
  for (size_t at : {size_t(0), size_t(7)}) {
    auto few = routed(routers()[at], kLogits, 8, kBias);
    auto many = routed(routers()[at], logits, 8, kBias);
    for (size_t token = 0; token < many.size(); ++token)
      EXPECT_EQ(many[token], few[token % 3]) << token;
  }
}

double scoreOf(const std::string &attributes, const Values &logits, int64_t e) {
  if (attributes.find("sigmoid") != std::string::npos)
    return 1 / (1 + std::exp(-logits[e]));
  if (attributes.find("softplus") != std::string::npos)
    return std::sqrt(std::log1p(std::exp(logits[e])));
  double sum = 0;
  for (double logit : logits)
    sum += std::exp(logit);
  return std::exp(logits[e]) / sum;
}

TEST(RouteGradKernel, IsTheSlopeOfTheWeights) {
  for (const char *attributes :
       {"normalised scale 3.0", "scale 3.0",
        "score \"sigmoid\" normalised epsilon 1.0e-20 scale 2.5", "score \"sigmoid\"",
        "score \"sqrtsoftplus\" normalised epsilon 0.25", R"(score "sqrtsoftplus")"}) {
    constexpr int64_t tokens = 37, experts = 5, top = 2;
    std::string text = attributes;
    Values logits = randomValues(tokens * experts, 3), dweights = randomValues(tokens * top, 4);
    Values chosen;
    for (int64_t token = 0; token < tokens; ++token) {
      chosen.push_back(static_cast<double>(token % experts));
      chosen.push_back(static_cast<double>((token + 3) % experts));
    }
    std::string l = tensor({1, tokens, experts}), e = tensor({1, tokens, top}, "i32"),
                w = tensor({1, tokens, top});
    CompiledKernel kernel("(%l: " + l + ", %e: " + e + ", %w: " + w + ") -> " + l,
                          "%0 = graph.route_grad %l, %e, %w " + text + " : (" + l + ", " + e +
                              ", " + w + ") -> " + l,
                          "%0");
    Values found = kernel.run({logits, chosen, dweights})[0], wanted(found.size());
    double scale =
        text.find("3.0") != std::string::npos                                              ? 3
        : text.find("2.5") != std::string::npos && text.find("scale") != std::string::npos ? 2.5
                                                                                           : 1;
    double epsilon = text.find("0.25") != std::string::npos ? 0.25 : 0;
    bool isNormalised = text.find("normalised") != std::string::npos;
    for (int64_t token = 0; token < tokens; ++token) {
      Values row(logits.begin() + token * experts, logits.begin() + (token + 1) * experts);
      for (double &logit : row)
        logit = static_cast<float>(logit);
      auto objective = [&] {
        double sum = epsilon, result = 0;
        for (int64_t k = 0; k < top; ++k)
          sum += scoreOf(text, row, static_cast<int64_t>(chosen[token * top + k]));
        for (int64_t k = 0; k < top; ++k)
          result += static_cast<float>(dweights[token * top + k]) * scale *
                    scoreOf(text, row, static_cast<int64_t>(chosen[token * top + k])) /
                    (isNormalised ? sum : 1);
        return result;
      };
      for (int64_t i = 0; i < experts; ++i) {
        double kept = row[i];
        row[i] = kept + 1e-6;
        double after = objective();
        row[i] = kept - 1e-6;
        wanted[token * experts + i] = (after - objective()) / 2e-6;
        row[i] = kept;
      }
    }
    expectNear(found, wanted, 1e-5, 2e-6);
  }
}

// Choices of `tokens` tokens of each sample: of all experts, or all of one.
Values someChoices(int64_t samples, int64_t tokens, int64_t top, int64_t experts, bool ofOne) {
  Values choices;
  for (int64_t i = 0; i < samples * tokens; ++i)
    for (int64_t k = 0; k < top; ++k)
      choices.push_back(ofOne ? static_cast<double>((k + 1) % experts)
                              : static_cast<double>((i * 7 + i / 3 + k) % experts));
  return choices;
}

// Returns places and counts by their definition.
std::pair<Values, Values> rowIndicesOf(const Values &choices, int64_t samples, int64_t experts) {
  std::vector<size_t> order(choices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(choices[a], a) < std::pair(choices[b], b);
  });
  Values rowOf(choices.size()), counts(static_cast<size_t>(samples * experts));
  for (size_t row = 0; row < order.size(); ++row)
    rowOf[order[row]] = static_cast<double>(row);
  size_t ofSample = choices.size() / static_cast<size_t>(samples);
  for (size_t i = 0; i < choices.size(); ++i)
    counts[i / ofSample * static_cast<size_t>(experts) + static_cast<size_t>(choices[i])] += 1;
  return {rowOf, counts};
}

struct Case {
  int64_t samples, tokens, top, experts, columns;
  bool ofOne = false;
  int64_t choices() const { return samples * tokens * top; }
  int64_t mean() const { return (tokens * top + experts - 1) / experts; }
  int64_t rows() const { return experts * samples * mean(); }
};
const Case kCases[] = {{1, 1, 1, 1, 1},   {2, 5, 2, 3, 16},       {3, 31, 2, 8, 33},
                       {1, 33, 3, 5, 31}, {2, 16, 2, 4, 5, true}, {1, 500, 2, 8, 40}};

TEST(PlaceRowsKernel, OrdersChoicesByExpert) {
  for (const Case &c : kCases) {
    Values choices = someChoices(c.samples, c.tokens, c.top, c.experts, c.ofOne);
    std::string e = tensor({c.samples, c.tokens, c.top}, "i32"),
                n = tensor({c.samples, c.experts}, "i32");
    CompiledKernel kernel("(%e: " + e + ") -> (" + e + ", " + n + ")",
                          "%0:2 = graph.place_rows %e : (" + e + ") -> (" + e + ", " + n + ")",
                          "%0#0, %0#1");
    auto [rowOf, counts] = rowIndicesOf(choices, c.samples, c.experts);
    std::vector<Values> found = kernel.run({choices});
    EXPECT_EQ(found[0], rowOf);
    EXPECT_EQ(found[1], counts);
  }
}

TEST(PackRowsKernel, CopiesTokensAndClearsTheRest) {
  for (const Case &c : kCases)
    for (bool isWeighted : {false, true}) {
      auto [rowOf, counts] = rowIndicesOf(
          someChoices(c.samples, c.tokens, c.top, c.experts, c.ofOne), c.samples, c.experts);
      Values x = randomValues(c.samples * c.tokens * c.columns, 5),
             weights = randomValues(c.choices(), 6);
      std::string t = tensor({c.samples, c.tokens, c.columns}),
                  p = tensor({c.samples, c.tokens, c.top}, "i32"),
                  w = tensor({c.samples, c.tokens, c.top}),
                  r = tensor({c.experts, c.samples, c.mean(), c.columns});
      std::string more = isWeighted ? ", " + w : "";
      CompiledKernel pack(
          "(%x: " + t + ", %p: " + p + (isWeighted ? ", %w: " + w : "") + ") -> " + r,
          "%0 = graph.pack_rows %x at %p " + std::string(isWeighted ? "weighted %w " : "") + ": (" +
              t + ", " + p + more + ") -> " + r,
          "%0");
      std::vector<Values> operands = {x, rowOf};
      if (isWeighted)
        operands.push_back(weights);
      Values wanted(static_cast<size_t>(c.rows() * c.columns)), back(x.size());
      for (int64_t choice = 0; choice < c.choices(); ++choice)
        for (int64_t h = 0; h < c.columns; ++h)
          wanted[static_cast<int64_t>(rowOf[choice]) * c.columns + h] =
              x[choice / c.top * c.columns + h] * (isWeighted ? weights[choice] : 1);
      Values rows = pack.run(operands)[0];
      expectNear(rows, wanted, 1e-6);

      CompiledKernel unpack(
          "(%r: " + r + ", %p: " + p + (isWeighted ? ", %w: " + w : "") + ") -> " + t,
          "%0 = graph.unpack_rows %r at %p " + std::string(isWeighted ? "weighted %w " : "") +
              ": (" + r + ", " + p + more + ") -> " + t,
          "%0");
      operands[0] = rows;
      for (int64_t choice = 0; choice < c.choices(); ++choice)
        for (int64_t h = 0; h < c.columns; ++h)
          back[choice / c.top * c.columns + h] +=
              rows[static_cast<int64_t>(rowOf[choice]) * c.columns + h] *
              (isWeighted ? weights[choice] : 1);
      expectNear(unpack.run(operands)[0], back, 1e-5, 1e-5);

      CompiledKernel grad("(%r: " + r + ", %p: " + p + ", %x: " + t + ") -> " + w,
                          "%0 = graph.unpack_weight_grad %r at %p, %x : (" + r + ", " + p + ", " +
                              t + ") -> " + w,
                          "%0");
      Values dots(static_cast<size_t>(c.choices()));
      for (int64_t choice = 0; choice < c.choices(); ++choice)
        for (int64_t h = 0; h < c.columns; ++h)
          dots[choice] += rows[static_cast<int64_t>(rowOf[choice]) * c.columns + h] *
                          x[choice / c.top * c.columns + h];
      expectNear(grad.run({rows, rowOf, x})[0], dots, 1e-5, 1e-4);
    }
}

} // namespace
