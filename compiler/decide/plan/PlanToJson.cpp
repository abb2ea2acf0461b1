// Writes the JSON form of plans.
#include "compiler/decide/plan/PlanToJson.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/plan/ArchitectureJson.h"
#include "compiler/decide/plan/OpSplitsJson.h"
#include "compiler/decide/plan/Plan.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

Json memoryToJson(const PlanMemory &memory) {
  return {{"parameters", memory.parameters},   {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},     {"activations", memory.activations},
          {"temporaries", memory.temporaries}, {"communication", memory.communication},
          {"reserved", memory.reserved}};
}

Json chunksToJson(const std::vector<PlanChunk> &chunks) {
  Json json = Json::array();
  for (const PlanChunk &chunk : chunks)
    json.push_back({{"forward_s", chunk.forwardSeconds},
                    {"backward_input_s", chunk.backwardInputSeconds},
                    {"backward_weight_s", chunk.backwardWeightSeconds},
                    {"kept_bytes", chunk.keptBytes}});
  return json;
}

Json pinsToJson(const Plan &plan) {
  Json json = Json::array();
  for (const PinCost &pin : plan.search.pins)
    json.push_back({{"key", pin.key},
                    {"value", pin.value},
                    {"step_time_without_s", pin.stepWithoutSeconds},
                    {"costs_s", plan.predicted.stepSeconds - pin.stepWithoutSeconds},
                    {"exhaustive", pin.exhaustive}});
  return json;
}

Json recipesToJson(const PlanSearch &search) {
  Json json = Json::array();
  for (const KnownRecipe &recipe : search.recipes)
    json.push_back({{"name", recipe.name},
                    {"fix", recipe.pins},
                    {"step_time_s", recipe.stepSeconds},
                    {"peak_memory_bytes", recipe.peakMemoryBytes},
                    {"fits", recipe.fits},
                    {"chosen", recipe.isChosen},
                    {"loses_on", recipe.losesOn}});
  return json;
}

Json stageToJson(const PlanStage &stage) {
  Json json{{"layers", {stage.firstLayer, stage.lastLayer}},
            {"ranks", stage.ranks},
            {"peak_memory_bytes", stage.peakMemoryBytes},
            {"compute_s", stage.computeSeconds},
            {"exposed_comm_s", stage.exposedCommSeconds},
            {"recompute", stage.recompute},
            {"chunks", stage.chunks},
            {"forward_s", stage.forwardSeconds},
            {"backward_input_s", stage.backwardInputSeconds},
            {"backward_weight_s", stage.backwardWeightSeconds},
            {"in_flight", stage.inFlight},
            {"kept_bytes", stage.keptBytes},
            {"memory", memoryToJson(stage.memory)}};
  if (!stage.chunkTimes.empty()) // empty in a plan that was read without them
    json["chunk_times"] = chunksToJson(stage.chunkTimes);
  if (stage.offloadedLayers > 0)
    json["layers_on_host"] = stage.offloadedLayers;
  json["gradients_s"] = stage.gradientSeconds;
  json["optimizer_s"] = stage.optimizerSeconds;
  if (stage.hostBytes > 0)
    json["host_bytes"] = stage.hostBytes;
  return json;
}

Json timesToJson(const PlanTimes &times) {
  Json json{{"compute_s", times.compute},
            {"recompute_s", times.recompute},
            {"exposed_tensor_s", times.exposedTensor},
            {"exposed_context_s", times.exposedContext},
            {"exposed_expert_s", times.exposedExpert},
            {"exposed_gathers_s", times.exposedGathers},
            {"exposed_gradients_s", times.exposedGradients},
            {"stage_transfers_s", times.stageTransfers},
            {"bubble_s", times.bubble},
            {"optimizer_s", times.optimizer}};
  if (times.exposedHost > 0)
    json["exposed_host_s"] = times.exposedHost;
  return json;
}

Json predictedToJson(const PlanPrediction &p) {
  Json json{{"step_time_s", p.stepSeconds},           {"tokens_per_s", p.tokensPerSecond},
            {"tflops_per_device", p.tflopsPerDevice}, {"mfu", p.mfu},
            {"bubble_fraction", p.bubbleFraction},    {"exposed_comm_s", p.exposedCommSeconds},
            {"peak_memory_bytes", p.peakMemoryBytes}, {"fits", p.fits},
            {"memory", memoryToJson(p.memory)},       {"time", timesToJson(p.times)},
            {"transfer_s", p.transferSeconds},        {"loop_s", p.loopSeconds}};
  if (p.vocabularySeconds > 0)
    json["vocabulary_s"] = p.vocabularySeconds;
  if (p.mfuCausal > 0)
    json["mfu_causal"] = p.mfuCausal;
  if (p.stepHighSeconds > 0) {
    json["step_time_low_s"] = p.stepLowSeconds;
    json["step_time_high_s"] = p.stepHighSeconds;
    json["fit_probability"] = p.fitProbability;
    json["usable_memory_bytes"] = p.usableMemoryBytes;
    json["noise"] = p.noise;
    json["errors_of"] = p.basis;
  }
  if (!p.transfers.empty())
    json["transfers_s"] = p.transfers;
  if (p.hostMemoryBytes > 0)
    json["host_memory_bytes"] = p.hostMemoryBytes;
  return json;
}

