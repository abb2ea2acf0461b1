// Fits constants of the cost model on the fitting half of the published rows.
#include "bench/planner/Fit.h"

#include "bench/planner/FittedConstants.h"
#include "bench/planner/Sources.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/StackFields.h"

#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>

namespace dtc::published {
namespace {

// A figure of stack files and its valid range.
struct StackField {
  llvm::StringRef name;
  double least, most;
  double step; // the first step: a factor for scales, absolute otherwise
};
constexpr StackField stackFields[] = {
    {"product_share", 0.3, 1.3, 0.05},
    {"attention_share", 0.1, 2.0, 0.1},
    {"memory_traffic", 0.3, 6, 0.2},
    {"cast_traffic", 0, 3, 0.2},
    {"composite_traffic", 1, 12, 1},
    {"score_traffic", 2, 30, 2},
    {"loss_traffic", 1, 12, 1},
    {"accumulate_bytes", 0, 16, 2},
    {"tp_hidden", 0, 1, 0.2},
    {"cp_hidden", 0, 1, 0.2},
    {"ep_hidden", 0, 1, 0.2},
    {"dp_hidden", 0, 1, 0.2},
    {"gather_hidden", 0, 1, 0.2},
    {"gather_share", 0.05, 1, 0.1},
    {"p2p_hidden", 0, 1, 0.3},
    {"overlap_slowdown", 1, 1.6, 0.05},
    {"expert_imbalance", 1, 2, 0.1},
    {"grouped_share", 0.3, 1.3, 0.05},
    {"dispatch_traffic", 1, 12, 1},
    {"seconds_per_expert", 0, 1e-3, 5e-5},
    {"seconds_per_layer", 0, 5e-3, 2e-4},
    {"fragmentation", 1, 2, 0.1},
};

struct DeviceField {
  llvm::StringRef name;
  double DeviceFactors::*member;
  double least, most, step;
};
constexpr DeviceField deviceFields[] = {
    {"products", &DeviceFactors::products, 0.3, 2, 0.05},
    {"memory", &DeviceFactors::memory, 0.3, 2, 0.1},
    {"insideBandwidth", &DeviceFactors::insideBandwidth, 0.2, 2, 0.1},
    {"betweenBandwidth", &DeviceFactors::betweenBandwidth, 0.2, 2, 0.1},
    {"latency", &DeviceFactors::latency, 0.1, 10, 0.3},
};

double SoftwareStack::*memberOf(llvm::StringRef key) {
  auto figure =
      llvm::find_if(stackFigures(), [&](const StackFigure &each) { return each.key == key; });
  assert(figure != stackFigures().end() && "the fields above are keys of stack files");
  return figure->member;
}

struct Knob {
  std::string name;
  std::vector<double *> values; // the values of all its owners, which are equal
  double least, most, step;
  double before, scale; // the value to stay near, and the strength of the pull

  void set(double value) const {
    for (double *each : values)
      *each = value;
  }
  // Returns the cost of moving away from the value before, which keeps small effects on few rows
  // out.
  double penalty() const {
    constexpr double kWeight = 4e-4;
    double away = (*values.front() - before) / scale;
    return kWeight * away * away;
  }
};

bool ownerIs(llvm::StringRef owners, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  owners.split(parts, '+');
  return llvm::any_of(parts, [&](llvm::StringRef part) {
    return part == name || (part.consume_back("*") && name.starts_with(part));
  });
}

std::vector<Knob> knobsNamed(const std::vector<std::string> &names, Knobs &knobs) {
  std::vector<Knob> result;
  for (const std::string &name : names) {
    auto [owners, field] = llvm::StringRef(name).rsplit('.');
    bool ofStacks = false;
    for (const StackField &entry : stackFields) {
      Knob knob{(owners + "." + entry.name).str(), {}, entry.least, entry.most, entry.step, 0, 0};
      for (const std::string &stack : knobs.stackNames())
        if (ownerIs(owners, stack))
          knob.values.push_back(&(knobs.stack(stack).*memberOf(entry.name)));
      ofStacks |= !knob.values.empty();
      if (!knob.values.empty() && (field == "*" || field == entry.name))
        result.push_back(knob);
    }
    llvm::SmallVector<llvm::StringRef> devices;
    owners.split(devices, '+');
    for (const DeviceField &entry : deviceFields) {
      if (ofStacks || (field != "*" && field != entry.name))
        continue;
      Knob knob{(owners + "." + entry.name).str(), {}, entry.least, entry.most, entry.step, 0, 0};
      for (llvm::StringRef device : devices)
        knob.values.push_back(&(knobs.device(device).*entry.member));
      result.push_back(knob);
    }
  }
  for (Knob &knob : result) {
    knob.before = *knob.values.front();
    knob.scale = 4 * knob.step;
  }
  return result;
}

class Fitter {
public:
  Fitter(const std::vector<std::unique_ptr<Case>> &cases, Knobs &knobs,
         const std::function<bool(const Case &)> &uses)
      : knobs(knobs) {
    for (const std::unique_ptr<Case> &item : cases)
      if (item->seconds > 0 && uses(*item))
        families[ruleOf(*item->row).family.str()].push_back({item.get(), 0});
  }

