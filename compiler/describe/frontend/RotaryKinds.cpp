// Frequencies of rotary embedding as transformers' modeling_rope_utils.py computes them.
#include "compiler/describe/frontend/RotaryKinds.h"

#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/HfTable.h"
#include "compiler/describe/frontend/Importers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;

namespace dtc {
namespace {

constexpr llvm::StringLiteral kKinds[] = {"default",  "dynamic",      "linear", "llama3",
                                          "longrope", "proportional", "yarn"};

// One object, while it is read.
struct RotaryReader {
  HfConfig &rope;
  const std::string &kind;
  const RotarySizes &sizes;
  RotarySpec &rotary;

  // Refuses an object without a key that transformers wants. Returns true if it is there.
  bool require(const char *name) {
    if (rope.has(name) || !needsRotaryKey(kind, name))
      return true;
    rope.fail(name, "is missing, which " + kind +
                        " rotary embedding needs; transformers has no default for it");
    return false;
  }

  double number(const char *name, double fallback) {
    return require(name) ? rope.number(name, fallback) : fallback;
  }

  // Reads a number greater than 0.
  double positive(const char *name, double fallback) {
    double value = number(name, fallback);
    if (value > 0)
      return value;
    rope.refuse(name, "a number greater than 0");
    return 1;
  }

  int64_t originalPositions() {
    int64_t inside =
        rope.integer("original_max_position_embeddings", sizes.positions, 1, kMostTokens);
    return sizes.original.value_or(inside);
  }

  // Returns base^(2i/n) for the pairs of n elements.
  double period(int64_t pair, int64_t elements) const {
    return std::pow(rotary.base, 2.0 * static_cast<double>(pair) / static_cast<double>(elements));
  }

  // Slows waves by their length, as Llama 3.1 does.
  void llama3() {
    rotary.factor = positive("factor", 1);
    rotary.low = number("low_freq_factor", 1);
    rotary.high = number("high_freq_factor", 4);
    rotary.positions = originalPositions();
    if (*rotary.low <= 0)
      rope.refuse("low_freq_factor", "a number greater than 0");
    else if (*rotary.high <= *rotary.low)
      rope.refuse("high_freq_factor", "a number greater than 'low_freq_factor'");
  }

  // Turns the first pairs of a head, and leaves the others as they are.
  void proportional() {
    double part = rope.number("partial_rotary_factor", 1), factor = positive("factor", 1);
    if (part < 0 || part > 1)
      rope.refuse("partial_rotary_factor", "a number from 0 to 1");
    auto turned = static_cast<int64_t>(std::floor(part * static_cast<double>(sizes.dims) / 2));
    for (int64_t i = 0; i < sizes.dims / 2; ++i)
      rotary.frequencies.push_back(i < turned ? 1 / (period(i, sizes.dims) * factor) : 0);
  }

  // Slows long waves and keeps short ones, with a ramp between those that turn `beta_slow` and
  // `beta_fast` times in the original range. Source: Peng et al. 2023, arXiv:2309.00071.
  void yarn() {
    double factor = positive("factor", 1), dims = static_cast<double>(sizes.dims);
    auto original = static_cast<double>(originalPositions());
    auto orDefault = [&](const char *name, double fallback) { // 0 stands for the default
      double value = rope.number(name, 0);
      return value == 0 ? fallback : value;
    };
    double fast = orDefault("beta_fast", 32), slow = orDefault("beta_slow", 1);
    auto scaleOf = [&](double weight) {
      return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
    };
    double scale = rope.number("mscale", 0), scaleOfAll = rope.number("mscale_all_dim", 0);
    double usual =
        scale != 0 && scaleOfAll != 0 ? scaleOf(scale) / scaleOf(scaleOfAll) : scaleOf(1);
    rotary.magnitude = rope.number("attention_factor", usual);
    auto pairThatTurns = [&](double turns) {
      return dims * std::log(original / (turns * 2 * M_PI)) / (2 * std::log(rotary.base));
    };
    double low = pairThatTurns(fast), high = pairThatTurns(slow);
    // transformers reads this key beside the objects of types of layers, where no file has it.
    bool truncates = rope.flag("truncate", true) || sizes.isOfLayerType;
    if (truncates)
      low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0);
    high = std::min(high, dims - 1);
    if (low == high)
      high += 0.001;
    for (int64_t i = 0; i < sizes.dims / 2; ++i) {
      double slowed = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      double usualFrequency = 1 / period(i, sizes.dims);
      rotary.frequencies.push_back(usualFrequency / factor * slowed +
                                   usualFrequency * (1 - slowed));
    }
  }

  // Divides each frequency by a number of its own: one list for sequences within the original
  // range, and one for longer ones. Source: Ding et al. 2024, arXiv:2402.13753.
  void longrope() {
    auto original = static_cast<double>(originalPositions());
    std::vector<double> divisors;
    for (const char *name : {"short_factor", "long_factor"}) {
      if (!require(name))
        return;
      std::vector<double> listed = rope.numbers(name).value_or(std::vector<double>());
      if (static_cast<int64_t>(listed.size()) != sizes.dims / 2)
        rope.fail(name, "has " + std::to_string(listed.size()) + " numbers, wanted " +
                            std::to_string(sizes.dims / 2) + ", one for each pair of elements");
      else if (llvm::any_of(listed, [](double each) { return each <= 0; }))
        rope.refuse(name, "a list of numbers greater than 0");
      if ((static_cast<double>(sizes.sequence) > original) == (StringRef(name) == "long_factor"))
        divisors = listed;
    }
    double factor = positive("factor", static_cast<double>(sizes.positions) / original);
    double usual = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
    rotary.magnitude = rope.number("attention_factor", usual);
    for (auto [i, divisor] : llvm::enumerate(divisors))
      rotary.frequencies.push_back(1 / (divisor * period(static_cast<int64_t>(i), sizes.dims)));
  }
};

} // namespace

// Sequences are never longer than max_position_embeddings, and up to that length transformers
// computes `dynamic` as `default`.
void readRotaryKind(const TypedConfig &config, const Family &family, HfConfig &rope,
                    const char *key, const RotarySizes &sizes, RotarySpec &rotary) {
  std::string kind = rope.word("rope_type", rope.word("type", "default"));
  if (family.onlyLongrope && (kind == "su" || kind == "yarn"))
    kind = "longrope"; // names of it in older files
  RotaryReader reader{rope, kind, sizes, rotary};
  bool isKnown = family.onlyLongrope ? kind == "default" || kind == "longrope"
                                     : llvm::is_contained(kKinds, StringRef(kind)) &&
                                           (kind != "proportional" || *family.rotaryPart == 0);
  if (!isKnown) {
    std::string known = llvm::join(std::begin(kKinds), std::end(kKinds), ", ");
    rope.fail(rope.has("rope_type") ? "rope_type" : "type",
              "is '" + kind + "'; dtc knows " +
                  (family.onlyLongrope ? "default and longrope for " + config.type : known),
              "taking '" + std::string(key) + "' out would train another model; " +
                  kWriteItYourself);
  } else if (kind == "llama3") {
    reader.llama3();
  } else if (kind == "proportional") {
    reader.proportional();
  } else if (kind == "yarn") {
    reader.yarn();
  } else if (kind == "longrope") {
    reader.longrope();
  } else {
    double factor = reader.positive("factor", 1);
    if (kind == "linear")
      rotary.factor = factor;
    for (const char *unused : // which have no effect here
         {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
      (void)rope.number(unused, 0);
  }
  refuseUnreadKeys(rope, kind + " rotary embedding");
}

} // namespace dtc
