// The compression of gradients: what ranks of data parallelism send in place of their sum.
#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/Pins.h"

namespace dtc::families {
namespace {

bool isExact(const Decisions &d) { return d.compress() == Compression(); }
std::string methodOf(const Decisions &d) { return textOf(d.compress()); }

std::string readMethod(llvm::StringRef word, Decisions &d) {
  std::optional<Compression> method = compressionFrom(word);
  d.compression = numbersOf(method.value_or(Compression()));
  return method ? "" : "is '" + word.str() + "', wanted none or powersgd:RANK";
}

std::optional<UserError> readPinnedMethod(const std::string &text, Decisions &d) {
  if (readMethod(text, d).empty())
    return std::nullopt;
  std::string why = llvm::StringRef(text).starts_with("powersgd:")
                        ? "a rank is a whole number from 1 to " + std::to_string(kMostCompressRank)
                        : "there is no such method";
  return refusedWord("compress", text, why, "use none, or powersgd:4 or another rank");
}

// Gradients are compressed where data parallelism is the only kind: what is left open follows.
void implyData(Pins &pins) {
  if (isExact(pins.decisions()))
    return;
  auto settle = [&](auto member) {
    if (!pins.has(member))
      pins.fix(member, Decisions().*member);
  };
  settle(&Decisions::tp);
  settle(&Decisions::pp);
  settle(&Decisions::cp);
  settle(&Decisions::ep);
  settle(&Decisions::zero);
  settle(&Decisions::offloadOptimizer);
}

constexpr llvm::StringRef kWhy = "gradients are compressed among copies of the whole model";
constexpr Rule kRules[] = {
    {.keys = "compress,dp",
     .holds = [](const Decisions &d) { return isExact(d) || d.dp > 1; },
     .why = "one rank of dp has no gradient to exchange",
     .mend = "use dp=2 or more, or compress=none"},
    {.keys = "compress,tp",
     .holds = [](const Decisions &d) { return isExact(d) || d.tp == 1; },
     .why = kWhy,
     .mend = "use tp=1, or compress=none"},
    {.keys = "compress,pp",
     .holds = [](const Decisions &d) { return isExact(d) || d.pp == 1; },
     .why = kWhy,
     .mend = "use pp=1, or compress=none"},
    {.keys = "compress,cp",
     .holds = [](const Decisions &d) { return isExact(d) || d.cp == 1; },
     .why = kWhy,
     .mend = "use cp=1, or compress=none"},
    {.keys = "compress,ep",
     .holds = [](const Decisions &d) { return isExact(d) || d.ep == 1; },
     .why = kWhy,
     .mend = "use ep=1, or compress=none"},
    {.keys = "compress,zero",
     .holds = [](const Decisions &d) { return isExact(d) || d.zero == 0; },
     .why = "ZeRO splits what compression needs whole",
     .mend = "use zero=0, or compress=none"},
    {.keys = "compress,offload_optimizer",
     .holds = [](const Decisions &d) { return isExact(d) || !d.offloadOptimizer; },
     .why = "an update on the host can't compress gradients",
     .mend = "use offload=0, or compress=none"},
};

constexpr Decision kCompressRows[] = {
    {.key = "compress",
     .field = fieldOf<&Decisions::compression>(),
     .value = methodOf,
     .listing = Listing::IfUnusual,
     .phrase = [](const Decisions &d) { return "gradients by " + methodOf(d); },
     .plan = {.form = PlanForm::Word, .mayMiss = true, .onlyUnusual = true, .readWord = readMethod},
     .pin = {.name = "compress",
             .meaning = "what ranks of dp send of gradients, with the rest kept for the next step",
             .words = "none or powersgd:RANK, as powersgd:4",
             .readWord = readPinnedMethod,
             .write = methodOf,
             .imply = implyData},
     .launchers = {isExact, "exact sums of gradients", "compress=none"},
     .mechanism = {"compressed gradients", [](const Decisions &d) { return isExact(d) ? 0 : 2; }},
     .rules = kRules,
     .leftOut = kOfTheStep},
};

} // namespace

llvm::ArrayRef<Decision> compress() { return kCompressRows; }

} // namespace dtc::families
