#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"
#include "base/files.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "infer/session/options.h"
#include "measure/run/metered_run.h"
#include "network/cost.h"
#include "record/record_json.h"
#include "record/record_kind.h"
#include "train/steps/stages.h"
#include "train/training.h"

namespace evener::training {
namespace {

using nlohmann::json;

double first_begin_s(std::span<const parallel::StageWork> work) {
  double begin_s = std::numeric_limits<double>::infinity();
  for (const auto& rank : work) {
    for (const auto& step : rank.last_steps) {
      for (const auto& task : step) begin_s = std::min(begin_s, task.from_s);
    }
  }
  return begin_s;
}

/// The options as they were given, and what became of those that the run decided itself.
json full_config(const TrainFlags& flags, const TrainOptions& options, const TrainSetup& setup) {
  json config = config_of(flags);
  inference::add_data_path(*flags.data.location, config);
  config["engine"] = setup.engine;
  config["batch"] = options.batch;
  config["epochs"] = options.epochs;
  config["size"] = std::to_string(setup.image.width) + "x" + std::to_string(setup.image.height);
  config["channels"] = setup.image.channels;
  config["loader-threads"] = setup.loader_threads;
  config["normalize"] = setup.normalized_by;
  config["mean"] = setup.normalization.mean;
  config["standard-deviation"] = setup.normalization.standard_deviation;
  return config;
}

/// Whether the run trains, or evaluates only.
bool trains(const record::Record& record) {
  const auto epochs = record.config.find("epochs");
  return epochs == record.config.end() || epochs->second != "0";
}

void fill_accuracy(record::Record& record, const TrainResult& result) {
  if (!result.epochs.empty()) record.training.accuracy.train = result.epochs.back().train_accuracy;
  const auto best = std::find_if(result.epochs.begin(), result.epochs.end(),
                                 [&](const auto& epoch) { return epoch.epoch == result.best_epoch; });
  if (best != result.epochs.end()) {
    record.training.accuracy.val = best->val_accuracy;
    record.training.accuracy.val_epoch = best->epoch;
    record.training.accuracy.val_loss = best->val_loss;
  } else if (result.val_accuracy) {
    record.training.accuracy.val = result.val_accuracy;
    record.training.accuracy.val_loss = result.val_loss;
    record.missing["accuracy.val_epoch"] = "nothing was trained";
  } else {
    record.missing["accuracy.val"] = record.missing["accuracy.val_loss"] =
        record.data.val == 0 ? "the data has no validation images" : "no epoch was validated";
  }
  record.training.accuracy.test = result.test_accuracy;
  record.training.accuracy.test_loss = result.test_loss;
  record.training.accuracy.test_weights = result.best_epoch != 0 ? "best" : trains(record) ? "last" : "given";
  if (!result.test_accuracy) {
    record.missing["accuracy.test"] = record.missing["accuracy.test_loss"] =
        record.data.test == 0 ? "the data has no test images" : "the run did not reach its end";
  }
}

/// The best validation's figures and the test's. A detector has them in place of accuracies.
void fill_epoch_figures(record::Record& record, const TrainResult& result) {
  std::map<std::string, double> figures = result.figures;
  for (const auto& epoch : result.epochs) {
    if (epoch.epoch == result.best_epoch) figures.insert(epoch.figures.begin(), epoch.figures.end());
  }
  const auto add = [&](const record::EpochFigure& figure, const std::string& part, const char* label,
                       std::optional<std::int64_t> images) {
    record::Metric metric{.name = part + "_" + figure.name,
                          .unit = "share",
                          .title = *figure.title == 0 ? "" : part + " " + figure.title,
                          .label = std::string(label) + " " + figure.label,
                          .role = record::MetricRole::kQuality,
                          .of_images = images};
    const auto found = figures.find(metric.name);
    if (found != figures.end()) metric.value = found->second;
    if (!metric.value && !(result.is_detector && figure.of_every_detector)) return;
    if (!metric.value) {
      metric.reason = images == 0 ? "the data has no such images" : "the run did not come to it, or no box was there";
    }
    record::add_metric(record, std::move(metric));
  };
  for (const record::EpochFigure& figure : record::kEpochFigures) {
    add(figure, "val", "validation", record.data.val);
    add(figure, "test", "test", record.data.test);
  }
  if (!result.is_detector) return;
  for (const char* path : {"accuracy.train", "accuracy.val", "accuracy.test"}) {
    record.missing[path] = "a detector has precisions instead: val_map_50, test_map_50";
  }
}

void fill_throughput(record::Record& record, const TrainResult& result) {
  const auto blocks = [](const StepBlocks& steps) {
    return record::BlockRates{steps.rates(), steps.steps_per_block()};
  };
  record::Throughput& speed = record.images_per_s;
  speed = record::training_throughput(blocks(result.first_epoch), blocks(result.later_epochs));
  if (speed.median && !speed.interval) {
    record.missing["images_per_s_details.interval_95"] =
        fmt::format("{} samples ({}) are too few for an interval of 95 % (at least {}); their range is told instead",
                    speed.samples.size(), speed.over, record::kFewestSamples);
  }
  if (const std::string note = record::speed_note(record); !note.empty()) record.notes.push_back(note);
}

/// Fills in how many samples each replica trained on, and how busy it was.
void fill_replicas(record::Record& record, const TrainResult& result) {
  std::int64_t all = 0;
  for (const auto& work : result.replicas) all += work.samples;
  for (std::size_t r = 0; r < std::min(result.replicas.size(), record.placement.replicas.size()); ++r) {
    const auto& work = result.replicas[r];
    auto& replica = record.placement.replicas[r];
    replica.samples = work.samples;
    replica.busy_s = work.busy_s;
    if (all > 0) replica.share = static_cast<double>(work.samples) / static_cast<double>(all);
  }
  if (result.replicas.size() < 2) return;
  for (const auto& [step, samples] : result.shares) record.placement.divisions.push_back({step, samples});
}

/// Whether the record lists a stage's device ("cuda:0") among its GPUs.
bool is_gpu(const std::string& device) {
  return device.starts_with("cuda") || device.starts_with("opencl");
}

/// What devices computed. The record lists GPUs in the order of the ranks that use them: by replica, and in it by
/// stage.
void fill_devices(record::Record& record, const TrainResult& result) {
  for (const auto& device : result.devices) {
    record.notes.insert(record.notes.end(), device.notes.begin(), device.notes.end());
    if (!device.executed.empty()) record.config["executed"] = json(device.executed).dump();
    if (device.skipped_steps > 0) {
      record.notes.push_back(std::to_string(device.skipped_steps) +
                             " steps changed nothing: their gradients overflowed (fp16; the loss is scaled down then)");
    }
  }
  std::size_t rank = 0, gpu = 0;
  for (const auto& replica : record.placement.replicas) {
    for (const auto& stage : replica.stages) {
      if (rank == result.devices.size() || gpu == record.gpus.size()) return;
      const auto& device = result.devices[rank++];
      if (!is_gpu(stage.device)) continue;
      record.gpus[gpu].peak_memory_bytes = device.peak_memory_bytes;
      record.gpus[gpu].step_phases_s = device.step_phases_s;
      ++gpu;
    }
  }
}

/// How well the stages of a pipeline were filled.
void fill_pipeline(record::Record& record, const TrainResult& result) {
  for (std::size_t rank = 0; rank < result.stages.size(); ++rank) {
    const std::size_t stages = record.placement.replicas.at(0).stages.size(), replica = rank / stages;
    if (replica >= record.placement.replicas.size()) break;
    record.placement.replicas[replica].stages[rank % stages].memory_bytes = result.stages[rank].memory_bytes;
  }
  if (!result.pipeline) return;
  const parallel::PipelineFigures& pipeline = *result.pipeline;
  const auto share = [](std::string name, std::string title, std::string label, double value) {
    return record::Metric{.name = std::move(name),
                          .unit = "share",
                          .title = std::move(title),
                          .label = std::move(label),
                          .better = record::Better::kLower,
                          .value = value};
  };
  record::add_metric(
      record, share("pipeline_bubble", "bubble", "the share of the stages' time that they waited", pipeline.bubble));
  record::add_metric(record, share("pipeline_bubble_simulated", "",
                                   "the share that they would wait if each micro-batch took its mean time",
                                   pipeline.simulated_bubble));
  std::string text;
  for (const parallel::StageTimes& stage : pipeline.stages) {
    text += fmt::format("{}{} + {}", text.empty() ? "" : ", ", duration_text(stage.forward_s),
                        duration_text(stage.backward_s));
    if (stage.weights_s > 0) text += fmt::format(" + {} for the weights", duration_text(stage.weights_s));
  }
  record.notes.push_back(fmt::format(
      "pipeline: a batch passes in {}; forward and backward of one take {} on the stages; a step took {}, of which "
      "the simulation of these times explains {}",
      counted(pipeline.micro_batches, "micro-batch", "micro-batches"), text, duration_text(pipeline.step_s),
      duration_text(pipeline.simulated_step_s)));
}

}  // namespace

void fill_setup(record::Record& record, const TrainFlags& flags, const TrainOptions& options, const TrainSetup& setup) {
  record.config = record::config_from_json(full_config(flags, options, setup));
  record.options = words_of(flags);
  record.times.train = record.times.validate = record.times.test = 0;  // so far
  record.seeds = {{"seed", options.trainer.seed}};
  record.versions[setup.engine] = module_status(setup.engine).version;
  if (*flags.placement.hosts_started > 0) record.versions["mpi"] = module_status("mpi").version;
  const auto cost = network::total_cost(setup.network);
  record.model = {setup.network.model(), cost.parameters, cost.forward_flops, cost.forward_flops + cost.backward_flops};
  const auto& image = setup.image;
  record.data = {options.data.location,
                 static_cast<std::int64_t>(setup.images),
                 setup.classes,
                 {image.channels, image.height, image.width},
                 static_cast<std::int64_t>(setup.train_images),
                 static_cast<std::int64_t>(setup.val_images),
                 static_cast<std::int64_t>(setup.test_images),
                 static_cast<std::int64_t>(setup.skipped.size())};
  record.notes = setup.notes;
  const placement::Plan& plan = options.plan;
  record.fallbacks = plan.fallbacks;
  record.notes.insert(record.notes.end(), plan.warnings.begin(), plan.warnings.end());
  record.notes.insert(record.notes.end(), plan.notes.begin(), plan.notes.end());
  record.placement = measure::placement_record(plan);
  if (!setup.division.stages.empty() && options.epochs > 0) {
    const auto memory = stage_memory(options, setup.network, setup.division);
    for (auto& replica : record.placement.replicas) {
      for (std::size_t s = 0; s < memory.size(); ++s) replica.stages[s].predicted_memory_bytes = memory[s].bytes();
    }
  }
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (!is_gpu(device_text(stage.device))) continue;
      record.gpus.emplace_back();
      record.gpus.back().index = stage.device.index;
      record.gpus.back().name = stage.device_name;
      record.gpus.back().uuid = stage.uuid;
    }
  }
  record.engine = setup.engine;
  record.precision = precision_name(options.trainer.precision);
  record.batch = options.batch;
  measure::add_precision_fallbacks(record, plan, options.trainer.precision);
  const bool fewer_threads = std::ranges::any_of(
      plan.replicas, [](const placement::PlanReplica& r) { return r.stages.front().threads > usable_cpus(); });
  if (setup.engine == "native" && fewer_threads) {
    measure::limit_threads(record.placement, usable_cpus());
    record.fallbacks.push_back("the native engine took " + std::to_string(usable_cpus()) +
                               " threads for a replica: there are no more CPUs here");
  }
  if (options.local_batch_norm && plan.replicas.size() > 1 && setup.division.stages.empty()) {
    record.notes.push_back(
        "batch-norm took the statistics of each replica's share alone, which changes what is learnt (--batch-norm "
        "local)");
  }
}

