"""Random configs of mixtures of experts, for make_expert_configs.py. `pick` draws one of its arguments."""
from reference.encoder_configs import ABSENT


def base(pick, heads, kv_heads, **more):
    """Draws what all families have. The loss of uneven use, where it is drawn, weighs as much as the words."""
    return {"vocab_size": pick(61, 64, 67), "hidden_size": heads * pick(4, 6), "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "num_hidden_layers": 2, "intermediate_size": pick(8, 12, 20),
            "max_position_embeddings": pick(16, 64), "rms_norm_eps": pick(ABSENT, 1e-5),
            "tie_word_embeddings": pick(ABSENT, True, False), "pad_token_id": None, "attention_dropout": 0.0,
            "rope_theta": pick(ABSENT, 100.0), **more}


def balance(pick):
    return pick({}, {"output_router_logits": True, "router_aux_loss_coef": pick(0.5, 1.0)})


def mixtral(pick):
    experts, top = pick((4, 2), (3, 1), (6, 4))
    return {**base(pick, 4, pick(2, 4)), **balance(pick), "sliding_window": pick(None, 5), "num_experts_per_tok": top,
            pick("num_local_experts", "num_experts"): experts}


def qwen2_moe(pick):
    experts, top = pick((4, 2), (6, 3))
    return {**base(pick, 4, pick(2, 4)), **balance(pick), "num_experts": experts, "num_experts_per_tok": top,
            "moe_intermediate_size": pick(6, 8), "shared_expert_intermediate_size": pick(8, 10),
            "norm_topk_prob": pick(ABSENT, True, False), "qkv_bias": pick(ABSENT, True, False),
            "decoder_sparse_step": pick(ABSENT, 1, 2), "mlp_only_layers": pick(ABSENT, [0])}


def qwen3_moe(pick):
    experts, top = pick((4, 2), (6, 3))
    return {**base(pick, 4, 2), **balance(pick), "num_experts": experts, "num_experts_per_tok": top, "head_dim": 6,
            "moe_intermediate_size": pick(6, 8), "norm_topk_prob": pick(ABSENT, True),
            "attention_bias": pick(ABSENT, True), "mlp_only_layers": pick(ABSENT, [1])}


def olmoe(pick):
    experts, top = pick((4, 2), (6, 4))
    return {**base(pick, 4, pick(2, 4)), **balance(pick), "num_experts": experts, "num_experts_per_tok": top,
            "norm_topk_prob": pick(ABSENT, True), "attention_bias": pick(ABSENT, True)}


def granitemoe(pick):
    experts, top = pick((4, 2), (6, 3))
    return {**base(pick, 4, pick(2, 4)), **balance(pick), "num_local_experts": experts, "num_experts_per_tok": top,
            "embedding_multiplier": pick(ABSENT, 3.0), "residual_multiplier": pick(ABSENT, 0.5),
            "attention_multiplier": pick(ABSENT, 0.25), "logits_scaling": pick(ABSENT, 2.0)}


def gpt_oss(pick):
    experts, top = pick((4, 2), (6, 3))
    return {**base(pick, 4, 2), **balance(pick), "num_local_experts": experts, "num_experts_per_tok": top,
            "head_dim": 6, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"],
            "swiglu_limit": 0.05, "rope_parameters": {"rope_type": "default"}}


def glm4_moe(pick):
    # A token needs more groups than one, so that groups decide.
    return {**base(pick, 4, 2), "n_routed_experts": 8, "num_experts_per_tok": pick(3, 4), "n_group": pick(2, 4),
            "topk_group": 2, "moe_intermediate_size": pick(6, 8), "n_shared_experts": pick(1, 2), "head_dim": 8,
            "first_k_dense_replace": pick(0, 1), "norm_topk_prob": pick(ABSENT, True, False),
            "routed_scaling_factor": pick(ABSENT, 2.5), "use_qk_norm": pick(ABSENT, True),
            "partial_rotary_factor": 0.5, "attention_bias": pick(ABSENT, True)}


def yarn(pick):
    """Draws no scaling of rotary embedding, or yarn with factors of scores and of cosines, in either spelling."""
    scaling = {pick("rope_type", "type"): "yarn", "factor": pick(4, 40), "original_max_position_embeddings": 8,
               "mscale": pick(ABSENT, 1.0, 0.707), "mscale_all_dim": pick(ABSENT, 1.0, 0.707)}
    return pick({}, {"rope_scaling": scaling}, {"rope_scaling": scaling})


def latent(pick, **more):
    return {**base(pick, 4, 4), **yarn(pick), "kv_lora_rank": pick(8, 10), "q_lora_rank": pick(None, 12),
            "qk_nope_head_dim": pick(6, 8), "qk_rope_head_dim": pick(4, 6), "v_head_dim": pick(4, 10),
            "n_routed_experts": 8, "moe_intermediate_size": pick(6, 8), "n_shared_experts": pick(1, 2),
            "first_k_dense_replace": pick(0, 1), "routed_scaling_factor": pick(ABSENT, 2.5),
            "attention_bias": pick(ABSENT, True), **more}


def deepseek_v2(pick):
    grouped = {"topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 2}
    return latent(pick, num_experts_per_tok=pick(3, 4), norm_topk_prob=pick(ABSENT, True, False),
                  num_key_value_heads=pick(ABSENT, 4), mlp_bias=pick(ABSENT, True),
                  **pick({"topk_method": pick(ABSENT, "greedy"), "n_group": pick(ABSENT, 1)}, grouped, grouped))


def deepseek_v3(pick):
    return latent(pick, num_experts_per_tok=pick(2, 3), n_group=pick(2, 4), topk_group=2, num_key_value_heads=4,
                  norm_topk_prob=pick(ABSENT, True, False), rope_interleave=pick(ABSENT, True, False))


MAKERS = {"deepseek_v2": deepseek_v2, "deepseek_v3": deepseek_v3, "glm4_moe": glm4_moe, "gpt_oss": gpt_oss,
          "granitemoe": granitemoe, "mixtral": mixtral, "olmoe": olmoe, "qwen2_moe": qwen2_moe, "qwen3_moe": qwen3_moe}
