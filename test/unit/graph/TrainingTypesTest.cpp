#include "dialects/graph/GradientType.h"
#include "dialects/graph/OptimizerKind.h"
#include "dialects/graph/Precision.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

// Each switch lists all enumerators, so that whoever adds one meets these tests.
const char *wantedName(Precision precision) {
  switch (precision) {
  case Precision::F32:
    return "f32";
  case Precision::BF16:
    return "bf16";
  case Precision::F16:
    return "f16";
  case Precision::FP8:
    return "fp8";
  }
  return nullptr;
}

const char *wantedName(GradientType type) {
  switch (type) {
  case GradientType::F32:
    return "f32";
  case GradientType::BF16:
    return "bf16";
  case GradientType::F16:
    return "f16";
  }
  return nullptr;
}

const char *wantedName(OptimizerKind optimizer) {
  switch (optimizer) {
  case OptimizerKind::AdamW:
    return "adamw";
  case OptimizerKind::Sgd:
    return "sgd";
  case OptimizerKind::Lamb:
    return "lamb";
  case OptimizerKind::Lars:
    return "lars";
  case OptimizerKind::Muon:
    return "muon";
  }
  return nullptr;
}

const char *wantedName(MatrixRate rate) {
  switch (rate) {
  case MatrixRate::MatchRmsAdamW:
    return "match-rms-adamw";
  case MatrixRate::Original:
    return "original";
  }
  return nullptr;
}

// Tests that the table has a row for each enumerator, and that the name of each parses back.
template <typename Row, size_t kRows> void expectNames(const Row (&table)[kRows]) {
  for (int byte = 0; byte < 256; ++byte) {
    auto value = static_cast<decltype(Row::value)>(byte);
    const char *wanted = wantedName(value);
    ASSERT_EQ(wanted != nullptr, byte < static_cast<int>(kRows)) << byte;
    if (!wanted)
      continue;
    EXPECT_EQ(rowOf(table, value).value, value) << wanted;
    EXPECT_EQ(nameOf(value).str(), wanted);
    EXPECT_EQ(valueNamed(table, wanted), value) << wanted;
  }
  for (const char *other : {"", "F32", "fp16", "bf16 ", "int8", "adam", "AdamW"})
    EXPECT_EQ(valueNamed(table, other), std::nullopt) << other;
}

TEST(Precision, HasARowForEach) {
  expectNames(kPrecisions);
  EXPECT_EQ(alternatives(namesOf(kPrecisions)), "f32, bf16, f16 or fp8");
  for (const PrecisionRow &row : kPrecisions) {
    EXPECT_EQ(precisionFrom(row.name), row.value) << row.name.str();
    EXPECT_EQ(storedAs(row.stored), row.stored) << row.name.str();
    EXPECT_EQ(bytesOf(row.stored), row.bytes) << row.name.str();
  }
  EXPECT_EQ(storedAs(Precision::FP8), Precision::BF16);
}

TEST(GradientType, HasARowForEach) {
  expectNames(kGradientTypes);
  EXPECT_EQ(alternatives(offeredGradientTypes()), "f32 or bf16");
  EXPECT_EQ(gradientTypeFrom("f16"), GradientType::F16);
  EXPECT_EQ(offeredGradientTypeFrom("f16"), std::nullopt);
  EXPECT_EQ(offeredGradientTypeFrom("fp8"), std::nullopt);
  EXPECT_EQ(offeredGradientTypeFrom("bf16"), GradientType::BF16);
}

TEST(OptimizerKind, HasARowForEach) {
  expectNames(kOptimizers);
  EXPECT_EQ(alternatives(namesOf(kOptimizers)), "adamw, sgd, lamb, lars or muon");
  EXPECT_EQ(optimizerFrom("momentum"), std::nullopt);
  EXPECT_EQ(statesOf(OptimizerKind::AdamW).size(), 2u);
  EXPECT_EQ(statesOf(OptimizerKind::Lamb).size(), 2u);
  EXPECT_EQ(statesOf(OptimizerKind::Sgd).size(), 1u);
  EXPECT_EQ(statesOf(OptimizerKind::Lars).size(), 1u);
  EXPECT_EQ(statesOf(OptimizerKind::Muon).size(), 1u);
}

TEST(MatrixRate, HasARowForEach) {
  expectNames(kMatrixRates);
  EXPECT_EQ(alternatives(namesOf(kMatrixRates)), "match-rms-adamw or original");
  EXPECT_EQ(matrixRateFrom("original"), MatrixRate::Original);
}

TEST(Alternatives, AreASentence) {
  EXPECT_EQ(alternatives({}), "");
  EXPECT_EQ(alternatives({"a"}), "a");
  EXPECT_EQ(alternatives({"a", "b"}), "a or b");
}

} // namespace
} // namespace dtc
