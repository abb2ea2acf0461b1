#include "tools/dtrun/DataSummary.h"

#include "runtime/base/Text.h"
#include "runtime/format/Counted.h"
#include "runtime/format/JsonString.h"
#include "runtime/format/Printable.h"

#include <cstdio>

namespace dtc::rt {

using format::text;

namespace {

std::string shortNumber(double value, const char *form) {
  char digits[40];
  std::snprintf(digits, sizeof(digits), form, value);
  return digits;
}

// Returns a JSON string without bytes that are not UTF-8.
std::string jsonText(const std::string &value) {
  return format::jsonString(format::printable(value));
}

std::string jsonList(const std::vector<std::string> &values) {
  std::string all;
  for (const std::string &value : values)
    all += text(all.empty() ? "" : ",", jsonText(value));
  return text("[", all, "]");
}

std::string jsonNumber(const std::optional<uint64_t> &value) {
  return value ? text(*value) : "null";
}

// Returns names as in "'a.npy' and 'b.npy'". If there are many, returns their number.
std::string namesOf(const std::vector<std::string> &files) {
  constexpr size_t most = 2;
  std::string names;
  for (const std::string &file : files)
    names += text(names.empty() ? "" : " and ", "'", format::printable(file), "'");
  if (files.size() > most)
    names = text(files.size(), " files, '", format::printable(files.front()), "' to '",
                 format::printable(files.back()), "'");
  return names;
}

double epochsOf(const DataSummary &data) {
  return static_cast<double>(data.steps) * static_cast<double>(data.globalBatch) /
         static_cast<double>(*data.samples);
}

// Returns the share of the samples' tokens that no document has.
double emptyShare(const DataSummary::Packed &packed) {
  return 1 - static_cast<double>(packed.tokens) / static_cast<double>(packed.rooms);
}

// Returns the sources of a mixture: "0.7 of 'a' (840 samples, 2.1 epochs) and 0.3 of 'b' (...)".
std::string mixtureAsText(const DataSummary &data) {
  std::string all;
  for (size_t i = 0; i < data.mixture.size(); ++i) {
    const DataSummary::Part &part = data.mixture[i];
    all += text(i == 0                        ? ""
                : i + 1 < data.mixture.size() ? ", "
                                              : " and ",
                shortNumber(part.weight, "%.6g"), " of '", format::printable(part.path), "' (",
                format::counted(part.samples, "sample"), ", ", shortNumber(part.epochs, "%.3g"),
                " epochs)");
  }
  return all;
}

std::string mixtureAsJson(const DataSummary &data) {
  std::string all;
  for (const DataSummary::Part &part : data.mixture)
    all +=
        text(all.empty() ? "" : ",", "{\"path\":", jsonText(part.path),
             ",\"weight\":", shortNumber(part.weight, "%.9g"), ",\"tokens\":", part.tokens,
             ",\"samples\":", part.samples, ",\"epochs\":", shortNumber(part.epochs, "%.9g"), "}");
  return text(",\"sources\":[", all, "]");
}

} // namespace

std::string dataAsText(const DataSummary &data, bool isEvaluation) {
  std::string line = isEvaluation ? "evaluation data: " : "data: ";
  if (!data.samples)
    return text(line, "random tokens, without an end");
  line += data.mixture.empty() ? text(namesOf(data.files), " (", data.format, "): ")
                               : text(mixtureAsText(data), ", ", data.format, ": ");
  if (data.tokens)
    line += format::counted(*data.tokens, "token") +
            (data.packed ? text(" in ", format::counted(data.packed->documents, "document")) : "") +
            ", ";
  line += format::counted(*data.samples, "sample");
  if (data.sequenceLength > 0)
    line += " of " + format::counted(data.sequenceLength, "token");
  if (data.packed)
    line += text(" (", shortNumber(100 * emptyShare(*data.packed), "%.2g"), " % empty)");
  std::string epochs = shortNumber(epochsOf(data), "%.3g");
  if (isEvaluation)
    line += ", all read each time";
  else if (!data.mixture.empty())
    line += text("; ", format::counted(data.steps, "step"), " of ", data.globalBatch);
  else
    line +=
        text("; ", format::counted(data.steps, "step"), " of ", data.globalBatch,
             data.steps == 1 ? " reads " : " read ", epochs, epochs == "1" ? " epoch" : " epochs");
  if (!data.leftOut.empty())
    line += text("; left out: ", namesOf(data.leftOut));
  return line;
}

std::string dataAsJson(const DataSummary &data, bool isEvaluation) {
  std::string line =
      text("{\"", isEvaluation ? "eval_data" : "data", "\":{\"files\":", jsonList(data.files),
           ",\"left_out\":", jsonList(data.leftOut), ",\"format\":", jsonText(data.format),
           ",\"tokens\":", jsonNumber(data.tokens), ",\"samples\":", jsonNumber(data.samples));
  if (data.packed)
    line += text(",\"documents\":", data.packed->documents,
                 ",\"empty\":", shortNumber(emptyShare(*data.packed), "%.9g"));
  bool hasEpochs = data.samples && data.mixture.empty();
  if (!isEvaluation)
    line += text(",\"epochs\":", hasEpochs ? shortNumber(epochsOf(data), "%.9g") : "null");
  if (!data.mixture.empty())
    line += mixtureAsJson(data);
  return line + "}}";
}

} // namespace dtc::rt
