"""Modules whose attention has masks: padding that classes of transformers read of an input, positions as a bias,
windows, and scores of heads without a value."""
import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, LENGTH = 61, 16
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
         "num_attention_heads": 4}


class Own(nn.Module):
    """A class of transformers as a function of its inputs. Names of parameters are its own."""

    def __init__(self, model):
        super().__init__()
        for name, child in model.named_children():
            self.add_module(name, child)
        object.__setattr__(self, "model_", model.train())


class WithLabels(Own):
    """Its loss of padded samples. The mask has holes, too."""

    def forward(self, input_ids, attention_mask, labels):
        return self.model_(input_ids=input_ids, attention_mask=attention_mask, labels=labels).loss


class Translating(Own):
    """The loss of an encoder and decoder."""

    def forward(self, input_ids, attention_mask, labels):
        return self.model_(input_ids=input_ids, attention_mask=attention_mask, labels=labels, use_cache=False).loss


class Logits(Own):
    """The logits of a language model."""

    def forward(self, tokens):
        return self.model_(input_ids=tokens, use_cache=False).logits


def bert(implementation="sdpa"):
    from transformers import BertConfig, BertForMaskedLM
    config = BertConfig(**SIZES, max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return WithLabels(BertForMaskedLM._from_config(config, attn_implementation=implementation))


def bert_eager():
    return bert("eager")


def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(vocab_size=VOCABULARY, d_model=24, d_kv=6, d_ff=40, num_layers=2, num_heads=4, dropout_rate=0.0,
                      relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=2,
                      pad_token_id=0)
    return Translating(T5ForConditionalGeneration._from_config(config, attn_implementation="sdpa"))


def gemma3():
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig
    # With a usual epsilon five steps are chaotic: in f64 PyTorch itself has other losses.
    config = Gemma3TextConfig(**{**SIZES, "num_hidden_layers": 4}, num_key_value_heads=2, head_dim=8, rms_norm_eps=3.0,
                              query_pre_attn_scalar=8, sliding_window=5, max_position_embeddings=32,
                              layer_types=2 * ["sliding_attention", "full_attention"])
    return Logits(Gemma3ForCausalLM._from_config(config, attn_implementation="sdpa"))


class OssAttention(nn.Module):
    """The attention of GPT-OSS, with a window in every other layer, as its class calls it."""

    def __init__(self):
        from transformers import GptOssConfig
        from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssRotaryEmbedding
        super().__init__()
        sizes = {**SIZES, "num_hidden_layers": 4}
        config = GptOssConfig(**sizes, num_key_value_heads=2, head_dim=8, sliding_window=5, max_position_embeddings=32,
                              num_local_experts=4, layer_types=2 * ["sliding_attention", "full_attention"],
                              rope_parameters={"rope_type": "default", "rope_theta": 1e4})
        config._attn_implementation = "eager"
        self.config = config
        self.embed, self.head = nn.Embedding(VOCABULARY, 24), nn.Linear(24, VOCABULARY)
        self.layers = nn.ModuleList(GptOssAttention(config, layer) for layer in range(4))
        object.__setattr__(self, "rotary_", GptOssRotaryEmbedding(config))

    def forward(self, tokens):
        from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
        x, places = self.embed(tokens), torch.arange(tokens.shape[1])[None]
        turned = self.rotary_(x, places)
        for layer, make in zip(self.layers, 2 * (create_sliding_window_causal_mask, create_causal_mask)):
            mask = make(config=self.config, inputs_embeds=x, attention_mask=None, cache=None, position_ids=places)
            x = x + layer(x, position_embeddings=turned, attention_mask=mask)[0]
        return self.head(x)


class Lengths(nn.Module):
    """A classifier of texts of given lengths, whose mask says so."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads, self.embed = heads, nn.Embedding(VOCABULARY, width)
        self.qkv, self.out, self.head = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 5)

    def forward(self, tokens, lengths):
        x = self.embed(tokens)
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        seen = torch.arange(length) < lengths[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :])
        return self.head((x + self.out(y.transpose(1, 2).reshape(batch, length, width)))[:, 0])


LABELLED = (("input_ids", [LENGTH], VOCABULARY), ("attention_mask", [LENGTH], 2), ("labels", [LENGTH], -VOCABULARY))
TEXTS = (("tokens", [LENGTH], VOCABULARY), ("targets", [LENGTH], VOCABULARY))
MASKS = {
    "bert": (bert, LABELLED, None, ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "bert_eager": (bert_eager, LABELLED, None, ("dp=2,tp=2",)),
    "t5": (t5, LABELLED, None, ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "gemma3": (gemma3, TEXTS, "cross_entropy", ("dp=2,tp=2,sp=0", "tp=4", "pp=2", "dp=2,tp=1,zero=3")),
    "oss_attention": (OssAttention, TEXTS, "cross_entropy",
                      ("dp=2,tp=2,sp=0", "pp=2", "dp=2,tp=1,zero=3")),
    "lengths": (Lengths, (("tokens", [6], VOCABULARY), ("lengths", [], 7), ("targets", [], 5)), "cross_entropy",
                ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
}
