"""Random texts that tempt the words that tokenizers keep, and tokenizers of nine kinds that were trained on them.

data_build.py imports this once it runs in a Python with `tokenizers`.
"""
import random

import tokenizers
from dtc_data import tokenizer as ours
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

END = "<|end|>"
SAMPLES = (
    "it's a word's worth, isn't it? I'll SAY'LL",
    "  two  blanks \n\n\n new\tlines \r\n and tabs\t\tx",
    "x\n y\n\nz a\n",
    "def f(self):\n        return [1234567, 89.5]  # ten-percent\n",
    "naïve café — “quoted” text… 1½ ٣٤ ⅷ",
    "日本語 の text と english",
    "e\u0301 combining, \u00a0no-break\u2003em\u0085next",
    "<|end|> inside and<|end|>beside",
    "a",
    " ",
    "\n",
    "!? ?! .\n\n.\r\r",
    "\x1c\x1d\x00 controls \x0b\x0c",
    "emoji 👩‍👩‍👧 done",
    "I'M 'RE 's\u017f 'ſ LL'",
    "\u3000wide\u3000 blank",
    "tail blank ",
)


def random_text(draw):
    parts = []
    for _ in range(draw.randrange(1, 12)):
        kind = draw.randrange(4)
        if kind == 0:
            parts.append(draw.choice(SAMPLES))
        elif kind == 1:
            parts.append("".join(draw.choice("abcDEF 0123'.,\n\t -<>|éß日") for _ in range(draw.randrange(20))))
        else:
            parts.append(
                " ".join(
                    draw.choice(("the", "of", "Cat", "sat", "on", "mat.", "and", "1999", "x-y")) for _ in range(9)
                )
            )
    return draw.choice(("", " ", "\n")).join(parts)


def texts(seed, count):
    draw = random.Random(seed)
    return list(SAMPLES) + [random_text(draw) for _ in range(count)]


def trained(model, trainer, pre_tokenizer, normalizer=None, decoder=None):
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer, made.decoder = pre_tokenizer, decoder
    if normalizer:
        made.normalizer = normalizer
    made.train_from_iterator(texts(1, 300), trainer)
    return made


def byte_level(pattern=None):
    if pattern is None:
        split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        split = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[END],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    return trained(
        models.BPE(), trainer, split, normalizers.NFC() if pattern == ours.QWEN2 else None, decoders.ByteLevel()
    )


def make_tokenizers():
    """Returns name -> (tokenizer, whether words are kept)."""
    template = byte_level(ours.LLAMA3)
    template.add_special_tokens(["<|begin|>"])
    template.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", template.token_to_id("<|begin|>"))]
    )
    template.enable_truncation(5)
    template.enable_padding(length=9)
    alphabet = sorted({letter for text in texts(1, 300) for letter in text})
    word_piece = trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]", END], show_progress=False),
        pre_tokenizers.BertPreTokenizer(),
        normalizers.BertNormalizer(lowercase=True),
    )
    unigram = trained(
        models.Unigram(),
        trainers.UnigramTrainer(
            vocab_size=300, special_tokens=["<unk>", END], unk_token="<unk>", show_progress=False
        ),
        pre_tokenizers.Metaspace(),
    )
    whole = trained(
        models.BPE(unk_token="<unk>"),
        trainers.BpeTrainer(
            vocab_size=500, special_tokens=["<unk>", END], initial_alphabet=alphabet, show_progress=False
        ),
        pre_tokenizers.Split(tokenizers.Regex("\n"), "isolated"),
    )
    stripping = byte_level()
    stripping.add_special_tokens([tokenizers.AddedToken("<mask>", rstrip=True)])
    return {
        "gpt2": (byte_level(), True),
        "llama3": (byte_level(ours.LLAMA3), True),
        "qwen2": (byte_level(ours.QWEN2), True),
        "o200k": (byte_level(ours.O200K), True),
        "template": (template, True),
        "word-piece": (word_piece, True),
        "unigram": (unigram, True),
        "whole": (whole, False),
        "stripping": (stripping, False),
    }
