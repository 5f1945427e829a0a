#include "quantize/figures.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "detect/judge/average_precision.h"
#include "infer/run/probe.h"
#include "network/cost.h"
#include "network/quantization.h"

namespace evener::quantization {
namespace {

using network::Layer;

/// Resets the kernel's peak memory of this process.
void begin_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// The score of boxes that people look at.
constexpr float kWorthALook = 0.3F;

/// The boxes of RunFigures::boxes by their samples.
std::map<std::int64_t, std::vector<detection::Detection>> boxes_by_sample(const std::vector<double>& boxes) {
  std::map<std::int64_t, std::vector<detection::Detection>> found;
  constexpr std::size_t kValuesOfBox = 7;
  for (std::size_t i = 0; i + kValuesOfBox <= boxes.size(); i += kValuesOfBox) {
    const auto value = [&](std::size_t k) { return static_cast<float>(boxes[i + k]); };
    found[static_cast<std::int64_t>(boxes[i])].push_back(
        {value(3), value(4), value(5), value(6), static_cast<std::int32_t>(boxes[i + 1]), value(2)});
  }
  return found;
}

std::vector<data::Skipped> show_boxes(inference::InferJob& job, const inference::InferenceModel& model,
                                      const data::Samples& samples, const FigureOptions& options, RunFigures& figures) {
  const detection::Detector detector(model, options.boxes);
  detection::DetectionTally tally(detector.classes().size());
  bool is_judged = false;
  const auto take = [&](const inference::Prediction& prediction) {
    ++figures.images;
    const std::vector<detection::Detection> found = detector.found(prediction, *options.photos);
    for (const detection::Detection& box : found) {
      if (box.score < kWorthALook) continue;
      figures.boxes.insert(figures.boxes.end(),
                           {static_cast<double>(prediction.index), static_cast<double>(box.label), double{box.score},
                            double{box.x1}, double{box.y1}, double{box.x2}, double{box.y2}});
    }
    const auto truth = options.photos->truth(prediction.index);
    if (!truth) return;
    is_judged = true;
    tally.add(static_cast<std::int64_t>(prediction.index), found, *truth);
  };
  std::vector<data::Skipped> skipped = job.run(samples, take).skipped;
  if (!is_judged) return skipped;
  const detection::CocoSummary coco = detection::quality_of(tally).coco;
  figures.ap_50 = coco.ap_50;
  figures.ap = coco.ap;
  return skipped;
}

/// Returns what could not be read.
std::vector<data::Skipped> show(inference::InferJob& job, const inference::InferenceModel& model,
                                const data::Samples& samples, const FigureOptions& options, RunFigures& figures) {
  if (options.photos != nullptr) return show_boxes(job, model, samples, options, figures);
  const bool has_classes = model.no_classes().empty();
  if (has_classes) figures.classes.assign(samples.size(), -1);
  const auto take = [&](const inference::Prediction& prediction) {
    ++figures.images;
    if (!has_classes) return;
    const auto& scores = prediction.outputs.at(model.main_output());
    const auto found = static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
    figures.classes[prediction.index] = found;
    const auto label = samples.label(prediction.index);
    figures.labelled += label ? 1 : 0;
    figures.correct += label == found ? 1 : 0;
  };
  return job.run(samples, take).skipped;
}

/// Power is told of at least a second: the counters are read by the system in steps.
void measure_rates(inference::InferJob& job, const data::Samples& samples, const FigureOptions& options,
                   RunFigures& figures) {
  constexpr double kLeast_s = 1;
  const auto joules = [&] { return options.joules_so_far ? options.joules_so_far() : std::nullopt; };
  const Stopwatch clock;
  const std::optional<double> before = joules();
  figures.rates = job.network_rates(samples, options.seconds);
  const std::optional<double> after = joules();
  const double window_s = clock.seconds();
  if (before && after && window_s >= kLeast_s) figures.power_w = (*after - *before) / window_s;
}

/// Of calls with the first sample that can be read.
std::vector<double> latencies(const inference::InferenceModel& model, const data::Samples& samples,
                              inference::InferOptions options, double seconds) {
  options.batch = 1;
  options.streams = 1;
  inference::InferJob job(model, samples, options);
  std::vector<double> found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    inference::SampleValues image;
    try {
      image = inference::read_values(samples, i);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // told where it was shown
      continue;
    }
    const Stopwatch clock;
    while (clock.seconds() < seconds && !stop_requested()) {
      const Stopwatch call;
      inference::start(job.lane(0), image);
      job.lane(0).wait();
      found.push_back(call.seconds());
    }
    break;
  }
  return found;
}

RunFigures measured(const inference::InferenceModel& model, const data::Samples& samples,
                    const FigureOptions& options) {
  RunFigures figures;
  const std::uint64_t before = process_memory().resident_bytes;
  begin_peak();
  {
    inference::InferJob job(model, samples, options.infer);
    const std::vector<data::Skipped> skipped = show(job, model, samples, options, figures);
    figures.unread = skipped.size();
    if (!skipped.empty()) figures.first_unread = skipped.front().file + ": " + skipped.front().reason;
    measure_rates(job, samples, options, figures);
    figures.executed = job.setup().executed;
  }
  const std::uint64_t peak = process_memory().peak_bytes;
  figures.memory_bytes = peak > before ? peak - before : 0;
  figures.latencies_s = latencies(model, samples, options.infer, options.seconds);
  return figures;
}

constexpr std::size_t kMostImages = 2000, kLeastImages = 32;
constexpr double kMostFlops = 1e12;  // about ten seconds of two cores

bool is_usable(const char* engine) {
  return module_status(engine).state == ModuleState::kUsable;
}

/// LibTorch's prediction on an image.
struct Scores {
  std::size_t best = 0;
  double gap = 0;  // to the second highest
};

Scores scores_of(std::span<const float> values) {
  Scores found{static_cast<std::size_t>(std::ranges::max_element(values) - values.begin())};
  double second = -INFINITY;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != found.best) second = std::max(second, static_cast<double>(values[i]));
  }
  found.gap = static_cast<double>(values[found.best]) - second;
  return found;
}

