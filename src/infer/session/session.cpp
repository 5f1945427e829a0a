#include "infer/session/session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "base/tensor.h"
#include "infer/run/layer_table.h"
#include "measure/run/metered_run.h"
#include "measure/run/progress.h"
#include "network/cost.h"
#include "record/record_json.h"
#include "record/record_kind.h"

namespace evener::inference {
namespace {

/// Shows how far the predictions are, beside giving them to the sinks.
class ShownPredictions {
 public:
  ShownPredictions(PredictionSinks& sinks, measure::Observer& line, const data::Samples& samples)
      : sinks_(sinks), line_(line), samples_(samples) {
    for (const auto& sink : sinks.sinks()) told_ = told_ || sink->tells_each();
  }

  void operator()(const Prediction& prediction) {
    sinks_.on_prediction(prediction);
    if (told_ || !pace_.is_due(line_)) return;
    const std::size_t done = sinks_.times_s().size();
    const data::LiveFrames* const live = samples_.live();
    std::string text = live != nullptr ? fmt::format("{}, {} dropped", counted(done, "frame"), live->dropped())
                                       : fmt::format("{} of {}", done, counted(samples_.size(), "image"));
    for (const auto& sink : sinks_.sinks()) {
      if (const std::string found = sink->found_text(); !found.empty()) text += ", " + found;
    }
    line_.show(text);
  }

