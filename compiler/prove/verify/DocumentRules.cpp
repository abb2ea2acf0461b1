#include "compiler/prove/verify/DocumentRules.h"

#include "runtime/format/Operands.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtc {
namespace {

// The names by which dtrun makes inputs of documents.
constexpr const char *kDocuments = "documents", *kTargets = "targets";
constexpr std::array<const char *, 5> kOfTokens{"tokens", kTargets, kDocuments, "positions",
                                                "weights"};

bool isOfTokens(const format::Input &input) {
  return std::any_of(kOfTokens.begin(), kOfTokens.end(),
                     [&](const char *name) { return input.name()->str() == name; });
}

// The axes that cut each dim of an input, from the outside, and whether by zigzag.
using Cut = std::map<uint32_t, std::vector<std::pair<uint32_t, bool>>>;

Cut cutOf(const format::Input &input) {
  Cut cut;
  for (uint32_t i = 0; i < format::sizeOf(input.shards()); ++i) {
    const format::ShardedDim &shard = *input.shards()->Get(i);
    cut[shard.dim()].emplace_back(shard.axis(), shard.zigzag());
  }
  return cut;
}

bool hasZigzag(const Cut &cut) {
  for (const auto &[dim, axes] : cut)
    for (auto [axis, isZigzag] : axes)
      if (isZigzag)
        return true;
  return false;
}

// Returns the input of that name in any program; null if there is none.
const format::Input *findInput(const format::Manifest &manifest, const std::string &name) {
  for (const format::Program *program : *manifest.programs())
    for (const format::Input *input : *program->inputs())
      if (input->name()->str() == name)
        return input;
  return nullptr;
}

std::string wrongWith(const format::Input &input, const format::Input &documents) {
  std::string name = "input '" + input.name()->str() + "' ";
  Cut cut = cutOf(input);
  if (cut != cutOf(documents))
    return name + "is cut over ranks otherwise than input 'documents': a rank would have those of "
                  "other tokens";
  if (hasZigzag(cut))
    return name + "is cut by the zigzag of the whole sample, which holds several documents: each "
                  "of them has to be cut by itself";
  if (input.name()->str() == kTargets && !input.ignored())
    return name + "has no index that the loss leaves out: the last token of a document would have "
                  "the first one of the next as its target";
  return "";
}

} // namespace

std::optional<Fault> findDocumentFault(const format::Manifest &manifest) {
  const format::Input *documents = findInput(manifest, kDocuments);
  if (!documents)
    return std::nullopt;
  for (uint32_t p = 0; p < manifest.programs()->size(); ++p)
    for (const format::Input *input : *manifest.programs()->Get(p)->inputs()) {
      std::string message = isOfTokens(*input) ? wrongWith(*input, *documents) : "";
      if (message.empty())
        continue;
      Fault fault;
      fault.check = "values";
      fault.program = p;
      const auto &ranks = *manifest.rank_program();
      while (fault.rank + 1 < ranks.size() && ranks.Get(fault.rank) != p)
        ++fault.rank;
      fault.message = message;
      return fault;
    }
  return std::nullopt;
}

} // namespace dtc
