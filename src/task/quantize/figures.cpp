#include "task/quantize/figures.h"

#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/process_memory.h"
#include "base/stop.h"
#include "task/detect/average_precision.h"

namespace evener::task {
namespace {

/// Resets the kernel's peak memory of this process.
void begin_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

class Classes : public InferObserver {
 public:
  Classes(const data::Samples& samples, const std::string& output, RunFigures& figures)
      : samples_(samples), output_(output), figures_(figures) {
    figures.classes.assign(samples.size(), -1);
  }

  void on_prediction(const Prediction& prediction) override {
    const auto& scores = prediction.outputs.at(output_);
    const auto found = static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
    figures_.classes[prediction.index] = found;
    ++figures_.images;
    const auto label = samples_.label(prediction.index);
    figures_.labelled += label ? 1 : 0;
    figures_.correct += label == found ? 1 : 0;
  }

 private:
  const data::Samples& samples_;
  const std::string& output_;
  RunFigures& figures_;
};

class Boxes : public InferObserver {
 public:
  Boxes(const InferenceModel& model, const FigureOptions& options, RunFigures& figures)
      : photos_(*options.photos),
        detector_(model, options.boxes),
        tally_(detector_.classes().size()),
        figures_(figures) {}

  void on_prediction(const Prediction& prediction) override {
    ++figures_.images;
    const std::vector<Detection> found = detector_.found(prediction, photos_);
    const std::vector<TrueBox> truth = photos_.truth(prediction.index).value_or(std::vector<TrueBox>());
    tally_.add(static_cast<std::int64_t>(prediction.index), found, truth);
  }

  void finish() {
    const CocoSummary coco = quality_of(tally_).coco;
    figures_.ap_50 = coco.ap_50;
    figures_.ap = coco.ap;
  }

 private:
  const Photos& photos_;
  const Detector detector_;
  DetectionTally tally_;
  RunFigures& figures_;
};

/// Counts the images, for a network whose outputs are no classes.
class CountedImages : public InferObserver {
 public:
  explicit CountedImages(RunFigures& figures) : figures_(figures) {}
  void on_prediction(const Prediction& /*prediction*/) override { ++figures_.images; }

 private:
  RunFigures& figures_;
};

/// Returns what could not be read.
std::vector<data::Skipped> show(InferJob& job, const InferenceModel& model, const data::Samples& samples,
                                const FigureOptions& options, RunFigures& figures) {
  if (options.photos != nullptr) {
    Boxes boxes(model, options, figures);
    std::vector<data::Skipped> skipped = job.run(samples, boxes).skipped;
    boxes.finish();
    return skipped;
  }
  const bool is_detector = model.network() != nullptr && !model.network()->anchors().empty();
  if (is_detector || !model.no_classes().empty()) {
    CountedImages counted(figures);
    return job.run(samples, counted).skipped;
  }
  Classes classes(samples, model.main_output(), figures);
  return job.run(samples, classes).skipped;
}

/// Power is told of at least a second: the counters are read by the system in steps.
void measure_rates(InferJob& job, const data::Samples& samples, const FigureOptions& options, RunFigures& figures) {
  constexpr double kLeast_s = 1;
  const auto joules = [&] { return options.joules_so_far ? options.joules_so_far() : std::nullopt; };
  const Stopwatch clock;
  const std::optional<double> before = joules();
  figures.rates = job.network_rates(samples, options.seconds);
  const std::optional<double> after = joules();
  const double window_s = clock.seconds();
  if (before && after && window_s >= kLeast_s) figures.power_w = (*after - *before) / window_s;
}

/// Absent where none can be read.
std::optional<SampleValues> first_readable(const data::Samples& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    try {
      return read_values(samples, i);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // told where it was shown
    }
  }
  return std::nullopt;
}

std::vector<double> latencies(const InferenceModel& model, const data::Samples& samples, InferOptions options,
                              double seconds) {
  options.batch = 1;
  options.streams = 1;
  InferJob job(model, samples, options);
  const std::optional<SampleValues> image = first_readable(samples);
  std::vector<double> found;
  if (!image) return found;
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop_requested()) {
    const Stopwatch call;
    start(job.lane(0), *image);
    job.lane(0).wait();
    found.push_back(call.seconds());
  }
  return found;
}

RunFigures measured(const InferenceModel& model, const data::Samples& samples, const FigureOptions& options) {
  RunFigures figures;
  const std::uint64_t before = process_memory().resident_bytes;
  begin_peak();
  {
    InferJob job(model, samples, options.infer);
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

}  // namespace

RunFigures measure_run(const InferenceModel& model, const data::Samples& samples, const FigureOptions& options) {
  return answer_in_child([&] { return measured(model, samples, options); });
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

}  // namespace evener::task
