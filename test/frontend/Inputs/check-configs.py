"""Imports small and published configs: each becomes a model, or one error at the key that dtc does not know.

check-configs.py FOLDER      configs are written there; dtc is on the PATH
"""
import json
import re
import subprocess
import sys
from pathlib import Path

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 32,
         "intermediate_size": 56, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "max_position_embeddings": 64, "vocab_size": 61}
MISTRAL = {**LLAMA, "architectures": ["MistralForCausalLM"], "model_type": "mistral"}
QWEN2 = {**LLAMA, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 32, "n_head": 4, "n_layer": 2,
        "n_positions": 64, "vocab_size": 61}
BERT = {"model_type": "bert", "hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 64, "vocab_size": 61}
MODERNBERT = {**BERT, "model_type": "modernbert", "pad_token_id": 0}
VIT = {"model_type": "vit", "hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2,
       "num_attention_heads": 4, "image_size": 8, "patch_size": 4}
T5 = {"model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 56, "num_layers": 2, "num_heads": 4, "vocab_size": 61,
      "decoder_start_token_id": 0}
V3 = {**BERT, "model_type": "deepseek_v3", "num_key_value_heads": 4, "kv_lora_rank": 12, "q_lora_rank": 14,
      "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6, "n_routed_experts": 8, "n_group": 4,
      "topk_group": 2, "num_experts_per_tok": 3, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
V2 = {**V3, "model_type": "deepseek_v2", "topk_method": "group_limited_greedy"}
FULL, SLIDING = "full_attention", "sliding_attention"

# These configs are as their models are published, except for names; further ones have keys without an effect.
IMPORTED = {
    "llama-2-7b": {
        "_name_or_path": "llama", "architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
        "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 11008,
        "max_position_embeddings": 4096, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": None,
        "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.31.0.dev0",
        "use_cache": True, "vocab_size": 32000},
    "llama-3.1-8b": {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096,
        "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": False,
        "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
                                                                     "high_freq_factor": 4.0,
                                                                     "original_max_position_embeddings": 8192,
                                                                     "rope_type": "llama3"},
        "rope_theta": 500000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
        "transformers_version": "4.42.3", "use_cache": True, "vocab_size": 128256},
    "mistral-7b-v0.1": {
        "architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
        "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768,
        "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16", "use_cache": True, "vocab_size": 32000},
    "qwen2.5-7b": {
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643,
        "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 18944,
        "max_position_embeddings": 131072, "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
        "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "sliding_window": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_cache": True,
        "use_mrope": None, "use_sliding_window": False, "vocab_size": 152064},
    "gpt2": {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
        "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": None, "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "vocab_size": 50257},
    "bert-base": {
        "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": False,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
        "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
        "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute",
        "transformers_version": "4.6.0.dev0", "type_vocab_size": 2, "use_cache": True, "vocab_size": 30522},
    "roberta-base": {
        "architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
        "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
        "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514,
        "model_type": "roberta", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1,
        "type_vocab_size": 1, "vocab_size": 50265},
    "modernbert-base": {
        "architectures": ["ModernBertForMaskedLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 50281, "classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0,
        "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": True, "deterministic_flash_attn": False,
        "embedding_dropout": 0.0, "eos_token_id": 50282, "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0, "gradient_checkpointing": False, "hidden_activation": "gelu",
        "hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02, "intermediate_size": 1152,
        "layer_norm_eps": 1e-05, "local_attention": 128, "local_rope_theta": 10000.0,
        "max_position_embeddings": 8192, "mlp_bias": False, "mlp_dropout": 0.0, "model_type": "modernbert",
        "norm_bias": False, "norm_eps": 1e-05, "num_attention_heads": 12, "num_hidden_layers": 22,
        "pad_token_id": 50283, "position_embedding_type": "absolute", "sep_token_id": 50282,
        "tie_word_embeddings": True, "torch_dtype": "float32", "transformers_version": "4.47.0.dev0",
        "vocab_size": 50368},
    "t5-small": {
        "architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 512,
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
        "is_encoder_decoder": True, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512,
        "num_heads": 8, "num_layers": 6, "output_past": True, "pad_token_id": 0, "relative_attention_num_buckets": 32,
        "task_specific_params": {"summarization": {"early_stopping": True, "max_length": 200, "prefix": "summarize: "}},
        "vocab_size": 32128},
    "vit-base": {
        "architectures": ["ViTForImageClassification"], "attention_probs_dropout_prob": 0.0, "encoder_stride": 16,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "hidden_size": 768, "id2label": {"0": "cat", "1": "dog",
                                                                                           "2": "fox"},
        "image_size": 224, "initializer_range": 0.02, "intermediate_size": 3072,
        "label2id": {"cat": 0, "dog": 1, "fox": 2}, "layer_norm_eps": 1e-12, "model_type": "vit",
        "num_attention_heads": 12, "num_channels": 3, "num_hidden_layers": 12, "patch_size": 16, "qkv_bias": True},
    "phi-2": {
        "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 50256, "embd_pdrop": 0.0,
        "eos_token_id": 50256, "hidden_act": "gelu_new", "hidden_size": 2560, "initializer_range": 0.02,
        "intermediate_size": 10240, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "phi",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4,
        "qk_layernorm": False, "resid_pdrop": 0.1, "rope_scaling": None, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "torch_dtype": "float16", "use_cache": True, "vocab_size": 51200},
    "gpt-j-6b": {
        "activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop": 0.0,
        "bos_token_id": 50256, "embd_pdrop": 0.0, "eos_token_id": 50256, "gradient_checkpointing": False,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 4096, "n_head": 16,
        "n_inner": None, "n_layer": 28, "n_positions": 2048, "resid_pdrop": 0.0, "rotary": True, "rotary_dim": 64,
        "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
        "summary_type": "cls_index", "summary_use_proj": True, "tie_word_embeddings": False,
        "tokenizer_class": "GPT2Tokenizer", "use_cache": True, "vocab_size": 50400},
    "olmo-1b": {
        "architectures": ["OlmoForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "clip_qkv": None,
        "eos_token_id": 50279, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
        "intermediate_size": 8192, "max_position_embeddings": 2048, "model_type": "olmo", "num_attention_heads": 16,
        "num_hidden_layers": 16, "num_key_value_heads": 16, "pad_token_id": 1, "rope_scaling": None,
        "rope_theta": 10000.0, "tie_word_embeddings": True, "use_cache": True, "vocab_size": 50304},
    "deepseek-v2-lite": {
        "architectures": ["DeepseekV2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV2Config"}, "aux_loss_alpha": 0.001,
        "bos_token_id": 100000, "eos_token_id": 100001, "first_k_dense_replace": 1, "hidden_act": "silu",
        "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 10944, "kv_lora_rank": 512,
        "max_position_embeddings": 163840, "model_type": "deepseek_v2", "moe_intermediate_size": 1408,
        "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2, "norm_topk_prob": False,
        "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
        "pretraining_tp": 1, "q_lora_rank": None, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707,
                                                "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096,
                                                "type": "yarn"},
        "rope_theta": 10000, "routed_scaling_factor": 1.0, "scoring_func": "softmax", "seq_aux": True,
        "tie_word_embeddings": False, "topk_group": 1, "topk_method": "greedy", "torch_dtype": "bfloat16",
        "transformers_version": "4.33.1", "use_cache": True, "v_head_dim": 128, "vocab_size": 102400},
    # The published file describes weights of 8 bits, too, which dtc does not read.
    "deepseek-v3": {
        "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, "bos_token_id": 0, "eos_token_id": 1,
        "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168,
        "initializer_range": 0.02, "intermediate_size": 18432, "kv_lora_rank": 512,
        "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
        "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": True,
        "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
        "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
                                                "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
                                                "type": "yarn"},
        "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": False,
        "topk_group": 4, "topk_method": "noaux_tc", "torch_dtype": "bfloat16", "transformers_version": "4.33.1",
        "use_cache": True, "v_head_dim": 128, "vocab_size": 129280},
    "off": {**LLAMA, "use_qk_norm": False, "use_parallel_residual": False, "partial_rotary_factor": 1.0,
            "num_experts": 0, "pruned_heads": {}, "attn_logit_softcapping": None, "sliding_window": None,
            "layer_types": [FULL] * 4},
    # Models of these families have such further keys: SmolLM2, huggyllama's Llama, gpt2-medium, Qwen2.5-0.5B.
    "llama-kin": {**LLAMA, "is_llama_config": True, "rope_interleaved": False, "max_sequence_length": 64},
    "gpt2-kin": {**GPT2, "n_special": 0, "predict_special_tokens": True},
    "qwen2-kin": {**QWEN2, "use_mrope": False},
    "mistral-kin": {**MISTRAL, "use_sliding_window": False},
    "swish": {**LLAMA, "hidden_act": "swish"},
    "all-sliding": {**QWEN2, "use_sliding_window": True, "sliding_window": 16, "layer_types": [SLIDING] * 4},
    "some-sliding": {**QWEN2, "use_sliding_window": True, "sliding_window": 16, "layer_types": [FULL, SLIDING] * 2},
    "gemma-3-1b": {
        "architectures": ["Gemma3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "attn_logit_softcapping": None, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": [1, 106],
        "final_logit_softcapping": None, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 1152, "initializer_range": 0.02, "intermediate_size": 6912, "max_position_embeddings": 32768,
        "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
        "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
        "rope_scaling": None, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6,
        "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0", "use_cache": True, "vocab_size": 262144},
    "long-window": {**QWEN2, "use_sliding_window": True, "sliding_window": 64, "layer_types": [FULL, SLIDING] * 2},
    "both-thetas": {**LLAMA, "rope_theta": 5e5, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
    "theta-within": {**LLAMA, "rope_scaling": {"rope_type": "default", "rope_theta": 5e5}},
    "dynamic": {**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 4.0}},
    "other-names": {"model_type": "gpt2", "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
                    "max_position_embeddings": 64, "vocab_size": 61, "n_embd": 32},
    "nulls": {**QWEN2, "num_key_value_heads": None, "sliding_window": None, "pad_token_id": None, "head_dim": None,
              "bos_token_id": None},
    "theta-beside": {**LLAMA, "rope_theta": 5e5, "rope_parameters": {"rope_type": "default"}},
}


def without(config, *keys, **more):
    return {**{key: value for key, value in config.items() if key not in keys}, **more}


def typed(kind, **more):
    return {**LLAMA, "model_type": kind, "architectures": None, **more}


# Each entry is: the config, the keys that lead to the error, the message behind the last one's name, and the note.
REFUSED = [
    (typed("bloom"), ["model_type"], "is 'bloom'; dtc imports gpt2, t5, cohere, cohere2, deepseek_v2,",
     "bloom has alibi, which dtc can't import; write the model as graph IR"),
    # Latent attention, and groups of experts.
    ({**V3, "num_key_value_heads": 2}, ["num_key_value_heads"],
     "is 2, and latents give each of the 4 heads of 'num_attention_heads' its own key; write that number", ""),
    (without(V3, "num_key_value_heads"), [],
     "'num_key_value_heads' is 128 by default, and latents give each of the 4 heads", ""),
    ({**V3, "qk_rope_head_dim": 5}, ["qk_rope_head_dim"], "is 5, wanted an even number: pairs of elements", ""),
    ({**V3, "v_head_dim": None}, ["v_head_dim"], "is null, which deepseek_v3 of transformers", "its default, 128"),
    ({**V3, "scoring_func": "softmax"}, ["scoring_func"], 'is "softmax", and dtc knows no such key', "take it out"),
    ({**V3, "moe_layer_freq": 2}, ["moe_layer_freq"], "is 2, and dtc knows no such key of deepseek_v3", "take it out"),
    ({**V3, "n_group": 3}, ["n_group"], "is 3, wanted a divisor of the 8 experts of 'n_routed_experts'", ""),
    ({**V3, "topk_group": 5}, ["topk_group"], "is 5, more than the 4 groups of 'n_group'", ""),
    ({**V3, "n_group": 8}, ["n_group"], "is 8, so that a group has 1 of 8 experts; its 2 best judge it", ""),
    ({**V3, "num_experts_per_tok": 5}, ["num_experts_per_tok"],
     "is 5, more than the 4 experts of 2 groups, from which a token chooses", ""),
    (without(V2, "num_experts_per_tok"), [], "'num_experts_per_tok' is missing, and deepseek_v2 has no default", ""),
    (without(V2, "topk_group"), [], "'topk_group' is missing, which 'group_limited_greedy' of 'topk_method' needs", ""),
    ({**V2, "topk_method": "noaux_tc"}, ["topk_method"],
     'is "noaux_tc", wanted greedy or group_limited_greedy; by default transformers has "greedy"', ""),
    # Options that only Megatron-LM has for routers.
    ({**V2, "moe_router_bias_update_rate": 0.001}, ["moe_router_bias_update_rate"],
     "is there, and the router of deepseek_v2 has no bias that moves with the load",
     "take it out; deepseek_v3 and glm4_moe have one"),
    ({**V3, "moe_router_bias_update_rate": -0.001}, ["moe_router_bias_update_rate"],
     "is -0.001, wanted a number of 0 or more", ""),
    ({**V3, "moe_z_loss_coeff": -1}, ["moe_z_loss_coeff"], "is -1, wanted a number of 0 or more", ""),
    ({**V3, "moe_aux_loss_coeff": 0.001}, ["moe_aux_loss_coeff"],
     "is there, and dtc builds that loss of each sample only",
     'put "moe_router_load_balancing_type": "seq_aux_loss" beside it'),
    (typed("mixtral", output_router_logits=True, moe_aux_loss_coeff=0.1,
           moe_router_load_balancing_type="seq_aux_loss"), ["moe_aux_loss_coeff"],
     "is there beside 'router_aux_loss_coef', which is another factor of the same loss; take one of them out", ""),
    # Encoders.
    ({**BERT, "architectures": ["BertModel"]}, ["architectures"],
     "is 'BertModel'; dtc builds BertForMaskedLM and BertForSequenceClassification of bert",
     'set it to ["BertForMaskedLM"] or ["BertForSequenceClassification"]'),
    ({**BERT, "is_decoder": True}, ["is_decoder"], "is true, and dtc builds bert as an encoder", "graph IR"),
    ({**BERT, "num_attention_heads": 5}, ["num_attention_heads"],
     "is 5, which does not divide 'hidden_size' = 32; transformers takes 4 or 8", ""),
    ({**BERT, "position_embedding_type": "relative_key"}, ["position_embedding_type"],
     'is "relative_key", and dtc knows no such key of bert', "take it out"),
    ({**BERT, "architectures": ["BertForSequenceClassification"], "num_labels": 3, "id2label": {"0": "a"}},
     ["num_labels"], "is 3, which transformers takes, but 'id2label' has 1 labels; take one of them out", ""),
    ({**BERT, "architectures": ["BertForSequenceClassification"], "problem_type": "ranking"}, ["problem_type"],
     "is 'ranking'; transformers knows regression, single_label_classification and multi_label_classification", ""),
    ({**BERT, "architectures": ["BertForSequenceClassification"], "num_labels": 1,
      "problem_type": "single_label_classification"}, ["problem_type"],
     "is single_label_classification with one label; transformers takes two labels or more", ""),
    ({**MODERNBERT, "local_attention": 0}, ["local_attention"],
     "is 0, wanted a whole number from 1 to 2147483648; by default transformers has 128", ""),
    ({**MODERNBERT, "classifier_pooling": "max"}, ["classifier_pooling"],
     "is 'max'; transformers takes cls and mean", ""),
    ({**MODERNBERT, "rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
     ["rope_parameters", "full_attention", "factor"],
     "is missing, which yarn rotary embedding needs; transformers has no default for it", ""),
    ({**BERT, "model_type": "roberta", "max_position_embeddings": 2}, ["max_position_embeddings"],
     "is 2, no more than the rows up to 'pad_token_id' = 1", ""),
    ({**VIT, "patch_size": 9}, ["patch_size"], "is 9, more than the 'image_size' of 8", ""),
    ({**VIT, "image_size": [8, 8, 8]}, ["image_size"], "has 3 numbers, wanted 2 of at least 1", ""),
    ({**VIT, "vocab_size": 5}, ["vocab_size"], "is 5, and dtc knows no such key of vit", "take it out"),
    # Types that dtc does not build, with the part that is missing.
    *((typed(kind), ["model_type"], f"is '{kind}'; dtc imports", part) for kind, part in (
        ("aquila", "auto_map"), ("baichuan", "auto_map"), ("bloom", "alibi"),
        ("gpt_bigcode", "learned positions"), ("internlm2", "auto_map"), ("kimi_k2", "auto_map"),
        ("llama4_text", "without rotary embedding"), ("mamba", "state spaces"), ("minimax_m1", "linear attention"),
        ("minimax_m2", "sigmoid scores"))),
    (without(T5, "decoder_start_token_id"), [], "'decoder_start_token_id' is missing",
     "the decoder's inputs need it; T5's files have 0"),
    ({**T5, "decoder_start_token_id": None}, ["decoder_start_token_id"], "is null", "T5's files have 0"),
    ({**T5, "pad_token_id": 61}, ["pad_token_id"], "is 61, which is no row of the 61 of 'vocab_size'", ""),
    ({**T5, "feed_forward_proj": "gated-swiglu"}, ["feed_forward_proj"],
     "is 'gated-swiglu'; dtc knows relu, gelu, gelu_new, gelu_pytorch_tanh and silu, and each behind 'gated-'", ""),
    ({**T5, "dense_act_fn": "mish"}, ["dense_act_fn"], "is 'mish'; dtc knows relu, gelu", ""),
    ({**T5, "relative_attention_num_buckets": 3}, ["relative_attention_num_buckets"],
     "is 3, wanted 4 or more, two for each side of a query; by default transformers has 32", ""),
    ({**T5, "relative_attention_max_distance": 16}, ["relative_attention_max_distance"],
     "is 16, no more than half of 'relative_attention_num_buckets' = 32; transformers takes a larger one", ""),
    ({**T5, "is_encoder_decoder": False}, ["is_encoder_decoder"], "is false, and dtc knows no such key of t5",
     "take it out"),
    ({**T5, "architectures": ["T5EncoderModel"]}, ["architectures"],
     "is 'T5EncoderModel'; dtc builds T5ForConditionalGeneration of t5", ""),
    (typed("gptj", rotary_dim=7), ["rotary_dim"], "is 7, wanted", ""),
    (typed("olmo", clip_qkv=-1.0, pad_token_id=0), ["clip_qkv"],
     "is -1.0, wanted a number greater than 0, or null for none; by default transformers has null", ""),
    (typed("gemma3"), ["model_type"], "is 'gemma3'; dtc imports", "images"),
    (typed("falcon", parallel_attn=True), ["model_type"], "is 'falcon'; dtc imports", "parallel_attn"),
    (typed("opt", do_layer_norm_before=True), ["model_type"], "is 'opt'; dtc imports", "learned positions"),
    # These configs have a part of a family that dtc does not build, or a value that the class does not take.
    (typed("gemma", use_bidirectional_attention=True, head_dim=8), ["use_bidirectional_attention"],
     "is true, and dtc builds gemma without it", "graph IR"),
    (typed("gemma2", attn_logit_softcapping=0.0), ["attn_logit_softcapping"],
     "is 0.0, wanted a number greater than 0, or null for none", ""),
    (typed("gemma2", query_pre_attn_scalar=0), ["query_pre_attn_scalar"], "is 0, wanted a number greater than 0", ""),
    (typed("gemma3_text", rope_parameters={"full_attention": {"rope_type": "linear"}}),
     ["rope_parameters", "full_attention", "factor"], "is missing, which linear rotary embedding needs", ""),
    (typed("gemma3_text", rope_parameters={"rope_type": "linear", "factor": 8.0}), ["rope_parameters", "rope_type"],
     'is "linear", and dtc knows no such key of the rotary embedding of gemma3_text', ""),
    ({**MISTRAL, "sliding_window": 0}, ["sliding_window"], "is 0, wanted a whole number from 1 to 2147483648;"
     " by default transformers has 4096", ""),
    (typed("stablelm", partial_rotary_factor=0.4), ["partial_rotary_factor"],
     "is 0.4, so that 3 of 8 elements of a head are rotated; dtc rotates an even number of them", ""),
    (typed("gpt_neox"), ["num_key_value_heads"], "is 2, and dtc knows no such key of gpt_neox", "take it out"),
    (typed("gpt_neox", rotary_pct=0), ["rotary_pct"], "is 0, wanted a number greater than 0 and at most 1", ""),
    (without(typed("gpt_neox", rope_theta=1e6), "num_key_value_heads"), ["rope_theta"],
     "is 1000000.0, and dtc knows no such key of gpt_neox", ""),
    (typed("stablelm", rope_parameters={"rope_type": "default", "partial_rotary_factor": 1.5}),
     ["rope_parameters", "partial_rotary_factor"], "is 1.5, wanted a number greater than 0 and at most 1", ""),
    (typed("phi3", rope_scaling={"rope_type": "linear", "factor": 2.0}, pad_token_id=0), ["rope_scaling", "rope_type"],
     "is 'linear'; dtc knows default and longrope for phi3", "would train another model"),
    (typed("phi3"), [], "'pad_token_id' is 32000 by default, which is no row of the 61 of 'vocab_size'", ""),
    (typed("granite", logits_scaling=0), ["logits_scaling"], "is 0, wanted a number other than 0", ""),
    (typed("qwen3", head_dim=None), ["head_dim"], "is null, which qwen3 of transformers", "its default, 128"),
    (typed("smollm3", pad_token_id=0, no_rope_layers=[1, 2, 1, 1]), ["no_rope_layers"],
     "is a list, wanted a list of whole numbers from 0 to 1", ""),
    (typed("smollm3", pad_token_id=0, no_rope_layers=[1]), ["no_rope_layers"], "has 1 layers, wanted 4", ""),
    (typed("cohere2", sliding_window=None), ["sliding_window"], "is null, which cohere2 of transformers",
     "its default, 4096"),
    (typed("something"), ["model_type"], "is 'something'; dtc imports", "write the model as graph IR"),
    ({**LLAMA, "architectures": ["LlamaForSequenceClassification"]}, ["architectures"],
     "is 'LlamaForSequenceClassification'; dtc builds LlamaForCausalLM of llama", 'set it to ["LlamaForCausalLM"]'),
    ({**LLAMA, "architectures": "LlamaForCausalLM"}, ["architectures"],
     'is "LlamaForCausalLM", wanted a list of strings', ""),
    ({**LLAMA, "hidden_act": "quick_gelu"}, ["hidden_act"], "is 'quick_gelu'; dtc knows gelu, gelu_new", ""),
    ({**GPT2, "activation_function": "quick_gelu"}, ["activation_function"], "is 'quick_gelu'; dtc knows gelu", ""),
    ({**LLAMA, "rope_scaling": {"factor": 2.0, "type": "su"}}, ["rope_scaling", "type"],
     "is 'su'; dtc knows default, dynamic, linear, llama3, longrope, proportional, yarn",
     "note: taking 'rope_scaling' out would train another model; write the model as graph IR, see "
     "docs/writing-a-model.md"),
    ({**LLAMA, "rope_scaling": {"rope_type": "yarn", "beta_fast": 16}}, ["rope_scaling", "factor"],
     "is missing, which yarn rotary embedding needs", ""),
    ({**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 0}}, ["rope_scaling", "factor"],
     "is 0, wanted a number greater than 0", ""),
    ({**LLAMA, "rope_scaling": {"rope_type": "linear"}}, ["rope_scaling", "factor"],
     "is missing, which linear rotary embedding needs; transformers has no default for it", ""),
    ({**LLAMA, "rope_scaling": {"type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}},
     ["rope_scaling", "high_freq_factor"], "is missing, which llama3 rotary embedding needs", ""),
    # Llama's class takes no notice of it.
    ({**LLAMA, "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
     ["rope_parameters", "partial_rotary_factor"], "is 0.5, and dtc knows no such key of default rotary embedding",
     "take it out"),
    ({**LLAMA, "rope_parameters": {"rope_type": "longrope", "short_factor": [1]}}, ["rope_parameters", "short_factor"],
     "has 1 numbers, wanted 4, one for each pair of elements", ""),
    ({**LLAMA, "rope_parameters": {"rope_type": "longrope", "short_factor": [1] * 4}},
     ["rope_parameters", "long_factor"], "is missing, which longrope rotary embedding needs", ""),
    ({**LLAMA, "rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 2.0}},
     ["rope_parameters", "partial_rotary_factor"], "is 2.0, wanted a number from 0 to 1", ""),
    ({**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 2.0, "mscale": 0.7}}, ["rope_scaling", "mscale"],
     "is 0.7, and dtc knows no such key of linear rotary embedding", "take it out"),
    ({**LLAMA, "rope_theta": 1e4, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}, ["rope_theta"],
     "is 10000.0, wanted what 'rope_parameters' have", ""),
    # These configs have values that a class does not take, or lack keys whose defaults do not fit.
    ({**LLAMA, "vocab_size": None}, ["vocab_size"], "is null, which llama of transformers 5.24.0 does not take",
     "leave it out for its default, 32000, or give a value"),
    ({**MISTRAL, "num_key_value_heads": None}, ["num_key_value_heads"], "is null, which mistral of transformers",
     "default, 8, or"),
    (without(QWEN2, "num_key_value_heads"), [],
     "'num_key_value_heads' is 32 by default, which does not divide 'num_attention_heads' = 4", ""),
    (without(GPT2, "n_embd", "n_head", num_attention_heads=5), ["num_attention_heads"],
     "is 5, which does not divide 'n_embd' = 768", ""),
    ({**GPT2, "hidden_size": 64}, ["hidden_size"], "is another number than 'n_embd', of which it is another name", ""),
    ({**LLAMA, "pad_token_id": 61}, ["pad_token_id"], "is 61, wanted a whole number from -61 to 60", ""),
    ({**LLAMA, "pad_token_id": -62}, ["pad_token_id"], "is -62, wanted a whole number from -61 to 60", ""),
    ({**LLAMA, "rope_scaling": {"rope_type": "default"}, "rope_parameters": {"rope_type": "default"}}, ["rope_scaling"],
     "is an object, and dtc knows no such key of llama", "take it out"),
    ({**LLAMA, "sliding_window": 16}, ["sliding_window"], "is 16, and dtc knows no such key of llama", "take it out"),
    ({**LLAMA, "qk_norm": True}, ["qk_norm"], "is true, and dtc knows no such key of llama", "take it out"),
    ({**LLAMA, "partial_rotary_factor": 0.5}, ["partial_rotary_factor"], "is 0.5, and dtc knows", "take it out"),
    ({**LLAMA, "use_parallel_residual": True}, ["use_parallel_residual"], "is true, and dtc knows", "take it out"),
    ({**LLAMA, "quantization_config": {"bits": 4}}, ["quantization_config"], "is an object, and dtc knows",
     "take it out"),
    ({**LLAMA, "pruned_heads": {"0": [1]}}, ["pruned_heads"], "is an object, and dtc knows", "take it out"),
    ({**LLAMA, "b_key": 1, "a_key": [2]}, ["b_key"], "is 1, and dtc knows no such key of llama", "take it out"),
    ({**MISTRAL, "attention_bias": True}, ["attention_bias"], "is true, and dtc knows no such key of mistral",
     "take it out"),
    ({**QWEN2, "attention_bias": False}, ["attention_bias"], "is false, and dtc knows no such key of qwen2",
     "take it out"),
    ({**QWEN2, "num_experts": 60, "moe_intermediate_size": 1408}, ["num_experts"], "is 60, and dtc knows",
     "take it out"),
    ({**GPT2, "head_dim": 8}, ["head_dim"], "is 8, and dtc knows no such key of gpt2", "take it out"),
    ({**GPT2, "add_cross_attention": True}, ["add_cross_attention"], "is true, and dtc builds gpt2 without it",
     "graph IR"),
    ({**LLAMA, "layer_types": [FULL, "chunked_attention", FULL, FULL]}, ["layer_types"],
     "has 'chunked_attention'; dtc knows full_attention and sliding_attention", "graph IR"),
    ({**LLAMA, "layer_types": [FULL]}, ["layer_types"], "has the kinds of 1 layers, wanted 4", ""),
    ({**LLAMA, "layer_types": [SLIDING] * 4}, ["layer_types"],
     "has sliding_attention 4 times, but 0 layers of this llama", ""),
    ({**MISTRAL, "sliding_window": 16, "layer_types": [FULL, SLIDING] * 2}, ["layer_types"],
     "has sliding_attention 2 times, but 4 layers of this mistral have a window", ""),
]


def run(folder, name, config, *command):
    path = folder / f"{name}.json"
    text = json.dumps(config, indent=2)
    path.write_text(text)
    return text, subprocess.run(["dtc", *(command or ("import", "-o", folder / "x.mlir")), path], capture_output=True,
                                text=True)


def line_of(text, keys):
    """Returns the line of the last key, each on a line of its own, two blanks a level.

    For an absent key it is the line of the object that would have it.
    """
    lines, at = text.split("\n"), 0
    if not keys:
        return 1, 1
    if not any(line.startswith(" " * 2 * len(keys) + json.dumps(keys[-1]) + ":") for line in lines):
        return line_of(text, keys[:-1])
    for level, key in enumerate(keys, 1):
        start = " " * 2 * level + json.dumps(key) + ":"
        at = next(i for i in range(at, len(lines)) if lines[i].startswith(start))
    return at + 1, 2 * len(keys) + 1


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    for name, config in IMPORTED.items():
        result = run(folder, name, config)[1]
        if result.returncode != 0 or not (folder / "x.mlir").read_text():
            wrong.append(f"{name}: {result.stderr}")
        (folder / "x.mlir").unlink(missing_ok=True)
    for i, (config, keys, message, note) in enumerate(REFUSED):
        text, result = run(folder, f"refused-{i}", config)
        line, column = line_of(text, keys)
        what = f"'{keys[-1]}' {message}" if keys else message
        start = f"{folder / f'refused-{i}.json'}:{line}:{column}: error: {what}"
        if result.returncode != 1 or not result.stderr.startswith(start) or note not in result.stderr or \
                len(re.findall("error:", result.stderr)) != 1 or (folder / "x.mlir").exists():
            wrong.append(f"wanted {start}\n  {note}\nfound {result.stderr}")
        (folder / "x.mlir").unlink(missing_ok=True)
    planned = run(folder, "plan", REFUSED[0][0], "plan", "--topology", "cpu", "--devices", "1", "--global-batch",
                  "2")[1]
    if planned.returncode != 1 or "'model_type' is 'bloom'" not in planned.stderr:
        wrong.append(f"dtc plan: {planned.stderr}")
    print(f"{len(IMPORTED)} imported, {len(REFUSED)} refused, {len(wrong)} wrong")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