/// Of the last layer with quantised weights: the step of what it reads, times its largest weight.
std::optional<double> last_step(const network::Network& network, const TensorMap& state) {
  const std::vector<Layer>& layers = network.layers();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const auto scales = state.find(layer->name + ".weight_scale");
    if (scales == state.end()) continue;
    const Layer* input = &layers[static_cast<std::size_t>(layer->inputs.front())];
    while (!std::holds_alternative<network::FakeQuantize>(input->op)) {
      if (input->inputs.empty()) return std::nullopt;
      input = &layers[static_cast<std::size_t>(input->inputs.front())];
    }
    const HostTensor weight = state.at(layer->name + ".weight").to_floats();
    float largest = 0;
    for (const float value : std::span(weight.floats(), static_cast<std::size_t>(element_count(weight.shape)))) {
      largest = std::max(largest, std::abs(value));
    }
    const float scale = std::max(state.at(input->name + ".scale").floats()[0], network::kLeastScale);
    return static_cast<double>(scale) * largest;
  }
  return std::nullopt;
}

/// What both engines find, one after the other; they pass over the same samples.
EngineAgreement compare_here(const inference::InferenceModel& model, const data::Samples& samples, std::size_t images,
                             int threads) {
  const network::Network& network = *model.network();
  std::vector<Scores> torch;
  EngineAgreement found;
  std::vector<double> gaps;
  double widest = 0;
  for (const char* name : {"torch", "openvino"}) {
    const auto engine = engine::open_engine(name);
    const bool is_first = torch.empty();
    const auto look = [&](const TensorMap& results, std::span<const std::size_t> indices) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const Scores scores = scores_of(inference::values_of(results.at(model.main_output()), i));
        if (is_first) {
          torch.push_back(scores);
          gaps.push_back(scores.gap);
          continue;
        }
        const Scores& before = torch.at(found.images++);
        found.same += before.best == scores.best ? 1 : 0;
        if (before.best != scores.best) widest = std::max(widest, before.gap);
      }
    };
    inference::observe_results({*engine, model.normalization_of(samples.is_bytes()), threads}, network, *model.state(),
                               {}, samples, images, look);
    if (torch.empty()) break;
  }
  const std::optional<double> step = last_step(network, *model.state());
  if (!step || *step <= 0 || gaps.empty()) return found;
  const auto in_steps = [&](double gap) {
    return std::isfinite(gap / *step) ? std::optional(gap / *step) : std::nullopt;
  };
  found.usual_gap = in_steps(*median(gaps));
  if (found.same < found.images) found.widest_gap = in_steps(widest);
  return found;
}

}  // namespace

RunFigures measure_run(const inference::InferenceModel& model, const data::Samples& samples,
                       const FigureOptions& options) {
  return answer_in_child([&] { return measured(model, samples, options); });
}

std::optional<double> boxes_agree(const RunFigures& before, const RunFigures& after) {
  auto known = boxes_by_sample(before.boxes), found = boxes_by_sample(after.boxes);
  if (known.empty()) return std::nullopt;
  std::int32_t classes = 0;
  for (const auto* const boxes : {&known, &found}) {
    for (const auto& [sample, of_sample] : *boxes) {
      for (const detection::Detection& box : of_sample) classes = std::max(classes, box.label + 1);
    }
  }
  for (const auto& [sample, boxes] : found) known.try_emplace(sample);
  detection::DetectionTally tally(static_cast<std::size_t>(classes));
  for (const auto& [sample, boxes] : known) {
    tally.add(sample, found[sample], std::vector<detection::TrueBox>(boxes.begin(), boxes.end()));
  }
  return detection::quality_of(tally).coco.ap_50;
}

Int8Layers int8_layers(const std::map<std::string, int>& executed) {
  Int8Layers layers;
  for (const auto& [what, count] : executed) {
    const bool products =
        what.starts_with("Convolution ") || what.starts_with("FullyConnected ") || what.starts_with("MatMul ");
    if (!products) continue;
    layers.all += count;
    if (what.ends_with(" i8") || what.ends_with(" u8")) layers.int8 += count;
  }
  return layers;
}

std::optional<EngineAgreement> engine_agreement(const inference::InferenceModel& model, const data::Samples& samples,
                                                int threads) {
  if (model.network() == nullptr || !is_usable("torch") || !is_usable("openvino")) return std::nullopt;
  const double flops = std::max<double>(1, static_cast<double>(network::total_cost(*model.network()).forward_flops));
  const auto images =
      std::clamp(static_cast<std::size_t>(std::min(kMostFlops / flops, 1e9)), kLeastImages, kMostImages);
  return answer_in_child([&] { return compare_here(model, samples, images, threads); });
}

}  // namespace evener::quantization
