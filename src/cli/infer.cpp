// evener infer: shows images to a trained network and tells what it says, and how fast.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/fetching.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "data/skipped.h"
#include "job/infer/inference.h"
#include "job/layer_table.h"
#include "record/record_json.h"
#include "record/statistics.h"
#include "report/format.h"
#include "report/table.h"

namespace evener::cli {
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

constexpr std::size_t kMostClassesShown = 20, kMostConfusions = 5, kMostMistakesShown = 5;

/// As std::views::take, whose headers clang 14 can't read.
template <class Value>
std::span<const Value> first_of(const std::vector<Value>& all, std::size_t most) {
  return std::span(all).first(std::min(all.size(), most));
}

std::string share_text(std::int64_t hits, std::int64_t count) {
  const double share = static_cast<double>(hits) / static_cast<double>(count);
  return fmt::format("{:.2f} % (95 %: {})", 100 * share, record::share_interval_text(share, count));
}

/// A class, how many images of it there were, and how many were recognised.
struct ClassCount {
  std::string name;
  std::int64_t images = 0, right = 0;

  double share() const { return static_cast<double>(right) / static_cast<double>(images); }
};

/// The classes that were recognised worst come first.
void print_classes(const job::Scores& scores, const std::vector<std::string>& names) {
  if (scores.confusion.empty()) return;  // too many, or without names
  std::vector<ClassCount> classes;
  for (std::size_t i = 0; i < scores.confusion.size(); ++i) {
    const std::vector<std::int64_t>& row = scores.confusion[i];
    const std::int64_t images = std::accumulate(row.begin(), row.end(), std::int64_t{0});
    if (images > 0) classes.push_back({one_line(names[i]), images, row[i]});
  }
  std::ranges::stable_sort(classes, {}, &ClassCount::share);
  report::Table table;
  table.columns = {{"class", false}, {"images", true}, {"right", true}, {"share", false}};
  for (const ClassCount& one : first_of(classes, kMostClassesShown)) {
    table.rows.push_back(
        {one.name, std::to_string(one.images), std::to_string(one.right), share_text(one.right, one.images)});
  }
  fmt::print("\n{}", report::terminal_text(table));
  if (classes.size() > kMostClassesShown) {
    fmt::print("{} more, recognised better\n", counted(classes.size() - kMostClassesShown, "class", "classes"));
  }
}

/// Pairs of classes that were taken for each other most often.
void print_confusions(const job::Scores& scores, const std::vector<std::string>& names) {
  struct Confusion {
    std::int64_t images, of;
    std::size_t truth, found;
  };
  std::vector<Confusion> all;
  for (std::size_t row = 0; row < scores.confusion.size(); ++row) {
    const auto& counts = scores.confusion[row];
    const std::int64_t of = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    for (std::size_t column = 0; column < counts.size(); ++column) {
      if (row != column && counts[column] > 0) all.push_back({counts[column], of, row, column});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Confusion::images);
  for (const Confusion& one : first_of(all, kMostConfusions)) {
    fmt::print("{} taken for {}: {} of {}\n", one_line(names[one.truth]), one_line(names[one.found]), one.images,
               one.of);
  }
}

void print_mistakes(const job::InferenceRun& run) {
  if (run.scores.mistakes.empty()) return;
  fmt::print("\nthe surest mistakes\n");
  for (const job::Mistake& mistake : first_of(run.scores.mistakes, kMostMistakesShown)) {
    const std::string score = std::isnan(mistake.score) ? "no number"
                              : run.scores_are_logits   ? fmt::format("{:.4g}", mistake.score)
                                                        : fmt::format("{:.1f} %", 100 * mistake.score);
    fmt::print("  {}  is {}, taken for {} ({})\n", one_line(mistake.file), one_line(mistake.truth),
               one_line(mistake.found), score);
  }
}

void print_sorted(const job::PhotoSorter& sorter) {
  std::string text;
  for (const auto& [folder, photos] : sorter.added()) {
    text += fmt::format("{}{} into {}", text.empty() ? "" : ", ", photos, one_line(folder));
  }
  if (text.empty()) text = "no new photo";
  if (sorter.there() > 0) text += fmt::format("; {} were there already, and stay where they are", sorter.there());
  fmt::print("sorted                    {} ({})\n", text, sorter.out().string());
}

void print_summary(const job::InferenceRun& run) {
  const job::Scores& scores = run.scores;
  if (scores.images > 0) {
    if (!run.seen.empty()) fmt::print("seen                      {}\n", run.seen);
    fmt::print("accuracy                  {}, {} of {} images\n", share_text(scores.correct, scores.images),
               scores.correct, scores.images);
    if (scores.classes > 5) {
      fmt::print("among the first five      {:.2f} %\n",
                 100 * static_cast<double>(scores.correct_in_five) / static_cast<double>(scores.images));
    }
    print_classes(scores, run.record.data.classes);
    print_confusions(scores, run.record.data.classes);
    print_mistakes(run);
  }
  if (run.unknown.images > 0) {
    fmt::print("unknown                   {} of {}: like nothing that it was trained on\n", run.unknown.unknown,
               counted(run.unknown.images, "image"));
  }
  if (run.sorted) print_sorted(*run.sorted);
  if (!run.folder.empty()) fmt::print("results                   {}\n", run.folder.string());
}

int tell_scenario(const job::InferenceRun& run, const std::string& json) {
  if (!write_json(json, record::to_json(run.record))) {
    std::fputs(job::scenario_text(run.record).c_str(), stdout);
    std::fputs(job::layers_text(run.record).c_str(), stdout);
    if (!run.folder.empty()) fmt::print("results                         {}\n", run.folder.string());
  }
  if (run.was_stopped) throw Interrupted("interrupted; the record says what is known until then");
  return run.record.validity.valid == false ? 3 : 0;
}

void tell_predictions(const job::InferCommandFlags& flags, const job::InferenceRun& run) {
  // Lines that another program reads stay alone.
  const bool for_people = *flags.predictions.format != "csv" && *flags.predictions.format != "jsonl";
  if (!write_json(*flags.predictions.json, record::to_json(run.record)) && for_people) {
    std::fputs(job::layers_text(run.record).c_str(), stdout);
    print_summary(run);
  }
}

int tell_infer(const job::InferCommandFlags& flags) {
  const auto progress = progress_for(*flags.images.images, *flags.predictions.quiet);
  const job::InferenceRun run = job::infer(flags, *progress);
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
  explicit WatchedInference(job::InferCommandFlags& flags) : flags_(flags), photos_(*flags.images.images) {
    for (const std::string& word : *flags.images.images) {
      if (word != "-" && word.find(':') == std::string::npos) continue;
      throw UsageError("--watch waits for photos in folders, and '" + word + "' is none; name folders or patterns");
    }
    if (flags.images.images->empty()) throw UsageError("--watch waits for photos in folders: name them behind MODEL");
  }

  void run() {
    try {
      job::Inference inference(flags_);
      inference.stay_compiled();
      if (photos_.at_first() > 0) {
        show(inference);
        note("waiting for more photos; Ctrl-C ends it");
      } else {
        inference.require_meaning();
        note("there are no photos yet: waiting for photos; Ctrl-C ends it");
      }
      for (auto more = photos_.wait(); !more.empty(); more = photos_.wait()) {
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

  void show(job::Inference& inference) {
    ProgressLine progress(*flags_.predictions.quiet);
    const job::InferenceRun run = inference.run(progress);
    tell_predictions(flags_, run);
    std::fflush(stdout);
    answered_ += run.answered;
    for (const data::Skipped& photo : run.unread) unread_.insert(photo.file);
  }

  job::InferCommandFlags& flags_;
  job::PhotoWatch photos_;
  std::size_t answered_ = 0;
  std::set<std::string> unread_;
};

int watch(job::InferCommandFlags& flags) {
  WatchedInference(flags).run();
  return 0;
}

}  // namespace

Command infer_command() {
  const auto flags = std::make_shared<job::InferCommandFlags>();
  return {.name = "infer",
          .summary = "Inference: a trained network's predictions on images, accuracy, latency",
          .options = flags->options(),
          .footer = kInferExamples,
          .complete =
              [flags] {
                job::InferModelFlags& model = flags->model;
                take_named_weights(model.weights, &model.normalize, *model.model);
                job::complete(*flags);
              },
          .run = [flags] { return *flags->predictions.watch ? watch(*flags) : tell_infer(*flags); }};
}

}  // namespace evener::cli
