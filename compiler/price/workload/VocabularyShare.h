// Embedding and output layer where the stages of a pipeline share them out by words.
#pragma once

#include "compiler/price/workload/Cells.h"

namespace dtc {

// The cells of a model whose vocabulary is divided over pipeline stages.
struct VocabularyCells {
  BlockCell embedding, head; // work that stays on the first and on the last chunk: dropout, norms
  // The share of each of CellScale::vocabulary stages: rows of the table to look up and to update,
  // and the output layer and loss of as many vocabulary entries.
  BlockCell share;
};

// Divides cells whose embedding and head share no parameters.
VocabularyCells divideVocabulary(const ModelCells &cells);

// A collective among the stages, per micro-batch, besides the transfers of activations.
struct VocabularyCollective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CellPhase phase = CellPhase::Forward;
  double bytes = 0; // bytes as collectiveSeconds takes them
  double count = 1;
};

// `activationShare`: bytes of an activation over those of f32. Sources:
// sail-sg/VocabularyParallelism 6191c3bf,
// megatron/core/pipeline_parallel/vocab_parallel_schedule.py: broadcast_lm_head_input, in f32;
// reduce_lm_head_res_alg1 and _alg2, whose three numbers of each row are in f32, too, and whose
// gradient is in the type of the weights; input_embedding_forward_step_helper; and
// input_embedding_backward_step_helper.
std::vector<VocabularyCollective>
vocabularyCollectives(const VocabularyCells &cells, const CellScale &scale, double activationShare);

} // namespace dtc
