#include "job/inference/session_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/module.h"
#include "base/names.h"
#include "base/precision.h"
#include "base/statistics.h"
#include "base/tensor.h"
#include "network/cost.h"
#include "record/record_json.h"
#include "record/record_kind.h"
#include "run/metered_run.h"

namespace evener::job {

void fill_inference_setup(record::Record& record, const std::vector<const OptionGroup*>& groups,
                          const task::InferenceModel& network, const InferImages& images, const placement::Plan& plan,
                          Precision precision, const task::InferSetup& setup) {
  nlohmann::json config = nlohmann::json::object();
  for (const OptionGroup* group : groups) group->record(config);
  config["batch"] = setup.batch;
  config["streams"] = setup.streams;
  if (!images.seen.empty()) config["seen"] = images.seen;
  config["mean"] = network.normalization().mean;
  config["standard-deviation"] = network.normalization().standard_deviation;
  nlohmann::json executed = nlohmann::json::object();
  for (const auto& [what, count] : setup.executed) executed[what] = count;
  config["executed"] = executed;
  record.config = record::config_from_json(config);
  record.model.name = network.name();
  if (const network::Network* described = network.network()) {
    const auto cost = network::total_cost(*described);
    record.model.parameters = cost.parameters;
    record.model.forward_flops = cost.forward_flops;
  }
  record.data.location = images.location;
  record.data.images = static_cast<std::int64_t>(images.samples->size());
  record.data.classes = network.classes();
  record.data.shape = images.samples->shape();
  record.data.skipped = static_cast<std::int64_t>(images.skipped.size());
  record.placement = run::placement_record(plan);
  record.engine = setup.engines.front();
  for (const std::string& engine : setup.engines) record.versions[engine] = module_status(engine).version;
  // A single call uses at most one thread of each CPU, even if it was given more; concurrent calls use all that they
  // were given.
  if (setup.engines.front() == "openvino" && setup.streams == 1) {
    run::limit_threads(record.placement, static_cast<int>(cpu_topology().allowed.size()));
  }
  record.precision = precision_name(precision);
  record.batch = setup.batch;
  record.fallbacks = plan.fallbacks;
  record.fallbacks.insert(record.fallbacks.end(), setup.fallbacks.begin(), setup.fallbacks.end());
  run::add_precision_fallbacks(record, plan, precision);
  for (const std::vector<std::string>* notes : {&network.notes(), &images.notes, &plan.warnings, &plan.notes}) {
    record.notes.insert(record.notes.end(), notes->begin(), notes->end());
  }
  if (!setup.reasons.front().empty()) record.notes.push_back(record.engine + " computed: " + setup.reasons.front());
  record.notes.insert(record.notes.end(), setup.call_notes.begin(), setup.call_notes.end());
  for (std::string& note : stage_notes(setup)) record.notes.push_back(std::move(note));
  for (record::ReplicaRecord& replica : record.placement.replicas) {
    for (std::size_t s = 0; s < setup.stages.size(); ++s) {
      replica.stages[s].predicted_memory_bytes = setup.stages[s].memory_bytes;
    }
  }
  record.times.init = setup.init_s;
}

std::string engine_text(const task::InferSetup& setup) {
  const std::string& why = setup.reasons.front();
  return setup.engines.front() + (why.empty() ? "" : " (" + why + ")");
}

std::vector<std::string> stage_notes(const task::InferSetup& setup) {
  const auto bytes = [](std::int64_t count) { return bytes_text(static_cast<std::uint64_t>(count)); };
  std::vector<std::string> notes;
  for (const task::StageSetup& stage : setup.stages) {
    notes.push_back(
        fmt::format("stage {}: {} to {}, {:.0f} % of the operations, {} parameters, about {} of memory{}", notes.size(),
                    stage.first, stage.last, 100 * stage.operations, si_text(static_cast<double>(stage.parameters)),
                    bytes(stage.memory_bytes),
                    stage.sent_bytes == 0 ? "" : fmt::format("; {} go on for each sample", bytes(stage.sent_bytes))));
  }
  return notes;
}

void fill_stage_uses(record::Record& record, const task::StageUses& uses) {
  if (uses.empty()) return;
  double busy = 0, stages = 0;
  for (std::size_t r = 0; r < uses.size(); ++r) {
    for (std::size_t s = 0; s < uses[r].size(); ++s) {
      record.placement.replicas.at(r).stages.at(s).busy_share = uses[r][s].busy_share;
      busy += uses[r][s].busy_share;
      ++stages;
    }
  }
  record::add_metric(record, {.name = "pipeline_bubble",
                              .unit = "share",
                              .title = "bubble",
                              .label = "the share of the stages' time that they waited",
                              .better = record::Better::kLower,
                              .value = 1 - busy / stages});
  std::string text;
  for (const task::StageUse& use : uses.front()) {
    text += fmt::format("{}{:.1f} % ({} a call)", text.empty() ? "" : ", ", 100 * use.busy_share,
                        duration_text(use.call_s));
  }
  record.notes.push_back(
      fmt::format("stages{} were busy {} of the time", uses.size() > 1 ? " of the first replica" : "", text));
}

void fill_inference_speeds(record::Record& record, const task::InferResult& result, const std::vector<double>& times_s,
                           const std::vector<double>& network_rates) {
  record.data.skipped += static_cast<std::int64_t>(result.skipped.size());
  record.images_per_s = record::throughput_of(record::block_rates(times_s, result.images_at_once), "blocks of images");
  if (!record.images_per_s.median) record.images_per_s.reason = "no image was answered";
  record::add_metric(record, {.name = "answering_s",
                              .unit = "s",
                              .title = "",
                              .label = "time of answering",
                              .better = record::Better::kLower,
                              .value = result.seconds});
  record::Metric overall{
      .name = record::kOverallSpeed, .unit = "images/s", .title = "", .label = "images over seconds of answering"};
  if (result.seconds > 0) overall.value = static_cast<double>(result.answered) / result.seconds;
  if (!overall.value) overall.reason = "no image was answered";
  record::add_metric(record, std::move(overall));
  record::add_metric(record, {.name = "network_images_per_s",
                              .unit = "images/s",
                              .title = "network/s",
                              .label = "speed of the network alone",
                              .role = record::MetricRole::kSpeed,
                              .value = median(network_rates),
                              .samples = network_rates,
                              .interval = record::median_interval(network_rates),
                              .over = "blocks of calls",
                              .reason = network_rates.empty() ? "it was not measured" : ""});
}

}  // namespace evener::job