Json valueToJson(const Decision &decision, const Decisions &d) {
  const InPlan &plan = decision.plan;
  switch (plan.form) {
  case PlanForm::Number:
    return plan.number ? plan.number(d) : decision.field.get(d);
  case PlanForm::ZeroOrOne:
    return decision.field.get(d);
  case PlanForm::Flag:
    return decision.field.get(d) != 0;
  case PlanForm::Word:
    return decision.valueOf(d);
  case PlanForm::NumberList: {
    llvm::SmallVector<int64_t, 4> list = plan.list(d);
    return std::vector<int64_t>(list.begin(), list.end());
  }
  case PlanForm::Absent:
    break;
  }
  llvm_unreachable("decisionsOfPlans() has no others");
}

} // namespace

std::string planToJson(const Plan &plan) {
  Json json;
  json["schema"] = "dtc.plan/1";
  json["model"] = {{"name", plan.modelName},
                   {"parameters", plan.parameters},
                   {"flops_per_step", plan.flopsPerStep},
                   {"sequence_length", plan.sequenceLength}};
  if (plan.frozenParameters > 0)
    json["model"]["frozen_parameters"] = plan.frozenParameters;
  if (!plan.modelShape.empty())
    json["model"]["shape"] = plan.modelShape;
  json["topology"] = {
      {"name", plan.topologyName}, {"devices", plan.devices}, {"nodes", plan.nodes}};
  if (plan.idleNodes > 0)
    json["topology"].update({{"idle_nodes", plan.idleNodes},
                             {"step_time_all_nodes_s", plan.allNodesSeconds},
                             {"batches_for_all_nodes", plan.allNodesBatches}});
  if (plan.modelSlides)
    json["model"]["slides"] = true;
  if (plan.architecture != ModelArchitecture())
    json["model"]["architecture"] = architectureToJson(plan.architecture);
  for (const Decision *each : decisionsOfPlans()) {
    Json &object = each->plan.inMesh ? json["mesh"] : json;
    if (!each->plan.onlyUnusual || !each->isUsual(plan.decisions))
      object[each->key.str()] = valueToJson(*each, plan.decisions);
    if (each->key == "num_micro_batches")
      json["global_batch"] = plan.globalBatch;
  }
  json["precision"] = nameOf(plan.precision);
  json["optimizer"] = nameOf(plan.optimizer);
  if (plan.optimizerState != StateType::F32)
    json["optimizer_state"] = nameOf(plan.optimizerState);
  if (plan.gradients)
    json["gradients"] = {{"reduced_in", nameOf(plan.gradients->reducedIn)},
                         {"accumulated_in", nameOf(plan.gradients->accumulatedIn)}};
  json["stages"] = Json::array();
  for (const PlanStage &stage : plan.stages)
    json["stages"].push_back(stageToJson(stage));
  json["tensors"] = Json::object();
  for (const auto &[name, axes] : plan.tensors)
    for (const auto &[axis, placement] : axes)
      json["tensors"][name][axis] = placement;
  if (!plan.opSplits.empty())
    json["op_splits"] = splitsToJson(plan.opSplits);
  json["predicted"] = predictedToJson(plan.predicted);
  json["search"] = {{"seconds", plan.search.seconds},
                    {"candidates", plan.search.candidates},
                    {"lower_bound_s", plan.search.lowerBoundSeconds},
                    {"optimality_gap", plan.search.optimalityGap},
                    {"search_bound_s", plan.search.searchBoundSeconds},
                    {"search_gap", plan.search.searchGap},
                    {"exhaustive", plan.search.exhaustive()},
                    {"ended_by", toString(plan.search.end)},
                    {"most_seconds", plan.search.mostSeconds},
                    {"pins", pinsToJson(plan)}};
  if (plan.search.fastestSeconds > 0)
    json["search"].update({{"fastest_step_time_s", plan.search.fastestSeconds},
                           {"fastest_expected_s", plan.search.fastestExpectedSeconds},
                           {"tie_share", plan.search.tieShare},
                           {"passed_over", plan.search.passedOver}});
  if (!plan.search.implied.empty())
    json["search"]["implied_by_pins"] = plan.search.implied;
  if (!plan.search.recipes.empty())
    json["search"]["recipes"] = recipesToJson(plan.search);
  if (!plan.origin.model.empty())
    json["request"] = {
        {"model", plan.origin.model},       {"topology", plan.origin.topology},
        {"nodes", plan.origin.nodes},       {"grad_dtype", nameOf(plan.origin.gradDtype)},
        {"software", plan.origin.software}, {"memory_limit_bytes", plan.origin.memoryLimitBytes}};
  if (!plan.origin.whyNotCompiled.empty())
    json["request"]["why_not_compiled"] = plan.origin.whyNotCompiled;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace dtc
