#include "bench/planner/ErrorFit.h"
#include "compiler/price/uncertainty/Uncertainty.h"
#include "test/unit/published/CaseResults.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtc;
using namespace dtc::published;

namespace {

// Adds `count` rows of a family that take exp(off) times their estimate, and exp(without) times the
// estimate of constants that were fitted without them.
void add(CaseResults &made, std::vector<CrossFitted> &rows, const std::string &family, int count,
         double off, double without, const ErrorClass &key, double bytes = 40,
         const std::string &model = "") {
  for (int i = 0; i < count; ++i) {
    published::CaseResult now = made.add(family, 10, 10 * std::exp(-off), bytes);
    made.last().cells["model"] = model.empty() ? std::to_string(rows.size()) : model;
    now.key = key;
    published::CaseResult other = now;
    other.estimate.stepSeconds = 10 * std::exp(-without);
    rows.push_back({family, family + "|m|2048", now, other});
  }
}

const ErrorClass core{{"core", "gpu"}, "H100", ModelKind::Dense};
const ErrorClass bridge{{"bridge", "core", "gpu"}, "H100", ModelKind::Dense};
const ErrorClass experts{{"core", "gpu"}, "A100", ModelKind::Mixture};

const ClassErrors *find(const std::vector<ClassErrors> &table, const std::string &stack,
                        const std::string &device, std::optional<ModelKind> kind) {
  for (const ClassErrors &errors : table)
    if (errors.stack == stack && errors.device == device && errors.kind == kind)
      return &errors;
  return nullptr;
}

} // namespace

TEST(FitErrors, MakesEveryClassOfTheRows) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "a", 3, 0.1, 0.1, bridge);
  add(made, rows, "b", 2, 0.1, 0.1, experts);
  std::vector<ClassErrors> table = fitErrors(rows, 0.05);
  // Expected: bridge, core, gpu, on H100 and on any; core, gpu, on A100 and on any, of experts;
  // each kind; all.
  EXPECT_EQ(table.size(), 6u + 4u + 3u);
  const ClassErrors *all = find(table, "", "", std::nullopt);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->runs, 5);
  EXPECT_EQ(all->devices, "A100+H100");
  ASSERT_TRUE(find(table, "core", "H100", ModelKind::Dense));
  EXPECT_EQ(find(table, "core", "H100", ModelKind::Dense)->runs, 3);
  EXPECT_EQ(find(table, "core", "", ModelKind::Mixture)->runs, 2);
  EXPECT_FALSE(find(table, "bridge", "", ModelKind::Mixture));
}

// A family of 10,000 rows has the weight of 100. Its class is pulled by 5, so it is nearly all of
// it.
TEST(FitErrors, FollowsManyRowsAndDrawsFewToWiderClasses) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "many", 2500, 0.3025, 0.3025, core);
  add(made, rows, "few", 1, -0.5025, -0.5025, bridge);
  std::vector<ClassErrors> table = fitErrors(rows, 0.1);
  const ClassErrors *wide = find(table, "core", "H100", ModelKind::Dense);
  const ClassErrors *narrow = find(table, "bridge", "H100", ModelKind::Dense);
  ASSERT_TRUE(wide && narrow);
  EXPECT_NEAR(wide->timeHigh, 0.3025, 0.003);
  EXPECT_EQ(wide->timeLow, 0); // all of it is slower than estimated, but the estimate stays inside
  EXPECT_NEAR(narrow->timeHigh, 0.3025, 0.003); // five parts of six are those of the wider class
  EXPECT_NEAR(narrow->timeLow, -0.5025, 0.003); // one part is its own
}

// 400 rows of one family weigh as much as 20, and 4 rows of another one as 2.
TEST(FitErrors, WeighsFamiliesByTheRootOfTheirRows) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "many", 400, 0.1025, 0.1025, core);
  add(made, rows, "few", 4, 0.6025, 0.6025, core);
  auto high = [&](double tail) {
    return find(fitErrors(rows, tail), "", "", std::nullopt)->timeHigh;
  };
  // 2 of 20 + 2 + 5 are at 0.6, and some of the 5 are beyond.
  EXPECT_NEAR(high(0.05), 0.6025, 0.003);
  EXPECT_NEAR(high(0.15), 0.1025, 0.15);
  EXPECT_LT(high(0.15), 0.59);
}