void fill_results(record::Record& record, const TrainResult& result) {
  record.status = result.status;
  record.notes.insert(record.notes.end(), result.notes.begin(), result.notes.end());
  if (!result.end_note.empty()) record.notes.push_back(result.end_note);
  if (!result.status_reason.empty()) record.notes.push_back(result.status_reason);
  // Epochs of an earlier run that this one resumed are known to the checkpoint only.
  std::vector<record::EpochRecord> all;
  for (const auto& epoch : result.epochs) {
    if (!record.training.epochs.empty() && epoch.epoch >= record.training.epochs.front().epoch) break;
    all.push_back(epoch);
    record::set_speed(all.back(), static_cast<std::size_t>(record.data.train.value_or(0)));
  }
  const std::size_t before = all.size();
  all.insert(all.end(), record.training.epochs.begin(), record.training.epochs.end());
  record.training.epochs = std::move(all);
  record::SessionRecord& session = record.sessions.back();
  session.epochs = static_cast<std::int64_t>(record.training.epochs.size() - before);
  session.images = result.head_images;
  for (const auto& work : result.replicas) session.images += work.samples;
  const std::optional<double> total = record.times.total;
  const std::optional<double> first_step = record.times.first_step;
  record.times = result.times;
  record.times.total = total;
  if (!record.times.first_step) record.times.first_step = first_step;
  fill_throughput(record, result);
  fill_accuracy(record, result);
  fill_epoch_figures(record, result);
  record.confusion = result.confusion;
  fill_replicas(record, result);
  fill_devices(record, result);
  fill_pipeline(record, result);
  if (trains(record)) return;
  record.images_per_s.reason = "nothing was trained";
  record.missing["validity.valid"] = "nothing was trained, so nothing is judged as a measurement of training";
}

