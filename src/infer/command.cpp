// evener infer: shows images to a trained network and tells what it says, and how fast.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "data/skipped.h"
#include "infer/inference.h"
#include "infer/run/layer_table.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "record/record_json.h"

namespace evener::inference {
namespace {

constexpr const char* kInferExamples = R"(Examples:
  evener infer runs/a                       what the data of runs/a has to test on: its test part, else validation
  evener infer runs/a photos/ new.jpg --topk 3
  evener infer runs/a fish/ --part test --out runs/a-fish
  evener infer resnet18 --weights resnet18.pth photos/ --format jsonl
  evener infer model.onnx photos/ --labels names.txt --precision bf16
  find photos -name '*.jpg' | evener infer runs/a -
  evener infer mobilenet_v2 random:1000 --on cpu/t2 --precision bf16
  evener infer resnet18 random:100 --scenario server --latency-limit 50 --out runs/served)";

int tell_scenario(const InferenceRun& run, const std::string& json) {
  if (!write_json(json, record::to_json(run.record))) {
    std::fputs(scenario_text(run.record).c_str(), stdout);
    std::fputs(layers_text(run.record).c_str(), stdout);
    if (!run.folder.empty()) fmt::print("results                         {}\n", run.folder.string());
  }
  if (run.was_stopped) throw Interrupted("interrupted; the record says what is known until then");
  return run.record.validity.valid == false ? 3 : 0;
}

void tell_predictions(const InferCommandFlags& flags, const InferenceRun& run) {
  // Lines that another program reads stay alone.
  const bool for_people = *flags.predictions.format != "csv" && *flags.predictions.format != "jsonl";
  if (!write_json(*flags.predictions.json, record::to_json(run.record)) && for_people) {
    std::fputs(inference_text(run).c_str(), stdout);
    if (!run.folder.empty()) fmt::print("results                   {}\n", run.folder.string());
  }
}

int tell_infer(const InferCommandFlags& flags) {
  const auto progress = progress_for(*flags.images.images, *flags.predictions.quiet);
  const InferenceRun run = infer(flags, *progress);
  if (flags.scenario.wanted()) return tell_scenario(run, *flags.predictions.json);
  tell_predictions(flags, run);
  if (run.was_stopped) throw Interrupted("stopped; the answers until then are kept");
  if (run.answered == 0) throw Error("none of the images could be read");
  return 0;
}

/// Runs the photos that are there, and then new ones as they come, until Ctrl-C. A photo that can't be read is
/// reported, and tried again once it has changed.
class WatchedInference {
 public:
  explicit WatchedInference(InferCommandFlags& flags) : flags_(flags), photos_(*flags.images.images) {
    for (const std::string& word : *flags.images.images) {
      if (word != "-" && word.find(':') == std::string::npos) continue;
      throw UsageError("--watch waits for photos in folders, and '" + word + "' is none; name folders or patterns");
    }
    if (flags.images.images->empty()) throw UsageError("--watch waits for photos in folders: name them behind MODEL");
  }

  void run() {
    try {
      Inference inference(flags_);
      inference.stay_compiled();
      if (photos_.at_first() > 0) {
        show(inference);
        note("waiting for more photos; Ctrl-C ends it");
      } else {
        inference.require_meaning();
        note("there are no photos yet: waiting for photos; Ctrl-C ends it");
      }
      const auto next = [&] {
        return photos_.wait([&](const std::string& video) {
          note(fmt::format("'{}' is a video, which --watch passes over: 'evener infer MODEL {}' tells its frames",
                           printable(video), shell_word(video)));
        });
      };
      for (auto more = next(); !more.empty(); more = next()) {
        for (const std::string& file : more) unread_.erase(file);
        flags_.images.images.read(more);
        show(inference);
      }
    } catch (const Interrupted&) {  // which is its end
    }
    const std::string unread =
        unread_.empty() ? "" : fmt::format(", {} could not be read", counted(unread_.size(), "photo"));
    note(fmt::format("{} answered{}", counted(answered_, "photo"), unread));
  }

 private:
  void note(const std::string& text) const { ProgressLine(*flags_.predictions.quiet).note(text); }

  void show(Inference& inference) {
    ProgressLine progress(*flags_.predictions.quiet);
    const InferenceRun run = inference.run(progress);
    tell_predictions(flags_, run);
    std::fflush(stdout);
    answered_ += run.answered;
    for (const data::Skipped& photo : run.unread) unread_.insert(photo.file);
  }

  InferCommandFlags& flags_;
  PhotoWatch photos_;
  std::size_t answered_ = 0;
  std::set<std::string> unread_;
};

int watch(InferCommandFlags& flags) {
  WatchedInference(flags).run();
  return 0;
}

}  // namespace

Command infer_command() {
  const auto flags = std::make_shared<InferCommandFlags>();
  return {.name = "infer",
          .summary = "Inference: a trained network's predictions on images, accuracy, latency",
          .options = flags->options(),
          .footer = kInferExamples,
          .measured = measured_infer,
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return *flags->predictions.watch ? watch(*flags) : tell_infer(*flags); }};
}

}  // namespace evener::inference
