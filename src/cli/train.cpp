// evener train: trains or goes on training a network, and says what it cost.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/fetching.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/choose/automatic.h"
#include "job/layer_table.h"
#include "job/train/training.h"
#include "record/metric.h"
#include "record/record_json.h"
#include "record/record_kind.h"
#include "record/statistics.h"
#include "task/training/limits.h"

namespace evener::cli {
namespace {

constexpr const char* kTrainExamples = R"(Examples:
  evener train --data photos/ --minutes 10
  evener train mlp:784-256-10 --data mnist/ --batch 64 --lr 0.3
  evener train resnet34 --data synth:masks --size 197x148 --batch 32 --epochs 5
  evener train resnet18 --data photos/ --size 224x224 --on cpu/t4 --precision bf16 --schedule cosine --warmup 1
  evener train resnet18 --data photos/ --size 224x224 --on auto
  evener train resnet34 --data synth:masks --on cuda:0 --precision bf16 --batch max --data-on device
  evener train resnet20 --data cifar/ --weights resnet20.th --normalize imagenet --quantize int8 --epochs 3
  evener train --resume runs/a
  evener train --resume runs/a --epochs 20
  evener train resnet18 --data photos/ --size 224x224 --weights resnet18.pth --freeze 'layer*' --normalize imagenet
  evener train resnet20 --data cifar/ --weights resnet20.th --normalize imagenet --epochs 0
  evener train resnet18 --data photos/ --size 224x224 --on 2xcpu/t4 --hosts node1,node2
  evener train ssdlite_mobilenet_v2 --data cells/ --size 320x240 --weights mobilenet_v2.pth --augment flip,iou-crop
  evener train resnet34 --data fish/ --class bream='Bream GT/**' --class shrimp='Shrimp GT/**' --augment flip)";

/// Empty for a loss that was not finite.
std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format(", loss {:.6f}", *loss) : "";
}

/// The confidence interval of an accuracy on few images: "; of 4 images: 40 to 100 % (95 %)". Empty for many images.
std::string doubt_text(const std::optional<double>& accuracy, const std::optional<std::int64_t>& images) {
  if (!accuracy || !images || *images >= static_cast<std::int64_t>(task::kFewJudged)) return "";
  return fmt::format("; of {}, so that it may be {} (95 %)", counted(*images, "image"),
                     record::share_interval_text(*accuracy, *images));
}

/// Prints the median speed with its spread, and a note where the mean speed differs from it.
void print_speed(const record::Record& record) {
  const std::vector<record::Metric> metrics = record::metrics_of(record);
  const record::Metric* speed = record::main_speed(metrics);
  if (speed == nullptr || !speed->value) return;
  fmt::print("training speed            {} images/s ({})\n", si_text(*speed->value), record::spread_text(*speed));
  if (const std::string note = record::speed_note(record); !note.empty()) fmt::print("  note: {}\n", note);
}

/// Prints the precisions of a detector, which has no accuracy.
void print_precision(const record::Record& record) {
  const std::vector<record::Metric> metrics = record::metrics_of(record);
  for (const auto& [part, title] : {std::pair{"val", "best validation mAP@0.5"}, std::pair{"test", "test mAP@0.5"}}) {
    const record::Metric* at_half = record::find_metric(metrics, part + std::string("_map_50"));
    const record::Metric* all = record::find_metric(metrics, part + std::string("_map"));
    if (at_half == nullptr || !at_half->value) continue;
    fmt::print("{:<26}{:.4f}{}\n", title, *at_half->value,
               all != nullptr && all->value ? fmt::format(" (mAP@0.5:0.95 {:.4f})", *all->value) : "");
  }
}

/// What most do with a trained network.
void print_next(const job::TrainingOutcome& outcome) {
  if (outcome.status != record::Status::kDone) return;
  const std::string run = shell_word(outcome.out.string());
  const bool finds_boxes = record::find_metric(record::metrics_of(outcome.record), "val_map_50") != nullptr ||
                           record::find_metric(record::metrics_of(outcome.record), "test_map_50") != nullptr;
  fmt::print("next                      evener {} {} PHOTOS, or evener report {}\n", finds_boxes ? "detect" : "infer",
             run, run);
}

void print_summary(const job::TrainingOutcome& outcome) {
  const record::Record& record = outcome.record;
  const record::Accuracy& accuracy = record.training.accuracy;
  const std::string val_doubt = doubt_text(accuracy.val, record.data.val),
                    test_doubt = doubt_text(accuracy.test, record.data.test);
  std::fputs(job::layers_text(record).c_str(), stdout);
  if (accuracy.val && accuracy.val_epoch) {
    fmt::print("{} {:.2f} % (epoch {}){}\n",
               val_doubt.empty() ? "best validation accuracy " : "validation accuracy      ", 100 * *accuracy.val,
               *accuracy.val_epoch, val_doubt);
  } else if (accuracy.val) {
    fmt::print("validation accuracy       {:.2f} %{}{}\n", 100 * *accuracy.val, loss_text(accuracy.val_loss),
               val_doubt);
  }
  if (accuracy.test) {
    fmt::print("test accuracy             {:.2f} % ({} weights){}{}\n", 100 * *accuracy.test, accuracy.test_weights,
               loss_text(accuracy.test_loss), test_doubt);
  }
  print_precision(record);
  print_speed(record);
  if (record.times.total) {
    const std::size_t sessions = record.sessions.size();
    fmt::print("time                      {}{}\n", duration_text(*record.times.total),
               sessions > 1 ? fmt::format(" in {} sessions", sessions) : "");
  }
  if (record.memory.peak_rss_bytes)
    fmt::print("peak memory               {}\n", bytes_text(*record.memory.peak_rss_bytes));
  if (const std::string energy = record::energy_text(record); !energy.empty()) {
    fmt::print("energy                    {}\n", energy);
  }
  for (const std::string& sentence : record.warnings) fmt::print("warning                   {}\n", sentence);
  fmt::print("results                   {}\n", outcome.out.string());
  print_next(outcome);
  if (record.validity.valid == false) {
    std::string rules;
    for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
    fmt::print("times                     not to be quoted ({}); record.json says why\n", rules);
  }
}

int train(job::TrainFlags& flags) {
  if (*flags.output.dry_run) {
    ProgressLine line(*flags.output.quiet);
    job::choose_by_trying(flags, line);
    std::fputs(job::dry_run_text(flags).c_str(), stdout);
    return 0;
  }
  TrainProgress progress(*flags.optimisation.epochs, *flags.output.quiet);
  job::choose_by_trying(flags, progress);
  const job::TrainingOutcome outcome = job::train(flags, progress);
  if (outcome.out.empty()) return 0;  // others tell
  if (!write_json(*flags.output.json, record::to_json(outcome.record))) print_summary(outcome);
  if (outcome.status == record::Status::kInterrupted) throw Interrupted(outcome.status_reason);
  if (outcome.status == record::Status::kDiverged) throw Error(outcome.status_reason);
  return 0;
}

}  // namespace

Command train_command() {
  const auto flags = std::make_shared<job::TrainFlags>();
  return {.name = "train",
          .summary = "Train a network on images, or fine-tune one; checkpoints, resumable",
          .options = flags->options(),
          .footer = kTrainExamples,
          .check = [flags] { job::check_placement(*flags); },
          .complete =
              [flags] {
                job::choose_by_weights(*flags);
                job::ModelFlags& model = flags->model;
                take_named_weights(model.weights, &model.normalize, *model.model);
                job::complete(*flags);
              },
          .run = [flags] { return train(*flags); }};
}

}  // namespace evener::cli