void write_stage_trace(const std::filesystem::path& path, std::span<const parallel::StageWork> work, int stages,
                       int hosts) {
  const std::size_t of_host = work.size() / static_cast<std::size_t>(hosts);
  constexpr double kMicroseconds = 1e6;
  std::string events;
  const auto add = [&events](const std::string& event) { events += (events.empty() ? "" : ",\n") + event; };
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    const auto replica = rank / static_cast<std::size_t>(stages), stage = rank % static_cast<std::size_t>(stages);
    const double begin_s = first_begin_s(work.subspan(rank / of_host * of_host, of_host));
    add(fmt::format(R"({{"name":"process_name","ph":"M","pid":{0},"tid":0,"args":{{"name":"replica {0}"}}}})",
                    replica));
    add(fmt::format(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"stage {}"}}}})", replica,
                    stage, stage));
    for (std::size_t step = 0; step < work[rank].last_steps.size(); ++step) {
      for (const auto& task : work[rank].last_steps[step]) {
        add(fmt::format(
            R"({{"name":"{0} {1}","cat":"{0}","ph":"X","pid":{2},"tid":{3},"ts":{4:.3f},"dur":{5:.3f},"args":{{"step":{6},"micro_batch":{1}}}}})",
            parallel::pass_text(task.kind), task.micro_batch, replica, stage, (task.from_s - begin_s) * kMicroseconds,
            (task.to_s - task.from_s) * kMicroseconds, step));
      }
    }
  }
  write_file_atomically(path, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n");
}

}  // namespace evener::training
