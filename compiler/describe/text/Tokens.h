// Splits the text of graph IR into the tokens that formatting needs.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace dtc {

// A token and its text.
struct Token {
  // The kinds of tokens that formatting distinguishes.
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

// Splits all of `text`, in order: the texts of the tokens together are `text`.
llvm::SmallVector<Token> splitTokens(llvm::StringRef text);

// Returns a floating-point literal with as few digits as give the same number: "1.000000e-05"
// becomes "1.0e-5", "5.000000e+05" becomes "500000.0". Any other text is returned without changes.
std::string shortenNumber(llvm::StringRef literal);

} // namespace dtc
