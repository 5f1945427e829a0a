#include "job/inference/session.h"

#include <fmt/format.h>

#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/stop.h"
#include "base/tensor.h"
#include "job/inference/session_record.h"
#include "job/layer_table.h"
#include "job/progress.h"

namespace evener::job {
namespace {

/// Shows how far the predictions are, beside giving them to the sinks.
class ShownPredictions : public task::InferObserver {
 public:
  ShownPredictions(PredictionSinks& sinks, Observer& line, const data::Samples& samples)
      : sinks_(sinks), line_(line), samples_(samples) {
    for (const auto& sink : sinks.sinks()) told_ = told_ || sink->tells_each();
  }

  void on_prediction(const task::Prediction& prediction) override {
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
  Observer& line_;
  const data::Samples& samples_;
  bool told_ = false;
  RedrawPace pace_;
};

}  // namespace

InferenceSession::InferenceSession(const InferPlacementFlags& placement, const task::InferenceRequest& request)
    : plan_(placement.plan()),
      precision_(placement.precision_on(plan_)),
      threads_(placement.reading_threads->value_or(usable_cpus())),
      network_(request) {}

Shown InferenceSession::show(const Showing& showing, Observer& line) {
  run::MeteredRun run(showing.run, line);
  const data::Samples& samples = *showing.images.samples;
  task::InferSetup setup;
  record::Record record = run.measure([&] {
    if (!job_) {
      task::InferOptions options = showing.infer;
      // Whoever measures a speed wants that of long runs.
      if (showing.images.are_random) options.coming = task::kManyImages;
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
    add_layers(run.folder(), record, line,
               [&] { return task::profile_inference(network_, setup, samples, showing.infer); });
  }
  return {std::move(record), run.folder()};
}

void InferenceSession::begin(const Showing& showing, run::MeteredRun& run, const task::InferSetup& setup,
                             Observer& line) const {
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

task::InferResult predict_all(task::InferJob& job, const data::Samples& samples, PredictionSinks& sinks,
                              Observer& line) {
  ShownPredictions shown(sinks, line, samples);
  task::InferResult result = job.run(samples, shown);
  if (result.was_stopped) clear_stop_request();  // what follows has still to be written
  line.finish();
  sinks.finish();
  return result;
}

task::InferOptions options_for(const data::Samples& samples, task::InferOptions options) {
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

OutputShapes output_shapes(task::InferJob& job, const data::Samples& samples) {
  const auto values = static_cast<std::size_t>(element_count(samples.shape()));
  task::SampleValues zeros;
  samples.is_bytes() ? zeros.bytes.resize(values) : zeros.floats.resize(values);
  OutputShapes shapes;
  for (const auto& [name, tensor] : job.call(0, {&zeros})) {
    shapes[name].assign(tensor.shape.begin() + 1, tensor.shape.end());
  }
  return shapes;
}

void tell_skipped(const std::vector<data::Skipped>& skipped, const char* what, const char* why_not, Observer& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be {}:{}", counted(skipped.size(), what), why_not, data::first_skipped(skipped)));
}

}  // namespace evener::job
