// dtc-solve: solves placement problems in the format of the IOPDDL contest.
#include "compiler/search/solver/ProblemReader.h"
#include "compiler/search/solver/Solver.h"
#include "compiler/support/FinishOutput.h"
#include "tools/cli/CommandLine.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>

namespace {

constexpr int kBadUsage = 2, kInternalError = 70;

struct Flags {
  std::string path;
  dtc::solver::SolveOptions options;
};

void onCrash(void *) {
  llvm::errs() << "internal error: this is a bug of dtc-solve; please report the command and the "
                  "stack above\n";
  std::_Exit(kInternalError);
}

void addFlags(CLI::App &app, Flags &flags) {
  app.set_version_flag("--version", "dtc-solve " DTC_VERSION);
  app.add_option("FILE", flags.path, "problem in the contest's JSON, plain or compressed by gzip")
      ->required();
  app.add_option(
         "--seconds", flags.options.seconds,
         "time limit, reading included (default 60); ends sooner where the optimum is proven")
      ->check(dtc::numberBetween(0, 1e9));
  app.add_option("--seed", flags.options.seed, "of the random choices (default 1)")
      ->check(dtc::wholeNumber(0));
  app.add_option("--threads", flags.options.threads,
                 "1 or 2; 0, the default: as many as there are cores. Does not change the result "
                 "of a round")
      ->check(dtc::wholeNumber(0, 2));
  app.add_option(
         "--rounds", flags.options.rounds,
         "limit on the rounds of work; with a time limit that is never reached, the result depends "
         "on FILE, --seed and --rounds only")
      ->check(dtc::wholeNumber(1));
}

void print(const dtc::solver::SolveResult &result, double seconds) {
  llvm::raw_ostream &out = llvm::outs();
  out << "{\"cost\": " << result.cost << ", \"usage_ok\": " << (result.usageOk ? "true" : "false")
      << ", \"lower_bound\": " << result.lowerBound << ", \"gap\": ";
  if (std::isfinite(result.gap()))
    out << llvm::format("%.6g", result.gap());
  else
    out << "null";
  out << ", \"seconds\": " << llvm::format("%.3f", seconds) << ", \"solution\": [";
  for (size_t i = 0; i < result.choice.size(); ++i)
    out << (i ? "," : "") << result.choice[i];
  out << "]}\n";
}

int run(Flags &flags) {
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  dtc::Result<dtc::solver::Problem> problem = dtc::solver::readProblem(flags.path);
  if (!problem)
    return problem.error().report(llvm::errs());
  flags.options.seconds = std::max(0.0, flags.options.seconds - elapsed());
  dtc::solver::SolveResult result = dtc::solver::solve(*problem, flags.options);
  dtc::SourceLocation location{flags.path, 0, 0};
  if (result.choice.empty() && !problem->nodes.empty())
    return dtc::UserError("solving the problem: no assignment has finite costs and stays within "
                          "the usage limit of " +
                              std::to_string(problem->usageLimit),
                          "raise usage_limit", location)
        .report(llvm::errs());
  print(result, elapsed());
  if (result.feasible())
    return 0;
  return dtc::UserError(
             "solving the problem: found no assignment that has finite costs and stays within the "
             "usage limit; printed is the best one",
             "give it more time with --seconds, or raise usage_limit", location)
      .report(llvm::errs());
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(onCrash, nullptr);
  CLI::App app("Solves a placement problem: one value per node, costs on nodes and pairs of nodes, "
               "memory limited at\n"
               "every point of time. Prints the best assignment found and a lower bound on all, as "
               "one JSON object.\n"
               "\n"
               "Example:\n"
               "  dtc-solve problem.json.gz --seconds 60",
               "dtc-solve");
  Flags flags;
  app.failure_message(dtc::usageError);
  addFlags(app, flags);
  try {
    app.parse(argc, argv);
    return dtc::finishOutput(run(flags));
  } catch (const CLI::ParseError &error) {
    return dtc::finishOutput(app.exit(error) == 0 ? 0 : kBadUsage);
  } catch (const std::exception &error) {
    llvm::errs() << "internal error: " << error.what() << "\n";
    return kInternalError;
  }
}
