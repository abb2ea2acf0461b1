// Prints tables of measured points.
#include "compiler/measure/calibrate/Report.h"

#include "compiler/measure/calibrate/CalibrateResult.h"

#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

namespace dtc {
namespace {

std::string text(int64_t value) { return std::to_string(value); }

std::string timeOf(const Measured &time) { return printRounded(time.seconds, Quantity::Seconds); }

std::string spreadOf(const Measured &time) {
  char digits[32];
  snprintf(digits, sizeof(digits), "%.0f%%", 100 * time.spread);
  return digits;
}

std::string bytesOf(int64_t bytes) {
  return printRounded(static_cast<double>(bytes), Quantity::Bytes);
}

std::string rateOf(double amount, const Measured &time, Quantity quantity) {
  return printRounded(amount / time.seconds, quantity);
}

void printProducts(const Calibration &calibration, llvm::raw_ostream &out) {
  Table table({"product", "batch", "type", "units", "time", "rate", "spread", "runs"});
  for (const ProductPoint &point : calibration.products) {
    double flops = 2.0 * static_cast<double>(point.m) * static_cast<double>(point.n) *
                   static_cast<double>(point.k) * static_cast<double>(point.batch);
    table.addRow({text(point.m) + " x " + text(point.n) + " x " + text(point.k), text(point.batch),
                  nameOf(point.type).str(), text(point.units), timeOf(point.time),
                  rateOf(flops, point.time, Quantity::FlopsPerSecond), spreadOf(point.time),
                  text(point.time.repeats)});
  }
  table.print(out);
}

void printMemory(const Calibration &calibration, llvm::raw_ostream &out) {
  Table table({"memory", "bytes", "units", "time", "rate", "spread", "runs"});
  for (const MemoryPoint &point : calibration.memory)
    table.addRow({nameOf(point.pattern).str(), bytesOf(point.bytes), text(point.units),
                  timeOf(point.time),
                  rateOf(static_cast<double>(point.bytes), point.time, Quantity::BytesPerSecond),
                  spreadOf(point.time), text(point.time.repeats)});
  table.print(out);
}

void printAttention(const Calibration &calibration, llvm::raw_ostream &out) {
  Table table(
      {"attention", "sequence", "head", "heads", "units", "time", "rate", "spread", "runs"});
  for (const AttentionPoint &point : calibration.attention) {
    double length = static_cast<double>(point.sequence);
    double flops = (point.backward ? 8 : 4) * (point.causal ? 0.5 : 1) * length * length *
                   static_cast<double>(point.headDim * point.heads);
    table.addRow({std::string(point.causal ? "causal " : "full ") +
                      (point.backward ? "backward" : "forward"),
                  text(point.sequence), text(point.headDim), text(point.heads), text(point.units),
                  timeOf(point.time), rateOf(flops, point.time, Quantity::FlopsPerSecond),
                  spreadOf(point.time), text(point.time.repeats)});
  }
  table.print(out);
}

void printCollectives(const Calibration &calibration, llvm::raw_ostream &out) {
  Table table({"collective", "ranks", "bytes", "time", "bytes/time", "spread", "runs"});
  for (const CollectivePoint &point : calibration.collectives)
    table.addRow({nameOf(point.kind).str(), text(point.ranks), bytesOf(point.bytes),
                  timeOf(point.time),
                  rateOf(static_cast<double>(point.bytes), point.time, Quantity::BytesPerSecond),
                  spreadOf(point.time), text(point.time.repeats)});
  table.print(out);
}

} // namespace

void printCalibrationReport(const CalibrateResult &calibrateResult, llvm::raw_ostream &out) {
  const Calibration &calibration = calibrateResult.calibration;
  out << calibration.machine << "\n" << calibration.software << "\n";
  out << "units: cores of a process, or multiprocessors; median of runs; spread: distance of the "
         "quartiles over the median\n";
  for (const LaunchPoint &point : calibration.launches)
    out << "\nstarting a kernel on " << point.units << (point.units == 1 ? " unit" : " units")
        << (point.graph ? " within a captured graph: " : ": ") << timeOf(point.time) << "\n";
  for (auto *print : {printProducts, printMemory, printAttention, printCollectives}) {
    out << "\n";
    print(calibration, out);
  }
  for (const std::string &remark : calibrateResult.remarks)
    out << "\nnote: " << remark << "\n";
}

} // namespace dtc
