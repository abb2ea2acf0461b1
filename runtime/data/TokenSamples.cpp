// Windows of a token source as samples.
#include "runtime/data/TokenSamples.h"

#include "runtime/data/SampleSource.h"

#include "runtime/base/Text.h"

namespace dtc::rt {
using format::text;

namespace {

class TokenSamples final : public SampleSource {
public:
  TokenSamples(std::shared_ptr<const TokenSource> tokens, uint64_t length, uint64_t shift)
      : tokens(std::move(tokens)), length(length), shift(shift) {}

  const std::string &name() const override { return tokens->name(); }
  uint64_t samples() const override { return (tokens->size() - 1) / length; }

  Status read(uint64_t index, uint64_t begin, std::span<std::byte> out) const override {
    uint64_t count = out.size() / kSampleElementBytes;
    if (index >= samples() || begin > length || count > length - begin)
      return Status::invalidArgument(text("reading '", name(), "': wanted ", count,
                                          " tokens from token ", begin, " of sample ", index,
                                          ", there are ", samples(), " samples of ", length));
    return tokens->read(index * length + shift + begin,
                        {reinterpret_cast<int32_t *>(out.data()), count});
  }

private:
  std::shared_ptr<const TokenSource> tokens;
  uint64_t length, shift;
};

} // namespace

Status makeTokenSamples(std::shared_ptr<const TokenSource> tokens, uint64_t length, uint64_t shift,
                        std::unique_ptr<SampleSource> &source) {
  uint64_t count = tokens->size();
  if (length == 0)
    return Status::invalidArgument(
        text("sampling '", tokens->name(), "': the sequence length is 0; wanted 1 or more"));
  if (count == 0 || (count - 1) / length == 0)
    return Status::invalidArgument(text("sampling '", tokens->name(), "': it has ", count,
                                        count == 1 ? " token" : " tokens",
                                        "; one sample of length ", length, " needs ", length + 1));
  source = std::make_unique<TokenSamples>(std::move(tokens), length, shift);
  return {};
}

} // namespace dtc::rt