 private:
  PredictionSinks& sinks_;
  measure::Observer& line_;
  const data::Samples& samples_;
  bool told_ = false;
  measure::RedrawPace pace_;
};

/// Fills in what is known before the first prediction. `groups`: the command's options.
void fill_inference_setup(record::Record& record, const std::vector<const OptionGroup*>& groups,
                          const InferenceModel& network, const InferImages& images, const placement::Plan& plan,
                          Precision precision, const InferSetup& setup) {
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
  record.placement = measure::placement_record(plan);
  record.engine = setup.engines.front();
  for (const std::string& engine : setup.engines) record.versions[engine] = module_status(engine).version;
  // A single call uses at most one thread of each CPU, even if it was given more; concurrent calls use all that they
  // were given.
  if (setup.engines.front() == "openvino" && setup.streams == 1) {
    measure::limit_threads(record.placement, static_cast<int>(cpu_topology().allowed.size()));
  }
  record.precision = precision_name(precision);
  record.batch = setup.batch;
  record.fallbacks = plan.fallbacks;
  record.fallbacks.insert(record.fallbacks.end(), setup.fallbacks.begin(), setup.fallbacks.end());
  measure::add_precision_fallbacks(record, plan, precision);
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

}  // namespace

InferenceSession::InferenceSession(const InferPlacementFlags& placement, const InferenceRequest& request)
    : plan_(placement.plan()),
      precision_(placement.precision_on(plan_)),
      threads_(placement.reading_threads->value_or(usable_cpus())),
      network_(request) {}

Shown InferenceSession::show(const Showing& showing, measure::Observer& line) {
  measure::MeteredRun run(showing.run, line);
  const data::Samples& samples = *showing.images.samples;
  InferSetup setup;
  record::Record record = run.measure([&] {
    if (!job_) {
      InferOptions options = showing.infer;
      // Whoever measures a speed wants that of long runs.
      if (showing.images.are_random) options.coming = kManyImages;
      job_.emplace(network_, samples, std::move(options));
    }
    setup = job_->setup();
    begin(showing, run, setup, line);
    showing.work(*job_, run);
    // The threads of stages tell their phases to the run that they began in, which ends here.
    if (!stays_compiled_ || placement::stage_count(plan_) > 1) job_.reset();
    return run.record();
  });
  if (showing.times_layers) {
    add_layers(run.folder(), record, line, [&] { return profile_inference(network_, setup, samples, showing.infer); });
  }
  return {std::move(record), run.folder()};
}

void InferenceSession::begin(const Showing& showing, measure::MeteredRun& run, const InferSetup& setup,
                             measure::Observer& line) const {
  fill_inference_setup(run.record(), showing.groups, network_, showing.images, plan_, precision_, setup);
  run.record().data.classes = showing.classes;
  const std::string setup_line = showing.setup_line(setup);
  run.begin();
  line.note(setup_line);
  if (!showing.images.seen.empty()) line.note("seen are " + showing.images.seen);
  for (const std::vector<std::string>* notes : {&network_.notes(), &showing.images.notes, &plan_.notes}) {
    for (const std::string& text : *notes) line.note("note: " + text);
  }
  for (const std::string& text : stage_notes(setup)) line.note(text);
  for (const std::string& text : setup.fallbacks) line.note("warning: " + text);
  for (const std::string& text : placement::all_warnings(plan_)) line.note("warning: " + text);
}

InferResult predict_all(InferJob& job, const data::Samples& samples, PredictionSinks& sinks, measure::Observer& line) {
  ShownPredictions shown(sinks, line, samples);
  InferResult result = job.run(samples, std::ref(shown));
  if (result.was_stopped) clear_stop_request();  // what follows has still to be written
  line.finish();
  sinks.finish();
  return result;
}

InferOptions options_for(const data::Samples& samples, InferOptions options) {
  if (samples.live() != nullptr && !options.batch) options.batch = 1;
  return options;
}

std::string count_text(const data::Samples& samples) {
  if (samples.live() != nullptr && samples.size() == data::Pictures::kEndless) return "frames until Ctrl-C";
  if (samples.live() != nullptr) return fmt::format("at most {}", counted(samples.size(), "frame"));
  return counted(samples.size(), "image");
}

std::string dropped_note(const data::Samples& samples, std::size_t answered) {
  const data::LiveFrames* const live = samples.live();
  if (live == nullptr || live->dropped() == 0) return "";
  const std::size_t came = answered + live->dropped();
  return fmt::format("{} of {} were dropped, as the network could not keep up: {:.0f} %", live->dropped(),
                     counted(came, "frame"), 100.0 * static_cast<double>(live->dropped()) / static_cast<double>(came));
}

void require_no_failure(const data::Samples& samples) {
  const data::LiveFrames* const live = samples.live();
  if (live == nullptr || live->failure().empty()) return;
  throw Error(live->failure() + "; the answers until then are kept");
}

OutputShapes output_shapes(InferJob& job, const data::Samples& samples) {
  const auto values = static_cast<std::size_t>(element_count(samples.shape()));
  SampleValues zeros;
  samples.is_bytes() ? zeros.bytes.resize(values) : zeros.floats.resize(values);
  OutputShapes shapes;
  for (const auto& [name, tensor] : job.call(0, {&zeros})) {
    shapes[name].assign(tensor.shape.begin() + 1, tensor.shape.end());
  }
  return shapes;
}

void tell_skipped(const std::vector<data::Skipped>& skipped, const char* what, const char* why_not,
                  measure::Observer& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be {}:{}", counted(skipped.size(), what), why_not, data::first_skipped(skipped)));
}

void write_confusion(const std::filesystem::path& path, const std::vector<std::vector<std::int64_t>>& counts,
                     const std::vector<std::string>& classes, const char* what) {
  const auto name = [&](std::size_t c) { return c < classes.size() ? csv_cell(classes[c]) : "(background)"; };
  std::string text = fmt::format("true_class,found_class,{}\n", what);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    for (std::size_t column = 0; column < counts.size(); ++column) {
      if (counts[row][column] > 0) text += fmt::format("{},{},{}\n", name(row), name(column), counts[row][column]);
    }
  }
  write_file_atomically(path, text);
}

std::string engine_text(const InferSetup& setup) {
  const std::string& why = setup.reasons.front();
  return setup.engines.front() + (why.empty() ? "" : " (" + why + ")");
}

std::vector<std::string> stage_notes(const InferSetup& setup) {
  const auto bytes = [](std::int64_t count) { return bytes_text(static_cast<std::uint64_t>(count)); };
  std::vector<std::string> notes;
  for (const StageSetup& stage : setup.stages) {
    notes.push_back(
        fmt::format("stage {}: {} to {}, {:.0f} % of the operations, {} parameters, about {} of memory{}", notes.size(),
                    stage.first, stage.last, 100 * stage.operations, si_text(static_cast<double>(stage.parameters)),
                    bytes(stage.memory_bytes),
                    stage.sent_bytes == 0 ? "" : fmt::format("; {} go on for each sample", bytes(stage.sent_bytes))));
  }
  return notes;
}

void fill_stage_uses(record::Record& record, const StageUses& uses) {
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
  for (const StageUse& use : uses.front()) {
    text += fmt::format("{}{:.1f} % ({} a call)", text.empty() ? "" : ", ", 100 * use.busy_share,
                        duration_text(use.call_s));
  }
  record.notes.push_back(
      fmt::format("stages{} were busy {} of the time", uses.size() > 1 ? " of the first replica" : "", text));
}

void fill_inference_speeds(record::Record& record, const InferResult& result, const std::vector<double>& times_s,
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

}  // namespace evener::inference
