// Lists keys of a config.json that change nothing, and architectures that dtc knows by name only.
#include "compiler/describe/frontend/HfKeys.h"

#include "compiler/describe/frontend/HfTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace dtc {

const char *const kWriteItYourself = "write the model as graph IR, see docs/writing-a-model.md";

namespace {

// Returns keys that the classes of transformers do not have (the table has those) but that files
// contain: those of older classes, and those that transformers keeps out of the model. The
// precision comes from --precision, not from dtype.
const llvm::StringSet<> &harmless() {
  static const llvm::StringSet<> keys{
      // the kind of file, and how transformers loads, runs and saves the model
      "attn_implementation", "auto_map", "dtype", "ep_size", "gradient_checkpointing", "is_decoder",
      "is_llama_config", "max_sequence_length", "model_type", "n_ctx", "name_or_path",
      "output_attentions", "output_past", "output_router_logits", "predict_special_tokens",
      "pretraining_tp", "return_dict", "tf_legacy_loss", "torch_dtype", "torchscript",
      "transformers.js_config", "unsloth_fixed", "unsloth_version", "use_bfloat16", "use_cache",
      "use_return_dict",
      // losses that DeepSeek's own class has and that of transformers has not
      "aux_loss_alpha", "seq_aux",
      // heads that are not built
      "classifier_dropout", "finetuning_task", "num_labels", "summary_activation",
      "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
      "task_specific_params",
      // tokenizers
      "bos_token_id", "decoder_start_token_id", "eos_token_id", "prefix", "sep_token_id",
      "tokenizer_class", "unk_token_id",
      // generation
      "bad_words_ids", "begin_suppress_tokens", "cache_implementation", "diversity_penalty",
      "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
      "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
      "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups",
      "num_beams", "num_return_sequences", "output_scores", "remove_invalid_values",
      "repetition_penalty", "return_dict_in_generate", "suppress_tokens", "temperature", "top_k",
      "top_p", "typical_p"};
  return keys;
}

// A feature that a file may name if it is off.
struct Feature {
  llvm::StringRef key, off; // the key, and its value if the feature is off, as JSON
  // The model types for which it then has no effect: words, all of them, or all but gpt2.
  llvm::StringRef types;
};

constexpr llvm::StringRef kAll = "all", kLlamas = "all but gpt2";

constexpr Feature kFeatures[] = {{"add_cross_attention", "false", kAll},
                                 {"attention_bias", "false", "mistral mixtral"},
                                 {"embd_pdrop", "0", kLlamas},
                                 {"hidden_act", "\"gelu_pytorch_tanh\"", "gemma2 gemma3_text"},
                                 {"hidden_dropout", "0", kLlamas},
                                 {"layer_norm_eps", "1e-05", "modernbert"}, // beside norm_eps
                                 {"mlp_bias", "false", "mistral mixtral qwen2"},
                                 {"moe_layer_freq", "1", "deepseek_v2 deepseek_v3"},
                                 {"n_special", "0", "gpt2"},
                                 {"num_experts", "0", "gpt2 llama mistral qwen2"},
                                 {"num_nextn_predict_layers", "0", kAll},
                                 {"parallel_attn", "false", kAll},
                                 {"partial_rotary_factor", "1", kLlamas},
                                 {"position_embedding_type", "\"absolute\"", kAll},
                                 {"pruned_heads", "{}", kAll},
                                 {"qk_layernorm", "false", kAll},
                                 {"qk_norm", "false", kAll},
                                 {"resid_pdrop", "0", kLlamas},
                                 {"rope_interleaved", "false", kLlamas},
                                 {"rotary", "true", "gptj"},
                                 {"scoring_func", "\"sigmoid\"", "deepseek_v3"},
                                 {"scoring_func", "\"softmax\"", "deepseek_v2"},
                                 {"tie_encoder_decoder", "false", kAll},
                                 {"topk_method", "\"noaux_tc\"", "deepseek_v3"},
                                 {"use_mrope", "false", kLlamas},
                                 {"use_parallel_residual", "false", kAll},
                                 {"use_qk_norm", "false", kAll},
                                 {"use_sliding_window", "false", "llama mistral mixtral"}};

bool isOff(llvm::StringRef key, const nlohmann::json &value, llvm::StringRef type) {
  return llvm::any_of(kFeatures, [&](const Feature &feature) {
    bool isOfType = feature.types == kAll || (feature.types == kLlamas && type != "gpt2") ||
                    llvm::is_contained(llvm::split(feature.types, ' '), type);
    return feature.key == key && isOfType &&
           value == nlohmann::json::parse(feature.off.begin(), feature.off.end());
  });
}

struct Architecture {
  llvm::StringRef type, part;
};

constexpr Architecture kUnknown[] = {
    {"aquila", "code of its own (auto_map)"},
    {"baichuan", "code of its own (auto_map)"},
    {"bloom", "alibi"},
    {"falcon", "attention beside the MLP (parallel_attn)"},
    {"gemma3", "images (the text model alone is gemma3_text)"},
    {"gpt_bigcode", "learned positions beside one kv head (multi_query)"},
    {"internlm2", "code of its own (auto_map)"},
    {"kimi_k2", "code of its own (auto_map)"},
    {"llama4", "layers with and without rotary embedding"},
    {"llama4_text", "layers with and without rotary embedding"},
    {"mamba", "state spaces"},
    {"minimax_m1", "linear attention (attn_type_list)"},
    {"minimax_m2", "experts chosen by sigmoid scores with a bias (use_routing_bias)"},
    {"mpt", "alibi"},
    {"opt", "learned positions beside ReLU"}};

} // namespace

std::string unknownPartOf(llvm::StringRef modelType) {
  for (const Architecture &architecture : kUnknown)
    if (architecture.type == modelType)
      return architecture.part.str();
  return "";
}

// Returns true if a key that the importer does not read may be present. A key of the type's class
// may be present if no value of it changes a model, or if it has its default. For `dtype` and
// `return_dict` the class does not matter: they concern numbers and the form in which transformers
// returns results.
static bool changesNothing(llvm::StringRef key, const nlohmann::json &value,
                           llvm::StringRef modelType) {
  const HfKey *row = findHfKey(modelType, key);
  if (!row || key == "dtype" || key == "return_dict")
    return key.starts_with("_") || harmless().contains(key);
  return row->effect == HfEffect::Nothing ||
         value == nlohmann::json::parse(row->fallback.begin(), row->fallback.end());
}

void refuseUnreadKeys(HfConfig &config, const std::string &modelType) {
  for (const auto &[key, value] : config.unread()) {
    if (value->is_null() || changesNothing(key, *value, modelType) || isOff(key, *value, modelType))
      continue;
    const HfKey *row = findHfKey(modelType, key);
    config.fail(key.c_str(),
                "is " + shownValue(*value) + ", and dtc knows no such key of " + modelType +
                    (row ? "; by default transformers has " + row->fallback.str() : ""),
                "where it changes nothing that is trained, take it out; else " +
                    std::string(kWriteItYourself));
    return;
  }
}

} // namespace dtc
