// Recognises what a file holds by its first bytes, so that no other format is taken for tokens.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"

#include <string>

namespace dtc::rt {

// The content of a file, as its first bytes say.
struct Content {
  enum class Kind {
    Empty,
    LlmcU16,       // an llm.c header: ids of 2 bytes follow
    LlmcU32,       // an llm.c header: ids of 4 bytes follow
    MegatronIndex, // the .idx of a Megatron data set
    Json,          // JSON or JSON lines, as bytes of ids may look by chance
    Other,         // another format that holds no tokens
    Text,          // UTF-8 without a NUL, and no JSON
    Unknown,
  };
  Kind kind = Kind::Unknown;
  // Of Json and Other: which format it is, and what to do.
  std::string what;   // "a gzip archive"
  std::string advice; // "unpack it: gunzip 'a.gz'"
  bool isRefused() const { return kind == Kind::Json || kind == Kind::Other; }
};

// Reads at most 4 KiB of `file`.
// Errors: those of reading.
Status recognise(const InputFile &file, Content &content);

// How to turn text into tokens, for messages.
inline constexpr const char *kTokenizeAdvice =
    "tokenize it into an llm.c .bin, a Megatron .bin and .idx, or plain ids (u16:FILE, u32:FILE)";

} // namespace dtc::rt
