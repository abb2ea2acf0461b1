// Reads the JSON form of plans.
#include "compiler/decide/plan/PlanJson.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/plan/CheckPlan.h"

#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Memory.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/ArchitectureJson.h"
#include "compiler/decide/plan/OpSplitsJson.h"
#include "compiler/support/JsonText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

// Reads keys with checks; the first error wins.
class PlanReader {
public:
  PlanReader(const Json &root, const std::string &text, const std::string &path)
      : root(root), text(text), path(path) {}

  std::optional<UserError> error;

  void fail(const std::string &key, const std::string &what) {
    if (error)
      return;
    size_t at = text.find("\"" + key + "\"");
    SourceLocation location = locationAt(path, text, at == std::string::npos ? 0 : at);
    error.emplace("plan key '" + key + "' " + what, "", location);
  }

  // Reports a fault of a key of `object` if the key exists, else of `object` itself.
  void fail(const Json &object, const std::string &key, const std::string &what) {
    if (error)
      return;
    std::vector<std::string> names;
    (void)findPath(root, object, names);
    std::string inside = names.empty() ? "" : names.back();
    names.push_back(key);
    SourceLocation location = locationAt(path, text, findInJson(text, names));
    if (object.is_object())
      error.emplace("plan key '" + key + "' " + what, "", location);
    else
      error.emplace("plan key '" + inside + "' is " + object.dump() + ", wanted an object with '" +
                        key + "'",
                    "", location);
  }

  // Finds the path from `from` down to `wanted`: one name or index per level.
  static bool findPath(const Json &from, const Json &wanted, std::vector<std::string> &names) {
    if (&from == &wanted)
      return true;
    size_t index = 0;
    for (auto entry = from.begin(); from.is_structured() && entry != from.end(); ++entry, ++index) {
      names.push_back(from.is_object() ? entry.key() : std::to_string(index));
      if (findPath(*entry, wanted, names))
        return true;
      names.pop_back();
    }
    return false;
  }

