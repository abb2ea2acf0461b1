// Recognises the format of a file by its first bytes, so that no other format is taken for tokens.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"

#include <string>

namespace dtc::rt {

// The content of a file, according to its first bytes.
struct Content {
  // The formats that are told apart.
  enum class Kind {
    Empty,
    LlmcU16,       // an llm.c header: ids of 2 bytes follow
    LlmcU32,       // an llm.c header: ids of 4 bytes follow
    MegatronIndex, // the .idx of a Megatron data set
    Stateable,     // JSON, or text in UTF-16: bytes of ids may look so by chance
    Other,         // another format that holds no tokens
    Text,          // UTF-8 without a NUL, and no JSON
    Unknown,
  };
  Kind kind = Kind::Unknown;
  // Stateable and Other: the format, and what to do.
  std::string what;   // "a gzip archive"
  std::string advice; // "unpack it: gunzip 'a.gz'"
  // Returns true if the file holds no tokens.
  bool isRefused() const { return kind == Kind::Stateable || kind == Kind::Other; }
};

// Recognises the content of `file`; reads at most 4 KiB. Errors: those of reading.
Status recognise(const InputFile &file, Content &content);

// Returns advice for files of text, for messages.
std::string tokenizeAdvice(const std::string &path);

} // namespace dtc::rt
