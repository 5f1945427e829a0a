// evener train: trains or goes on training a network, and says what it cost.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/terminal_text.h"
#include "options/output.h"
#include "record/metric.h"
#include "record/record_json.h"
#include "record/record_kind.h"
#include "train/automatic.h"
#include "train/plan_job.h"
#include "train/progress.h"
#include "train/training.h"

namespace evener::training {
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

/// What most do with a trained network.
void print_next(const TrainingOutcome& outcome) {
  if (outcome.status != record::Status::kDone) return;
  const std::string run = shell_word(outcome.out.string());
  const bool finds_boxes = record::find_metric(record::metrics_of(outcome.record), "val_map_50") != nullptr ||
                           record::find_metric(record::metrics_of(outcome.record), "test_map_50") != nullptr;
  fmt::print("next                      evener {} {} PHOTOS, or evener report {}\n", finds_boxes ? "detect" : "infer",
             run, run);
}

void print_summary(const TrainingOutcome& outcome) {
  std::fputs(training_text(outcome.record).c_str(), stdout);
  fmt::print("results                   {}\n", outcome.out.string());
  print_next(outcome);
}

int train(TrainFlags& flags) {
  if (*flags.output.dry_run) {
    ProgressLine line(*flags.output.quiet);
    choose_by_trying(flags, line);
    std::fputs(dry_run_text(flags).c_str(), stdout);
    return 0;
  }
  TrainProgress progress(*flags.optimisation.epochs, *flags.output.quiet);
  choose_by_trying(flags, progress);
  const TrainingOutcome outcome = train(flags, progress);
  if (outcome.out.empty()) return 0;  // others tell
  if (!write_json(*flags.output.json, record::to_json(outcome.record))) print_summary(outcome);
  if (outcome.status == record::Status::kInterrupted) throw Interrupted(outcome.status_reason);
  if (outcome.status == record::Status::kDiverged) throw Error(outcome.status_reason);
  return 0;
}

}  // namespace

Command train_command() {
  const auto flags = std::make_shared<TrainFlags>();
  return {.name = "train",
          .summary = "Train a network on images, or fine-tune one; checkpoints, resumable",
          .options = flags->options(),
          .footer = kTrainExamples,
          .measured = measured_train,
          .check = [flags] { check_placement(*flags); },
          .complete =
              [flags](measure::Observer& line) {
                choose_by_weights(*flags);
                complete(*flags, &line);
              },
          .run = [flags] { return train(*flags); }};
}

}  // namespace evener::training