  const Json *find(const Json &object, const std::string &key) {
    auto it = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || it == object.end()) {
      fail(object, key, "is missing; make plans with 'dtc plan -o plan.json'");
      return nullptr;
    }
    return &*it;
  }

  // Null where the key is absent.
  static const Json *optional(const Json &object, const std::string &key) {
    auto it = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && it != object.end() ? &*it : nullptr;
  }

  static constexpr int64_t kMost = int64_t(1) << 40;

  void integer(const Json &object, const std::string &key, int64_t low, int64_t &out,
               int64_t most = kMost) {
    const Json *value = find(object, key);
    if (!value)
      return;
    bool isMore = value->is_number_integer() && value->get<int64_t>() > most;
    if (!value->is_number_integer() || value->get<int64_t>() < low || isMore)
      return fail(object, key,
                  "is " + value->dump() + ", wanted a whole number of " + std::to_string(low) +
                      " or more" + (isMore ? ", " + std::to_string(most) + " at most" : ""));
    out = value->get<int64_t>();
  }

  void number(const Json &object, const std::string &key, double &out) {
    const Json *value = find(object, key);
    if (!value)
      return;
    if (!value->is_number() || value->get<double>() < 0 || value->get<double>() > 1e30)
      return fail(object, key, "is " + value->dump() + ", wanted a number from 0 to 1e30");
    out = value->get<double>();
  }

  void flag(const Json &object, const std::string &key, bool &out) {
    const Json *value = find(object, key);
    if (!value)
      return;
    if (!value->is_boolean() && !(value->is_number_integer() && (*value == 0 || *value == 1)))
      return fail(object, key, "is " + value->dump() + ", wanted true or false");
    out = value->is_boolean() ? value->get<bool>() : *value == 1;
  }

  void word(const Json &object, const std::string &key, std::string &out) {
    const Json *value = find(object, key);
    if (!value)
      return;
    if (!value->is_string())
      return fail(object, key, "is " + value->dump() + ", wanted a string");
    out = value->get<std::string>();
  }

  // Reads the name of a row of an enumeration's table.
  template <typename Row, size_t kRows>
  void choice(const Json &object, const std::string &key, const Row (&table)[kRows],
              decltype(Row::value) &out) {
    choiceOf(object, key, table, namesOf(table), out);
  }
  // The same, of the rows with these names.
  template <typename Row, size_t kRows>
  void choiceOf(const Json &object, const std::string &key, const Row (&table)[kRows],
                const std::vector<std::string> &names, decltype(Row::value) &out) {
    std::string name;
    word(object, key, name);
    if (error)
      return;
    if (!llvm::is_contained(names, name))
      return fail(object, key, "is '" + name + "', wanted one of " + llvm::join(names, ", "));
    out = *valueNamed(table, name);
  }

  void tensors(Plan &plan) {
    const Json *value = find(root, "tensors");
    if (!value)
      return;
    if (!value->is_object())
      return fail("tensors", "is not an object");
    for (const auto &[name, axes] : value->items()) {
      if (!axes.is_object())
        return fail(name, "needs one placement per mesh axis, e.g. {\"dp\": \"replicate\", \"tp\": "
                          "\"shard(0)\"}");
      for (const auto &[axis, placement] : axes.items()) {
        if (!placement.is_string())
          return fail(name, "has a placement on '" + axis + "' that is not a string");
        plan.tensors[name][axis] = placement.get<std::string>();
      }
    }
  }

  // Reads numbers before words, which may depend on them.
  void decisions(Decisions &d, llvm::ArrayRef<PlanStage> stages) {
    d = {};
    const Json *mesh = find(root, "mesh");
    for (bool isWord : {false, true})
      for (const Decision *each : decisionsOfPlans()) {
        const Json *object = each->plan.inMesh ? mesh : &root;
        if (object && (each->plan.form == PlanForm::Word) == isWord)
          decision(*object, *each, d);
      }
    if (d.recompute > d.recomputeMost)
      mixedRecompute(d, stages);
  }

  void decision(const Json &object, const Decision &decision, Decisions &d) {
    std::string key = decision.key.str(), text, fault;
    const InPlan &plan = decision.plan;
    if (plan.mayMiss && !optional(object, key))
      return;
    bool isSet = false;
    int64_t number = 0;
    switch (plan.form) {
    case PlanForm::Number:
      integer(object, key, plan.least, number);
      if (!error && !plan.readNumber)
        decision.field.set(d, number);
      else if (!error)
        fault = plan.readNumber(number, d);
      break;
    case PlanForm::Flag:
    case PlanForm::ZeroOrOne:
      flag(object, key, isSet);
      if (!error)
        decision.field.set(d, isSet ? 1 : 0);
      break;
    case PlanForm::Word:
      word(object, key, text);
      if (!error)
        fault = plan.readWord(text, d);
      break;
    case PlanForm::NumberList:
      fault = plan.readList(wholeNumbers(object[key]), d);
      if (!fault.empty())
        fault = "is " + object[key].dump() + ", " + fault;
      break;
    case PlanForm::Absent:
      break;
    }
    if (!fault.empty())
      fail(object, key, fault);
  }

  // Returns the numbers of a list; none if one of them is not whole, or if it is no list.
  static llvm::SmallVector<int64_t, 4> wholeNumbers(const Json &list) {
    llvm::SmallVector<int64_t, 4> numbers;
    for (const Json &each : list.is_array() ? list : Json::array()) {
      if (!each.is_number_integer())
        return {};
      numbers.push_back(each.get<int64_t>());
    }
    return numbers;
  }

  // If layers differ, the stages list the kind of each.
  static void mixedRecompute(Decisions &d, llvm::ArrayRef<PlanStage> stages) {
    for (const PlanStage &stage : stages)
      for (const std::string &layer : stage.recompute) {
        Recompute of = recomputeFrom(layer).value_or(Recompute::None);
        d.recompute = std::min(d.recompute, of);
        d.recomputeMost = std::max(d.recomputeMost, of);
      }
  }

  // The stages say how many of their layers are.
  void offloadedLayers(Decisions &d, llvm::ArrayRef<PlanStage> stages) {
    int64_t layers = 0, onHost = 0;
    for (const PlanStage &stage : stages) {
      layers += layersOf(stage);
      onHost += stage.offloadedLayers;
    }
    Decisions said = std::exchange(d, withOffloadedLayers(d, onHost, layers));
    if (optional(root, "offload_activations") && said != d)
      fail("offload_activations", "is '" + valueOf(said, "offload_activations") + "', but " +
                                      std::to_string(onHost) + " of " + std::to_string(layers) +
                                      " layers are on the host by 'layers_on_host' of the stages");
  }

  void stages(Plan &plan) {
    const Json *value = find(root, "stages");
    if (!value)
      return;
    if (!value->is_array())
      return fail("stages", "is not a list");
    for (const Json &entry : *value) {
      PlanStage stage;
      if (const Json *layers = find(entry, "layers"); layers) {
        if (!layers->is_array() || layers->size() != 2 || !(*layers)[0].is_number_integer() ||
            !(*layers)[1].is_number_integer())
          return fail(entry, "layers", "is " + layers->dump() + ", wanted [first, last]");
        stage.firstLayer = (*layers)[0].get<int64_t>();
        stage.lastLayer = (*layers)[1].get<int64_t>();
      }
      if (const Json *ranks = find(entry, "ranks"); ranks && ranks->is_array())
        for (const Json &rank : *ranks)
          if (rank.is_number_integer())
            stage.ranks.push_back(rank.get<int64_t>());
      integer(entry, "peak_memory_bytes", 0, stage.peakMemoryBytes);
      number(entry, "compute_s", stage.computeSeconds);
      number(entry, "exposed_comm_s", stage.exposedCommSeconds);
      if (const Json *recompute = find(entry, "recompute"); recompute && recompute->is_array())
        for (const Json &layer : *recompute)
          if (layer.is_string())
            stage.recompute.push_back(layer.get<std::string>());
      if (optional(entry, "chunks"))
        stageDetails(entry, stage);
      plan.stages.push_back(std::move(stage));
    }
  }

  // Plans that people write may leave these out.
  void stageDetails(const Json &entry, PlanStage &stage) {
    const Json &chunks = *optional(entry, "chunks");
    for (const Json &chunk : chunks.is_array() ? chunks : Json::array()) {
      if (!chunk.is_array() || chunk.size() != 2 || !chunk[0].is_number_integer() ||
          !chunk[1].is_number_integer())
        return fail(entry, "chunks", "has " + chunk.dump() + ", wanted [first, last]");
      stage.chunks.push_back({chunk[0].get<int64_t>(), chunk[1].get<int64_t>()});
    }
    number(entry, "forward_s", stage.forwardSeconds);
    number(entry, "backward_input_s", stage.backwardInputSeconds);
    number(entry, "backward_weight_s", stage.backwardWeightSeconds);
    number(entry, "in_flight", stage.inFlight);
    integer(entry, "kept_bytes", 0, stage.keptBytes);
    memory(entry, stage.memory);
    if (const Json *times = optional(entry, "chunk_times"))
      chunkTimes(*times, stage);
    if (optional(entry, "gradients_s"))
      number(entry, "gradients_s", stage.gradientSeconds);
    if (optional(entry, "optimizer_s"))
      number(entry, "optimizer_s", stage.optimizerSeconds);
    if (optional(entry, "host_bytes"))
      integer(entry, "host_bytes", 0, stage.hostBytes);
    if (optional(entry, "layers_on_host"))
      integer(entry, "layers_on_host", 0, stage.offloadedLayers);
  }

  void chunkTimes(const Json &list, PlanStage &stage) {
    if (!list.is_array() || list.size() != stage.chunks.size())
      return fail("chunk_times", "wanted one entry for each of the " +
                                     std::to_string(stage.chunks.size()) + " chunks");
    for (const Json &entry : list) {
      PlanChunk chunk;
      number(entry, "forward_s", chunk.forwardSeconds);
      number(entry, "backward_input_s", chunk.backwardInputSeconds);
      number(entry, "backward_weight_s", chunk.backwardWeightSeconds);
      integer(entry, "kept_bytes", 0, chunk.keptBytes);
      stage.chunkTimes.push_back(chunk);
    }
  }

  // Plans of earlier releases say no more than whether the search was exhaustive.
  void end(const Json &search, PlanSearch &out) {
    bool isExhaustive = false;
    flag(search, "exhaustive", isExhaustive);
    out.end = isExhaustive ? SearchEnd::Bound : SearchEnd::Seconds;
    if (optional(search, "most_seconds"))
      number(search, "most_seconds", out.mostSeconds);
    if (!optional(search, "ended_by"))
      return;
    std::string text;
    word(search, "ended_by", text);
    for (SearchEnd each : {SearchEnd::Bound, SearchEnd::Work, SearchEnd::Seconds})
      if (text == toString(each))
        out.end = each;
    if (text != toString(out.end))
      fail(search, "ended_by", "is '" + text + "', wanted bound, work or seconds");
  }

  // Reads what a plan that leaves nodes idle says of all of them.
  void allNodes(const Json &topology, Plan &plan) {
    if (optional(topology, "step_time_all_nodes_s"))
      number(topology, "step_time_all_nodes_s", plan.allNodesSeconds);
    const Json *batches = optional(topology, "batches_for_all_nodes");
    if (batches && !batches->is_array())
      return fail(topology, "batches_for_all_nodes", "is not a list");
    for (const Json &batch : batches ? *batches : Json::array()) {
      if (!batch.is_number_integer() || batch.get<int64_t>() < 1)
        return fail(topology, "batches_for_all_nodes",
                    "has " + batch.dump() + ", wanted whole numbers of 1 or more");
      plan.allNodesBatches.push_back(batch.get<int64_t>());
    }
  }

  void pins(const Json &search, PlanSearch &out) {
    const Json *list = optional(search, "pins");
    for (const Json &entry : list && list->is_array() ? *list : Json::array()) {
      PinCost pin;
      word(entry, "key", pin.key);
      word(entry, "value", pin.value);
      number(entry, "step_time_without_s", pin.stepWithoutSeconds);
      if (optional(entry, "exhaustive"))
        flag(entry, "exhaustive", pin.exhaustive);
      out.pins.push_back(std::move(pin));
    }
  }

  // Reads what the search says of the fastest plan, where the plan may be another one.
  void fastest(const Json &search, PlanSearch &out) {
    if (!optional(search, "fastest_step_time_s"))
      return;
    number(search, "fastest_step_time_s", out.fastestSeconds);
    number(search, "fastest_expected_s", out.fastestExpectedSeconds);
    number(search, "tie_share", out.tieShare);
    word(search, "passed_over", out.passedOver);
  }

  void recipes(const Json &search, PlanSearch &out) {
    const Json *list = optional(search, "recipes");
    for (const Json &entry : list && list->is_array() ? *list : Json::array()) {
      KnownRecipe recipe;
      word(entry, "name", recipe.name);
      word(entry, "fix", recipe.pins);
      number(entry, "step_time_s", recipe.stepSeconds);
      // A recipe that does not fit may need more than a device of any time has.
      integer(entry, "peak_memory_bytes", 0, recipe.peakMemoryBytes, int64_t(1) << 53);
      flag(entry, "fits", recipe.fits);
      flag(entry, "chosen", recipe.isChosen);
      word(entry, "loses_on", recipe.losesOn);
      out.recipes.push_back(std::move(recipe));
    }
  }

  void errors(const Json &value, PlanPrediction &p) {
    if (!optional(value, "step_time_high_s"))
      return;
    number(value, "step_time_low_s", p.stepLowSeconds);
    number(value, "step_time_high_s", p.stepHighSeconds);
    number(value, "fit_probability", p.fitProbability);
    integer(value, "usable_memory_bytes", 0, p.usableMemoryBytes);
    number(value, "noise", p.noise);
    word(value, "errors_of", p.basis);
  }

  void predicted(PlanPrediction &p) {
    const Json *value = find(root, "predicted");
    if (!value)
      return;
    number(*value, "step_time_s", p.stepSeconds);
    number(*value, "tokens_per_s", p.tokensPerSecond);
    number(*value, "tflops_per_device", p.tflopsPerDevice);
    number(*value, "mfu", p.mfu);
    if (optional(*value, "mfu_causal"))
      number(*value, "mfu_causal", p.mfuCausal);
    number(*value, "bubble_fraction", p.bubbleFraction);
    number(*value, "exposed_comm_s", p.exposedCommSeconds);
    integer(*value, "peak_memory_bytes", 0, p.peakMemoryBytes);
    flag(*value, "fits", p.fits);
    memory(*value, p.memory);
    errors(*value, p);
    if (optional(*value, "host_memory_bytes"))
      integer(*value, "host_memory_bytes", 0, p.hostMemoryBytes);
    const Json *time = optional(*value, "time");
    if (!time)
      return;
    number(*time, "compute_s", p.times.compute);
    number(*time, "recompute_s", p.times.recompute);
    number(*time, "exposed_tensor_s", p.times.exposedTensor);
    number(*time, "exposed_context_s", p.times.exposedContext);
    number(*time, "exposed_expert_s", p.times.exposedExpert);
    number(*time, "exposed_gradients_s", p.times.exposedGradients);
    number(*time, "stage_transfers_s", p.times.stageTransfers);
    number(*time, "bubble_s", p.times.bubble);
    number(*time, "optimizer_s", p.times.optimizer);
    if (optional(*time, "exposed_gathers_s"))
      number(*time, "exposed_gathers_s", p.times.exposedGathers);
    if (optional(*time, "exposed_host_s"))
      number(*time, "exposed_host_s", p.times.exposedHost);
    number(*value, "transfer_s", p.transferSeconds);
    if (const Json *transfers = optional(*value, "transfers_s"))
      stageTransfers(*transfers, p.transfers);
    if (optional(*value, "loop_s"))
      number(*value, "loop_s", p.loopSeconds);
    if (optional(*value, "vocabulary_s"))
      number(*value, "vocabulary_s", p.vocabularySeconds);
  }

  void stageTransfers(const Json &list, std::vector<double> &out) {
    const Json *stages = find(root, "stages");
    if (!stages)
      return;
    bool isList = list.is_array() && list.size() + 1 == stages->size();
    if (!isList)
      return fail("transfers_s", "wanted the seconds of each boundary between stages");
    for (const Json &seconds : list) {
      if (!seconds.is_number() || !(seconds.get<double>() >= 0))
        return fail("transfers_s", "has " + seconds.dump() + ", wanted a number of 0 or more");
      out.push_back(seconds.get<double>());
    }
  }

  void memory(const Json &object, PlanMemory &out) {
    const Json *memory = find(object, "memory");
    if (!memory)
      return;
    integer(*memory, "parameters", 0, out.parameters);
    integer(*memory, "gradients", 0, out.gradients);
    integer(*memory, "optimizer", 0, out.optimizer);
    integer(*memory, "activations", 0, out.activations);
    integer(*memory, "temporaries", 0, out.temporaries);
    integer(*memory, "communication", 0, out.communication);
    if (optional(*memory, "reserved"))
      integer(*memory, "reserved", 0, out.reserved);
  }

  void origin(const Json &request, PlanOrigin &origin) {
    word(request, "model", origin.model);
    word(request, "topology", origin.topology);
    integer(request, "nodes", 0, origin.nodes);
    choiceOf(request, "grad_dtype", kGradientTypes, offeredGradientTypes(), origin.gradDtype);
    word(request, "software", origin.software);
    integer(request, "memory_limit_bytes", 0, origin.memoryLimitBytes);
    if (optional(request, "why_not_compiled"))
      word(request, "why_not_compiled", origin.whyNotCompiled);
  }

  void all(Plan &plan) {
    std::string schema;
    word(root, "schema", schema);
    if (!error && schema != "dtc.plan/1")
      return fail("schema", "is '" + schema + "', this dtc reads 'dtc.plan/1'");
    if (const Json *model = find(root, "model")) {
      word(*model, "name", plan.modelName);
      if (optional(*model, "shape"))
        word(*model, "shape", plan.modelShape);
      if (optional(*model, "slides"))
        flag(*model, "slides", plan.modelSlides);
      if (const Json *architecture = optional(*model, "architecture"))
        if (std::string what = architectureFromJson(*architecture, plan.architecture);
            !what.empty())
          fail("architecture", what);
      integer(*model, "parameters", 0, plan.parameters);
      if (optional(*model, "frozen_parameters"))
        integer(*model, "frozen_parameters", 0, plan.frozenParameters);
      number(*model, "flops_per_step", plan.flopsPerStep);
      integer(*model, "sequence_length", 0, plan.sequenceLength);
    }
    if (const Json *topology = find(root, "topology")) {
      word(*topology, "name", plan.topologyName);
      integer(*topology, "devices", 1, plan.devices);
      integer(*topology, "nodes", 1, plan.nodes);
      if (optional(*topology, "idle_nodes"))
        integer(*topology, "idle_nodes", 0, plan.idleNodes);
      allNodes(*topology, plan);
    }
    integer(root, "global_batch", 1, plan.globalBatch);
    choice(root, "precision", kPrecisions, plan.precision);
    choice(root, "optimizer", kOptimizers, plan.optimizer);
    if (optional(root, "optimizer_state"))
      choice(root, "optimizer_state", kStateTypes, plan.optimizerState);
    if (const Json *gradients = optional(root, "gradients")) {
      PlanGradients &types = plan.gradients.emplace();
      choice(*gradients, "reduced_in", kGradientTypes, types.reducedIn);
      choice(*gradients, "accumulated_in", kGradientTypes, types.accumulatedIn);
    }
    stages(plan);
    decisions(plan.decisions, plan.stages);
    tensors(plan);
    if (const Json *splits = optional(root, "op_splits"))
      if (std::string what = splitsFromJson(*splits, plan.opSplits); !what.empty())
        fail("op_splits", what);
    predicted(plan.predicted);
    if (const Json *search = find(root, "search")) {
      number(*search, "seconds", plan.search.seconds);
      integer(*search, "candidates", 0, plan.search.candidates);
      number(*search, "lower_bound_s", plan.search.lowerBoundSeconds);
      number(*search, "optimality_gap", plan.search.optimalityGap);
      if (optional(*search, "search_bound_s"))
        number(*search, "search_bound_s", plan.search.searchBoundSeconds);
      if (optional(*search, "search_gap"))
        number(*search, "search_gap", plan.search.searchGap);
      if (optional(*search, "implied_by_pins"))
        word(*search, "implied_by_pins", plan.search.implied);
      end(*search, plan.search);
      pins(*search, plan.search);
      fastest(*search, plan.search);
      recipes(*search, plan.search);
    }
    if (const Json *request = optional(root, "request"))
      origin(*request, plan.origin);
    if (!error)
      if (std::optional<PlanMistake> mistake = findMistake(plan))
        fail(mistake->key, mistake->what);
    if (!error) // stages have the layers that they say
      offloadedLayers(plan.decisions, plan.stages);
  }

private:
  const Json &root;
  const std::string &text, &path;
};

} // namespace

Status planFromJson(const std::string &text, const std::string &path, Plan &plan) {
  if (std::optional<UserError> error = findJsonError(path, text)) {
    error->message += "; make plans with 'dtc plan -o plan.json'";
    return *error;
  }
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    return UserError("a plan is one JSON object; make one with 'dtc plan -o plan.json'", "",
                     {path, 1, 1});
  PlanReader reader(root, text, path);
  reader.all(plan);
  if (reader.error)
    return *reader.error;
  return {};
}

} // namespace dtc
