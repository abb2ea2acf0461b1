// Random tokens for runs that only measure: token i is Philox word 0 of counter i under the seed.
#include "runtime/data/Synthetic.h"

#include "kernels/cpu/Philox.h"
#include "runtime/data/TokenArray.h"

namespace dtc::rt {

namespace {
// Far more than any run reads, and positions in it still fit 63 bits with room to add.
constexpr uint64_t kTokens = uint64_t(1) << 40;
// Sets this stream apart from the parameters', whose keys are small.
constexpr uint32_t kStream = 0x64617461; // "data"

class Synthetic final : public TokenSource {
public:
  explicit Synthetic(const TokenSourceOptions &options)
      : TokenSource({"synthetic", {}, {}}), options(options) {}
  const std::string &name() const override { return label; }
  uint64_t size() const override { return kTokens; }

  Status read(uint64_t begin, std::span<int32_t> out) const override {
    DTC_RETURN_IF_ERROR(checkRange(begin, out.size(), kTokens, label));
    for (size_t i = 0; i < out.size(); ++i) {
      uint64_t at = begin + i;
      uint64_t word = cpu::philox4x32(
          {static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), kStream, kStream},
          options.seed)[0];
      // The high half of word * vocabulary: below the vocabulary without a division.
      out[i] = static_cast<int32_t>((word * options.vocabulary) >> 32);
    }
    return Status::okStatus();
  }

private:
  TokenSourceOptions options;
  std::string label = "synthetic";
};
} // namespace

std::unique_ptr<TokenSource> makeSyntheticTokens(const TokenSourceOptions &options) {
  return std::make_unique<Synthetic>(options);
}

} // namespace dtc::rt
