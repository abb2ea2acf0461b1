"""Text to token ids, by a tokenizer.json of Hugging Face.

`tokenizers` splits text by a regular expression and looks each piece up in a small cache; that is most of its time.
Where a tokenizer is known to split text at every place between a letter, digit or sign and " x" (a blank and a
letter), whatever stands around it, the ids of a text are those of the pieces between such places one after the other.
`Words` then keeps the ids of each piece that it has seen. Where the expression is a known one, pieces of ASCII are
split by the same expression in Python, so that they are words. The first documents of each worker and one in a
thousand are encoded both ways; a difference ends the build.
"""

import array
import hashlib
import json
import os
import re

from dtc_data.errors import DataError, at, library

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
)
KNOWN = {GPT2, LLAMA3, QWEN2, O200K}

# A place where text may be cut: between a sign of ASCII and a blank that a letter follows.
CUT = re.compile(r"(?<=[!-~])(?= [A-Za-z])")
SPLITTING = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Metaspace"}
LOCAL_NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Precompiled"}
LONGEST_WORD = 128  # characters: longer ones are not kept
CHECKED_FIRST, CHECKED_EVERY = 64, 1000  # documents


def in_ascii(pattern):
    """Returns an expression of KNOWN as Python's re takes it, for text that is ASCII."""
    for name, letters in (("Lu", "A-Z"), ("Ll", "a-z"), ("Lt", ""), ("Lm", ""), ("Lo", ""), ("M", "")):
        pattern = pattern.replace(rf"\p{{{name}}}", letters)
    inside = False  # within brackets
    result = ""
    for part in re.split(r"(\\p\{.\}|\\.|[\[\]])", pattern):
        if part in ("[", "]"):
            inside = part == "["
        if part in (r"\p{L}", r"\p{N}"):
            letters = "A-Za-z" if part == r"\p{L}" else "0-9"
            part = letters if inside else f"[{letters}]"
        result += part
    return re.compile(result, re.ASCII)


def steps_of(part):
    """Returns the steps of a normalizer or pre-tokenizer of tokenizer.json, as a list."""
    if part is None:
        return []
    if part["type"] != "Sequence":
        return [part]
    inner = part.get("pretokenizers", part.get("normalizers", []))
    return [step for each in inner for step in steps_of(each)]


def word_pattern(normalizers, steps):
    """Returns the expression that splits text into words; None where it is not known."""
    if any(step["type"] != "NFC" for step in normalizers):
        return None
    last = steps[-1] if steps else {}
    if last.get("type") != "ByteLevel" or last.get("add_prefix_space", True):
        return None
    if len(steps) == 1 and last.get("use_regex", True):
        return GPT2
    if len(steps) == 2 and steps[0]["type"] == "Split" and not last.get("use_regex", True):
        split = steps[0]
        pattern = split["pattern"].get("Regex")
        if pattern in KNOWN and split["behavior"] in ("Isolated", "Removed") and not split["invert"]:
            return pattern if split["behavior"] == "Isolated" else None
    return None


def may_cut(content, normalizers, steps, pattern):
    """Returns whether the ids of a text are those of its parts between places of CUT."""
    for token in content.get("added_tokens", []):
        text = token["content"]
        if token["rstrip"] or CUT.search(text) or text[:1] == " " or token["lstrip"] and text[:1].isalpha():
            return False
    if pattern:
        return True
    splits = any(step["type"] in SPLITTING and step.get("split", True) for step in steps)
    known = all(step["type"] in SPLITTING | {"Punctuation", "Digits"} for step in steps)
    return splits and known and all(step["type"] in LOCAL_NORMALIZERS for step in normalizers)


class Words(dict):
    """The ids of words, as bytes. It is emptied when it is full."""

    def __init__(self, encode, most):
        super().__init__()
        self.encode, self.most = encode, most

    def __missing__(self, word):
        ids = self.encode(word)
        if len(word) <= LONGEST_WORD:
            if len(self) >= self.most:
                self.clear()
            self[word] = ids
        return ids