  // Returns the loss with the current knobs. Estimates only rows of `owner` again (a stack or a
  // device; "": all).
  double loss(llvm::StringRef owner) {
    constexpr double kMost = 0.693; // a factor of 2
    double sum = 0, weights = 0;
    for (auto &[family, rows] : families) {
      double errors = 0;
      for (auto &[item, error] : rows) {
        if (owner.empty() || movesCase(owner, *item))
          error = std::min(kMost, std::abs(std::log(evaluate(*item, knobs).timeRatio())));
        errors += error;
      }
      double count = static_cast<double>(rows.size());
      sum += errors / std::sqrt(count);
      weights += std::sqrt(count);
    }
    return weights > 0 ? sum / weights : 0;
  }

private:
  std::map<std::string, std::vector<std::pair<const Case *, double>>> families;
  Knobs &knobs;
};

// Steps one knob up and down while that reduces the loss. Returns the loss.
double improve(Knob &knob, Fitter &fitter, double best) {
  llvm::StringRef owner = llvm::StringRef(knob.name).rsplit('.').first;
  double paid = knob.penalty();
  for (double sign : {1.0, -1.0}) {
    bool moved = false;
    for (int tries = 0; tries < 8; ++tries) {
      double before = *knob.values.front();
      knob.set(std::clamp(before + sign * knob.step, knob.least, knob.most));
      double now =
          *knob.values.front() == before ? best : fitter.loss(owner) + knob.penalty() - paid;
      if (now >= best - 1e-7) {
        knob.set(before);
        break;
      }
      best = now;
      paid = knob.penalty();
      moved = true;
    }
    fitter.loss(owner);
    if (moved)
      break;
  }
  return best;
}

// Steps all knobs, in steps that halve with each round. Returns the loss.
double descend(std::vector<Knob> &list, int rounds, Fitter &fitter,
               const std::function<void(int, double)> &report) {
  double best = fitter.loss("");
  report(0, best);
  for (int round = 1; round <= rounds; ++round) {
    for (Knob &knob : list)
      best = improve(knob, fitter, best);
    report(round, best);
    for (Knob &knob : list)
      knob.step /= 2;
  }
  return best;
}

} // namespace

bool movesCase(llvm::StringRef owners, const Case &item) {
  return ownerIs(owners, item.stack) || ownerIs(owners, deviceFamily(item));
}

void fitQuietly(const std::vector<std::unique_ptr<Case>> &cases,
                const std::vector<std::string> &names, int rounds, Knobs &knobs,
                const std::function<bool(const Case &)> &uses) {
  std::vector<Knob> list = knobsNamed(names, knobs);
  Fitter fitter(cases, knobs, uses);
  descend(list, rounds, fitter, [](int, double) {});
}

void printFittedFigures(const Knobs &knobs, llvm::raw_ostream &out) {
  for (const FittedConstant &constant : fittedConstants())
    for (const std::string &stack : knobs.stackNames())
      if (ownerIs(constant.owners, stack))
        out << stack << " " << constant.field << "\n";
}

std::optional<double> knobValue(const std::string &name, const Knobs &knobs) {
  Knobs copy = knobs;
  std::vector<Knob> found = knobsNamed({name}, copy);
  return found.size() == 1 ? std::optional(*found.front().values.front()) : std::nullopt;
}

std::string setKnobs(llvm::StringRef text, Knobs &knobs) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto [name, value] = line.split(" = ");
    if (value.empty())
      continue;
    std::vector<Knob> found = knobsNamed({name.trim().str()}, knobs);
    double number = 0;
    if (found.size() != 1 || value.trim().getAsDouble(number))
      return "reading constants: '" + line.str() + "' is not the name and the value of one";
    found.front().set(number);
  }
  return "";
}

int fitKnobs(const std::vector<std::unique_ptr<Case>> &cases, const std::vector<std::string> &names,
             int rounds, Knobs &knobs) {
  std::vector<Knob> list = knobsNamed(names, knobs);
  if (list.empty()) {
    llvm::errs() << "error: no constant has one of the names of --fit\n";
    return 1;
  }
  Fitter fitter(cases, knobs, [](const Case &item) { return isFitted(*item.row); });
  descend(list, rounds, fitter, [](int round, double loss) {
    llvm::outs() << (round ? "round " + std::to_string(round) : "mean |log ratio| before") << ": "
                 << llvm::format("%.4f", loss) << "\n";
  });
  for (const Knob &knob : list)
    llvm::outs() << knob.name << " = " << llvm::format("%.6g", *knob.values.front()) << "\n";
  return 0;
}

} // namespace dtc::published
