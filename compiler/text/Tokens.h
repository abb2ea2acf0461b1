// The words of graph IR as text, as far as its formatting needs them.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace dtc {

struct Token {
  enum class Kind {
    Space,      // blanks and line ends
    Comment,    // "// ..." up to the end of the line
    String,     // "..."
    Value,      // %x, %0#1
    Alias,      // !hidden
    Type,       // tensor<...>
    Number,     // 1024, 1.0e-5
    Word,       // keywords, names of ops, @symbols, #attributes, ^blocks
    Punctuation // one character
  };
  Kind kind;
  llvm::StringRef text;
};

// All of `text`, in order: the tokens' texts joined are `text`.
llvm::SmallVector<Token> splitTokens(llvm::StringRef text);

// A floating-point literal in as few digits as it takes to read the same number again:
// "1.000000e-05" is "1.0e-5", "5.000000e+05" is "500000.0". Any other text stays as it is.
std::string shortenNumber(llvm::StringRef literal);

} // namespace dtc