class Tokenizer:
    """A tokenizer.json, and the token that ends a document."""

    def __init__(self, path, document_end=None, special_tokens=True, drop_unknown=False, most_words=150_000):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one worker a core
        tokenizers = library("tokenizers", "dtc data build")
        try:
            with open(path, "rb") as file:
                text = file.read()
            self.content = json.loads(text)
            self.inner = tokenizers.Tokenizer.from_str(text.decode())
        except OSError as error:
            raise at(path, error.strerror) from error
        except Exception as error:  # tokenizers raises Exception itself
            raise at(path, f"it is no tokenizer.json: {error}") from error
        self.path, self.hash = path, hashlib.sha256(text).hexdigest()
        # These settings of tokenizer.json are for batches of a model, and would cut documents.
        self.inner.no_truncation()
        self.inner.no_padding()
        vocabulary = self.inner.get_vocab(with_added_tokens=True)
        self.vocabulary = max(vocabulary.values(), default=-1) + 1
        self.code = "H" if self.vocabulary <= 65536 else "i"
        normalizers, steps = steps_of(self.content.get("normalizer")), steps_of(self.content.get("pre_tokenizer"))
        pattern = word_pattern(normalizers, steps)
        self.cuts = may_cut(self.content, normalizers, steps, pattern)
        self.find_words = in_ascii(pattern).findall if pattern else None
        self.words = Words(self.encode_plain, most_words)
        self.added = sorted((each["content"] for each in self.content.get("added_tokens", [])), key=len)
        self.added_starts = tuple({each[:2] for each in self.added})
        self.prefix, self.suffix = self.ends_of_encoding() if special_tokens else (b"", b"")
        self.document_end = self.end_token(document_end)
        if self.document_end is not None:
            end = array.array(self.code, [self.document_end]).tobytes()
            self.suffix += b"" if self.suffix.endswith(end) else end
        self.alphabet = None if drop_unknown else self.alphabet_of(steps)
        self.documents = 0

    def encode_plain(self, text):
        """Returns the ids of a text as bytes, without special tokens at its ends, by `tokenizers` alone."""
        return array.array(self.code, self.inner.encode(text, add_special_tokens=False).ids).tobytes()

    def ends_of_encoding(self):
        """Returns the ids that the tokenizer's template puts before and behind every document."""
        plain, whole = (self.inner.encode("a", add_special_tokens=special).ids for special in (False, True))
        for at_id in range(len(whole) - len(plain) + 1):
            if whole[at_id : at_id + len(plain)] == plain:
                ends = whole[:at_id], whole[at_id + len(plain) :]
                return tuple(array.array(self.code, ids).tobytes() for ids in ends)
        raise at(self.path, "its template changes the ids of the text; --no-special-tokens leaves it out")

    def end_token(self, stated):
        """Returns the id that ends a document: the stated one, or the eos_token of the files beside the tokenizer."""
        if stated == "none":
            return None
        token, origin = stated, "--document-end"
        if stated is None:
            token, origin = self.eos_beside()
        if token is None:
            raise at(
                self.path,
                "nothing says which token ends a document: no eos_token in tokenizer_config.json "
                "beside it; state it: --document-end TOKEN, or 'none'",
            )
        found = self.inner.token_to_id(token)
        if found is None:
            raise at(self.path, f"it has no token '{token}', which {origin} names")
        return found

    def eos_beside(self):
        for name in ("tokenizer_config.json", "special_tokens_map.json"):
            file = os.path.join(os.path.dirname(self.path), name)
            if os.path.exists(file):
                try:
                    with open(file, encoding="utf-8") as opened:
                        token = json.load(opened).get("eos_token")
                except (OSError, ValueError, AttributeError) as error:
                    raise at(file, f"it can't be read: {error}") from error
                token = token.get("content") if isinstance(token, dict) else token
                if token:
                    return token, file
        return None, None

    def alphabet_of(self, steps):
        """Returns the characters that have a token, where one without would be dropped without a trace; else None."""
        model = self.content["model"]
        if model["type"] != "BPE" or model.get("unk_token") is not None or model.get("byte_fallback"):
            return None
        alphabet = {word for word in model["vocab"] if len(word) == 1}
        if not any(step["type"] == "ByteLevel" for step in steps):
            return alphabet | ({" "} if "▁" in alphabet else set())
        return None if len(alphabet) >= 256 and set(self.byte_letters()) <= alphabet else alphabet

    @staticmethod
    def byte_letters():
        """Returns the letter that stands for each byte in byte-level tokenizers."""
        shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = (each for each in range(256) if each not in shown)
        letters = {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(others)}
        return [letters[byte] for byte in range(256)]

    def check_alphabet(self, text, location):
        normalizer = self.inner.normalizer
        letters = set(normalizer.normalize_str(text) if normalizer else text)
        if any(step["type"] == "ByteLevel" for step in steps_of(self.content.get("pre_tokenizer"))):
            names = self.byte_letters()
            missing = [char for char in letters if any(names[byte] not in self.alphabet for byte in char.encode())]
        else:
            missing = [char for char in letters if char not in self.alphabet and not char.isspace()]
        for added in self.added if missing else ():
            missing = [char for char in missing if char not in added]
        if missing:
            raise at(
                location,
                f"the tokenizer has no token for {min(missing)!r} and would drop it; --drop-unknown allows that",
            )

    def body(self, text):
        """Returns the ids of a text as bytes, without those at the ends of a document."""
        if (
            not self.cuts
            or any(start in text for start in self.added_starts)
            and any(t in text for t in self.added)
        ):
            return self.encode_plain(text)
        keep = self.words.__getitem__
        if self.find_words is None:
            return b"".join(map(keep, CUT.split(text)))
        if text.isascii():
            return b"".join(map(keep, self.find_words(text)))
        pieces = []
        for part in CUT.split(text):
            if part.isascii():
                pieces += self.find_words(part)
            else:
                pieces.append(part)
        return b"".join(map(keep, pieces))

    def encode(self, text, location, begins=True, ends=True):
        """Returns the ids of a document, or of a part of one, as bytes."""
        try:
            if self.alphabet is not None:
                self.check_alphabet(text, location)
            ids = self.body(text)
            self.documents += 1
            if self.cuts and (self.documents <= CHECKED_FIRST or self.documents % CHECKED_EVERY == 0):
                if ids != self.encode_plain(text):
                    raise DataError(
                        f"{location}: internal error: words kept and the tokenizer give other ids; "
                        "this is a bug of dtc data: report the tokenizer and this text"
                    )
        except (UnicodeEncodeError, TypeError) as error:
            if any("\ud800" <= char <= "\udfff" for char in text):
                raise at(location, "the text has half of a surrogate pair, which no UTF-8 can hold") from error
            raise
        return (self.prefix if begins else b"") + ids + (self.suffix if ends else b"")
