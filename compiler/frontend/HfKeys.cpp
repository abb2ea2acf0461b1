// Keys of a config.json that change nothing, and architectures that dtc knows by name only.
#include "compiler/frontend/HfKeys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace dtc {

const char *const kWriteItYourself = "write the model as graph IR, see docs/writing-a-model.md";

namespace {

// Of transformers' PretrainedConfig and of the classes of the imported models. Numbers are what
// --precision says, not dtype; pretraining_tp and chunk_size_feed_forward cut a product into
// several with the same sum; the balance loss is added wherever its coefficient is not 0, whatever
// output_router_logits says.
const llvm::StringSet<> &harmless() {
  static const llvm::StringSet<> keys{
      // what the file is, and how transformers loads, runs and saves the model
      "architectures", "attn_implementation", "chunk_size_feed_forward", "dtype",
      "gradient_checkpointing", "is_decoder", "is_llama_config", "max_sequence_length",
      "model_type", "n_ctx", "name_or_path", "output_attentions", "output_hidden_states",
      "output_past", "output_router_logits", "predict_special_tokens", "pretraining_tp",
      "reorder_and_upcast_attn", "return_dict", "tf_legacy_loss", "torch_dtype", "torchscript",
      "transformers.js_config", "transformers_version", "unsloth_fixed", "unsloth_version",
      "use_bfloat16", "use_cache", "use_return_dict",
      // heads that are not built
      "classifier_dropout", "finetuning_task", "id2label", "label2id", "num_labels", "problem_type",
      "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
      "summary_use_proj", "task_specific_params",
      // tokenizers
      "bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id", "prefix",
      "sep_token_id", "tokenizer_class", "unk_token_id",
      // generation
      "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
      "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "forced_bos_token_id",
      "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
      "num_beam_groups", "num_beams", "num_return_sequences", "output_scores",
      "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
      "temperature", "top_k", "top_p", "typical_p"};
  return keys;
}

// A feature that a file may name as long as it is off.
struct Feature {
  llvm::StringRef key, off; // as JSON
  llvm::StringRef types;    // of which it says nothing then
};

constexpr llvm::StringRef kAll = "gpt2 llama mistral mixtral qwen2",
                          kLlamas = "llama mistral mixtral qwen2";

constexpr Feature kFeatures[] = {{"add_cross_attention", "false", kAll},
                                 {"attention_bias", "false", "mistral mixtral"},
                                 {"embd_pdrop", "0", kLlamas},
                                 {"hidden_dropout", "0", kLlamas},
                                 {"is_encoder_decoder", "false", kAll},
                                 {"mlp_bias", "false", "mistral mixtral qwen2"},
                                 {"n_special", "0", "gpt2"},
                                 {"num_experts", "0", "gpt2 llama mistral qwen2"},
                                 {"num_nextn_predict_layers", "0", kAll},
                                 {"parallel_attn", "false", kAll},
                                 {"partial_rotary_factor", "1", kLlamas},
                                 {"pruned_heads", "{}", kAll},
                                 {"qk_layernorm", "false", kAll},
                                 {"qk_norm", "false", kAll},
                                 {"resid_pdrop", "0", kLlamas},
                                 {"rope_interleaved", "false", kLlamas},
                                 {"tie_encoder_decoder", "false", kAll},
                                 {"use_mrope", "false", kLlamas},
                                 {"use_parallel_residual", "false", kAll},
                                 {"use_qk_norm", "false", kAll},
                                 {"use_sliding_window", "false", "llama mistral mixtral"}};

bool isOff(llvm::StringRef key, const nlohmann::json &value, llvm::StringRef type) {
  return llvm::any_of(kFeatures, [&](const Feature &feature) {
    return feature.key == key && feature.types.contains(type) &&
           value == nlohmann::json::parse(feature.off.begin(), feature.off.end());
  });
}

struct Architecture {
  llvm::StringRef type, part;
};

constexpr Architecture kUnknown[] = {
    {"bert", "attention to the words that follow"},
    {"bloom", "alibi"},
    {"cohere", "attention beside the MLP"},
    {"deepseek_v2", "latent attention (kv_lora_rank)"},
    {"deepseek_v3", "latent attention (kv_lora_rank)"},
    {"falcon", "attention beside the MLP (parallel_attn)"},
    {"gemma", "norms that scale by 1 + weight, and scaled embeddings"},
    {"gemma2", "soft caps of scores and logits (attn_logit_softcapping)"},
    {"gemma3", "norms of queries and keys, and layers with and without a window"},
    {"gemma3_text", "norms of queries and keys, and layers with and without a window"},
    {"gpt_neox", "attention beside the MLP (use_parallel_residual)"},
    {"gpt_oss", "attention sinks, and layers with and without a window"},
    {"gptj", "attention beside the MLP"},
    {"granite", "multipliers of embeddings, residuals and logits"},
    {"llama4", "layers with and without rotary embedding"},
    {"llama4_text", "layers with and without rotary embedding"},
    {"mamba", "state spaces"},
    {"mpt", "alibi"},
    {"olmo2", "norms of queries and keys, and after each part of a layer"},
    {"opt", "learned positions beside ReLU"},
    {"phi", "attention beside the MLP (partial_rotary_factor)"},
    {"phi3", "queries, keys and values in one weight (qkv_proj)"},
    {"qwen2_moe", "experts that every token uses (shared_expert_intermediate_size)"},
    {"qwen3", "norms of queries and keys (q_norm, k_norm)"},
    {"qwen3_moe", "norms of queries and keys (q_norm, k_norm)"},
    {"stablelm", "rotary embedding of a part of a head (partial_rotary_factor)"},
    {"starcoder2", "layer norms with rotary embedding"},
    {"t5", "an encoder"}};

} // namespace

std::string unknownPartOf(llvm::StringRef modelType) {
  for (const Architecture &architecture : kUnknown)
    if (architecture.type == modelType)
      return architecture.part.str();
  return "";
}

void refuseUnreadKeys(HfConfig &config, const std::string &modelType) {
  for (const auto &[key, value] : config.unread()) {
    bool isPrivate = llvm::StringRef(key).starts_with("_");
    if (value->is_null() || isPrivate || harmless().contains(key) || isOff(key, *value, modelType))
      continue;
    config.fail(key.c_str(),
                "is " + shownValue(*value) + ", and dtc knows no such key of " + modelType,
                "where it changes nothing that is trained, take it out; else " +
                    std::string(kWriteItYourself));
    return;
  }
}

} // namespace dtc
