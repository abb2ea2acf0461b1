// Reads graph IR from text.
#include "compiler/text/ParseModel.h"

#include "compiler/support/JsonText.h"
#include "compiler/text/ReadNotes.h"
#include "compiler/text/Tokens.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace dtc {
namespace {

// "use of value '%w' expects different type than prior uses: 'A' vs 'B'", which the parser says of
// a line that spells a type, in words of a model.
std::string sayMismatch(StringRef message) {
  static const llvm::Regex pattern(
      "^use of value '(.*)' expects different type than prior uses: '(.*)' vs '(.*)'$");
  SmallVector<StringRef> parts;
  if (!pattern.match(message, &parts))
    return message.str();
  return ("'" + parts[1] + "' is written as " + parts[2] + " here, but it is " + parts[3]).str();
}

// The parser's words for what has a name in a model. `text` is all of it, the place in it.
std::string sayPlainly(const UserError &error, StringRef text) {
  StringRef message = StringRef(error.message).trim();
  if (message == "use of undeclared SSA value name") {
    StringRef line = text;
    for (int64_t i = 1; i < error.place.line; ++i)
      line = line.split('\n').second;
    StringRef name = line.drop_front(std::min<size_t>(error.place.column - 1, line.size()));
    name =
        name.take_while([](char c) { return llvm::isAlnum(c) || StringRef("%_$.-#").contains(c); });
    if (!name.empty())
      return ("'" + name + "' is not defined above").str();
  }
  static const llvm::Regex kinds("^(.*expected )::[A-Za-z:]+ to be (one of: .*)$");
  SmallVector<StringRef> parts;
  if (kinds.match(message, &parts))
    return (parts[1] + parts[2]).str();
  return message.str();
}

// Where brackets nest deeper than `most` levels; npos where none do. The parser, and whoever walks
// what it read, goes down by recursion.
size_t findDeepBracket(StringRef text, size_t most) {
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        at += text[at] == '\\';
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (StringRef("([{<").contains(c)) {
      if (++depth > most)
        return at;
    } else if (StringRef(")]}>").contains(c) && depth > 0 && !(c == '>' && text[at - 1] == '-')) {
      --depth;
    }
  }
  return StringRef::npos;
}

} // namespace

std::string nameTypes(StringRef message, StringRef source) {
  std::map<std::string, std::string> names; // by type
  SmallVector<Token> tokens;
  for (const Token &token : splitTokens(source))
    if (token.kind != Token::Kind::Space && token.kind != Token::Kind::Comment)
      tokens.push_back(token);
  for (size_t i = 0; i + 2 < tokens.size(); ++i)
    if (tokens[i].kind == Token::Kind::Alias && tokens[i + 1].text == "=" &&
        tokens[i + 2].kind == Token::Kind::Type)
      names.try_emplace(tokens[i + 2].text.str(), tokens[i].text.str());
  std::string result;
  for (const Token &token : splitTokens(message)) {
    auto known = token.kind == Token::Kind::Type ? names.find(token.text.str()) : names.end();
    result +=
        known == names.end() ? token.text.str() : known->second + " (" + token.text.str() + ")";
  }
  return result;
}

UserError sayByName(const DiagnosticCapture &capture, UserError other, StringRef source) {
  UserError error = capture.errorOr(std::move(other));
  std::string said = sayMismatch(error.message);
  bool isMismatch = said != error.message;
  if (!isMismatch)
    said = sayPlainly(error, source);
  error.message = nameTypes(said, source);
  // The parser's own notes are for people who build MLIR tools.
  if (isMismatch)
    error.note = "the types of the operands follow ':', in their order";
  else if (StringRef types = capture.operationTypes(); types.contains("tensor<"))
    error.note = nameTypes("the types are " + types.str(), source);
  else
    error.note = kWhatModelsAre;
  return error;
}

Result<OwningOpRef<ModuleOp>> parseModel(MLIRContext *context, const std::string &path,
                                         StringRef text, SourceNotes *notes) {
  constexpr size_t kMostLevels = 256;
  if (size_t at = findDeepBracket(text, kMostLevels); at != StringRef::npos)
    return UserError("brackets nest deeper than " + std::to_string(kMostLevels) + " levels",
                     kWhatModelsAre, placeAt(path, text, at));
  // The types of an op that is wrong are read off its print, which belongs to no message of ours.
  bool prints = context->shouldPrintOpOnDiagnostic();
  context->printOpOnDiagnostic(true);
  llvm::scope_exit restore([&] { context->printOpOnDiagnostic(prints); });
  DiagnosticCapture capture(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path), llvm::SMLoc());
  StringRef buffer = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  Block ops;
  AsmParserState state;
  OwningOpRef<ModuleOp> module;
  Location start = FileLineColLoc::get(context, path, 1, 1);
  if (succeeded(parseAsmSourceFile(sources, &ops, ParserConfig(context), &state)))
    module = mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(&ops, context, start);
  if (!module) {
    return sayByName(capture,
                     UserError("reading model '" + path + "': it can't be parsed", kWhatModelsAre),
                     buffer);
  }
  if (notes)
    *notes = readNotes(*module, state, buffer);
  return module;
}

} // namespace dtc
