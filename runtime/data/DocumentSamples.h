// Samples of several documents: the tokens of each, what follows them there, the documents' numbers
// and the places of tokens in them.
#pragma once

#include "runtime/data/Packing.h"
#include "runtime/data/SampleSource.h"
#include "runtime/data/TokenSource.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// The inputs of models of documents, all of one length. Weights are f32, the others i32.
enum class DocumentInput { Tokens, Targets, Documents, Positions, Weights };

// Returns the input of a name; nullopt for one that has nothing to do with tokens.
std::optional<DocumentInput> documentInput(const std::string &name);

// Finds where documents of `tokens` end: behind each token `end`, or where there is none as the
// files say (Megatron-LM's index). Tokens behind the last end are one document more. Errors:
// InvalidArgument where there is neither, or no such token.
Status findDocuments(const TokenSource &tokens, std::optional<int32_t> end,
                     std::vector<uint64_t> &ends);

// Makes the samples of a packing for one input. Numbers of documents ascend from 0, positions begin
// anew in each, and the target of its last token is `ignored`. The weight of a token is 1 / n if
// its document has n targets, and 0 if it has none itself. A sample's empty tokens at its end are
// 0, each a document of its own with an ignored target.
std::unique_ptr<SampleSource> makePackedSamples(std::shared_ptr<const TokenSource> tokens,
                                                std::shared_ptr<const Packing> packing,
                                                DocumentInput input, int32_t ignored);

// Makes samples of files that are packed already. `given` are the samples of `input`, or of
// `Tokens` for targets that have no file; null for positions that have none. `documents` are the
// numbers of its tokens' documents. Numbers that fall within a sample are DataLoss with the place.
// Targets whose token is the last one of its document in the sample are ignored, but for that of
// the sample's last token, which stays if it is given.
std::unique_ptr<SampleSource> makeDocumentSamples(std::shared_ptr<const SampleSource> documents,
                                                  std::shared_ptr<const SampleSource> given,
                                                  DocumentInput input, DocumentInput givenAs,
                                                  uint64_t length, int32_t ignored);

// Makes numbers of documents for samples that are one document each, named after the tokens.
std::unique_ptr<SampleSource> makeOneDocumentEach(const std::string &name, uint64_t samples);

} // namespace dtc::rt