TEST(FitErrors, CountsARowHalfAsItIsAndHalfWithoutItsSource) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "a", 2500, -0.2025, 0.4025, core);
  const ClassErrors errors = *find(fitErrors(rows, 0.1), "core", "H100", ModelKind::Dense);
  EXPECT_NEAR(errors.timeLow, -0.2025, 0.003);
  EXPECT_NEAR(errors.timeHigh, 0.4025, 0.003);
}

// The ratio of two configurations of one model is off by 0.2 in half of the pairs, and right in the
// rest.
TEST(FitErrors, NoiseIsOfPairsOfOneModel) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "a", 60, 0.9, 0.9, core, 40, "m");
  add(made, rows, "a", 60, 1.1, 1.1, core, 40, "m");
  add(made, rows, "b", 1, 0, 0, core);
  std::vector<ClassErrors> table = fitErrors(rows, 0.05);
  double noise = find(table, "core", "H100", ModelKind::Dense)->noise;
  EXPECT_GT(noise, 0.1); // 3,600 of 7,140 pairs differ by 0.2
  EXPECT_LT(noise, 0.21);
}

TEST(FitErrors, MemoryIsFromWhatWasMeasuredAndFromWhatFitted) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "ran", 2500, 0, 0, core, /*bytes=*/100); // capacity is 80, and it ran
  for (CrossFitted &row : rows)
    row.now.estimate.fits = row.without.estimate.fits = false;
  std::vector<ClassErrors> table = fitErrors(rows, 0.05);
  Uncertainty ran(*find(table, "core", "H100", ModelKind::Dense));
  EXPECT_GT(ran.fitProbability(100, 80), 0.9);

  CaseResults measured;
  rows.clear();
  add(measured, rows, "read", 2500, 0, 0, core, /*bytes=*/50);
  for (size_t i = 0; i < rows.size(); ++i)
    measured.caseOf(i).memory = 60;
  table = fitErrors(rows, 0.05);
  Uncertainty read(*find(table, "core", "H100", ModelKind::Dense));
  EXPECT_NEAR(read.memoryFactor(0.5), 1.2, 0.01);
  EXPECT_NEAR(read.memoryFactor(0.8), 1.2, 0.01);

  CaseResults failed;
  rows.clear();
  add(failed, rows, "failed", 2500, 0, 0, core, /*bytes=*/70);
  for (size_t i = 0; i < rows.size(); ++i) {
    failed.caseOf(i).ranOutOfMemory = true;
    failed.caseOf(i).seconds = 0;
  }
  table = fitErrors(rows, 0.05);
  Uncertainty gone(*find(table, "core", "H100", ModelKind::Dense));
  EXPECT_LT(gone.fitProbability(70, 80), 0.1);
}

TEST(Coverage, WithoutAFamilyIsOfErrorsOfConstantsFittedWithoutIt) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  add(made, rows, "a", 100, 0.0, 0.02, core);
  add(made, rows, "b", 100, 0.01, 0.5, core); // another source, and far off without its rows
  std::map<std::string, LeftOut> families = coverageWithoutFamily(rows, 0.05);
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families["a"].rows, 100);
  EXPECT_EQ(families["a"].inside, 100);
  EXPECT_EQ(families["b"].inside, 0);
  LeftOut known = coverageWithoutModel(rows, 0.05);
  EXPECT_EQ(known.rows, 200);
  EXPECT_EQ(known.inside, 200);
}

// One of ten families is far off without its rows. 90 % of rows of unknown sources are inside at
// any tail, so the result is the greatest tail.
TEST(CalibratedTail, IsTheGreatestThatHoldsNineInTen) {
  CaseResults made;
  std::vector<CrossFitted> rows;
  for (int i = 0; i < 10; ++i)
    add(made, rows, "f" + std::to_string(i), 4, 0, i == 0 ? 1.5 : 0, core);
  double tail = calibratedTail(rows);
  EXPECT_GT(tail, 0.05);
  for (CrossFitted &row : rows)
    row.without.estimate.stepSeconds = 10 * std::exp(row.family < "f5" ? 1.5 : -1.5);
  EXPECT_LT(calibratedTail(rows), 0.1 * tail + 0.05);
}
