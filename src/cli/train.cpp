// evener train: trains or goes on training a network, and says what it cost.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/planning.h"
#include "cli/train_hosts.h"
#include "cli/train_options.h"
#include "cli/training.h"
#include "network/zoo.h"
#include "placement/plan.h"

namespace evener::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  evener train mlp:784-256-10 --data mnist/ --batch 64 --lr 0.3
  evener train resnet34 --data synth:masks --size 197x148 --batch 32 --epochs 5
  evener train resnet18 --data photos/ --size 224x224 --on cpu/t4 --precision bf16 --schedule cosine --warmup 1
  evener train resnet18 --data photos/ --size 224x224 --on auto
  evener train resnet34 --data synth:masks --on cuda:0 --precision bf16 --batch max --data-on device
  evener train resnet18 --data photos/ --size 224x224 --out runs/a --resume
  evener train resnet18 --data photos/ --size 224x224 --weights resnet18.pth --freeze 'layer*' --normalize imagenet
  evener train resnet20 --data cifar/ --weights resnet20.th --normalize imagenet --epochs 0
  evener train resnet18 --data photos/ --size 224x224 --on 2xcpu/t4 --hosts node1,node2
  evener train resnet34 --data fish/ --class bream='Bream GT/**' --class shrimp='Shrimp GT/**' --augment flip)";

std::string model_list() {
  std::string text;
  for (const auto& model : network::known_models()) text += (text.empty() ? "" : ", ") + model.name;
  return text;
}

}  // namespace

void add_train_options(CLI::App& command, TrainFlags& flags) {
  command.add_option("model", flags.model, "Network: " + model_list())->required();
  command.add_option("--data", flags.data, kDataHelp)->required();
  add_class_option(command, flags.classes);
  command
      .add_option(
          "--on", flags.on,
          "Placement: cpu (all cores), cpu/t1, 2xcpu/t1, ..., or auto: the fastest of them (docs/placements.md)")
      ->capture_default_str();
  command.add_option("--plan-seconds", flags.plan_seconds, "How long --on auto may measure")->capture_default_str();
  command.add_option("--epochs", flags.epochs, "Passes over the training images; 0: evaluate --weights only")
      ->capture_default_str();
  command
      .add_option(
          "--batch", flags.batch,
          "Images per step, over all devices together; or max: the largest batch that the device has memory for")
      ->capture_default_str();
  command.add_option("--lr", flags.learning_rate, "Learning rate (default: 0.05; adamw 0.001)");
  command.add_option("--schedule", flags.schedule, "constant, cosine, one-cycle or step:EPOCHS[:FACTOR]")
      ->capture_default_str();
  command.add_option("--warmup", flags.warmup_epochs, "Epochs over which the rate grows from 0")->capture_default_str();
  command.add_option("--optimizer", flags.optimizer, "sgd or adamw")->capture_default_str();
  command.add_option("--momentum", flags.momentum, "Momentum of sgd")->capture_default_str();
  command.add_flag("--nesterov", flags.nesterov, "Let sgd look ahead along its momentum");
  command.add_option(
      "--weight-decay", flags.weight_decay,
      "sgd: L2 term added to the gradient (default: 0); adamw: weights shrink by lr x this (default: 0.01)");
  command.add_option("--clip-norm", flags.clip_norm, "Scale gradients down to this norm (default: never)");
  command.add_option(
      "--ema", flags.average_decay,
      "Validate, test and keep as best an average of the weights over the steps, with this decay (0.999)");
  command.add_option("--accumulate", flags.accumulate, "Compute each batch in so many parts, for less memory")
      ->capture_default_str();
  command.add_option("--label-smoothing", flags.label_smoothing, "Share of the target that goes to all classes")
      ->capture_default_str();
  command.add_option("--patience", flags.patience, "End after so many epochs without a better validation accuracy");
  command.add_option("--until-accuracy", flags.until_accuracy,
                     "End when the validation accuracy is this (0.98), and tell the time it took");
  command.add_option("--loss", flags.loss, "cross-entropy or mse")->capture_default_str();
  command
      .add_option("--precision", flags.precision,
                  "fp32, tf32 (as fp32 on CPUs), bf16 or fp16 with loss scaling (as bf16 on CPUs)")
      ->capture_default_str();
  command
      .add_option("--data-on", flags.data_on,
                  "Where a GPU takes its images from: host (a batch at a time), or device (all stay in its memory)")
      ->capture_default_str();
  command
      .add_option("--step-graph", flags.step_graph,
                  "Whether a GPU replays whole steps as a CUDA graph: auto (where it can), or off")
      ->capture_default_str();
  command.add_option("--weights", flags.weights,
                     "Weights to start from: safetensors, or a state dict saved by PyTorch. With another number of "
                     "classes the last layer begins anew");
  command
      .add_option("--freeze", flags.freeze,
                  "Parameters that are not trained, by a pattern of their names, e.g. 'layer*'; may be repeated. "
                  "Frozen batch-norm layers go on updating their running statistics, as in PyTorch")
      ->allow_extra_args(false);
  command.add_option("--normalize", flags.normalize,
                     "Mean and deviation of images: data (of the training images), imagenet, or MEAN/STD such as "
                     "0.5/0.25 (default: as the weights' file says, otherwise data)");
  command.add_option("--size", flags.size, "WIDTHxHEIGHT the images are brought to (default: as they are)");
  command.add_option("--channels", flags.channels, "1 grey, 3 colour (default: as they are)");
  command.add_option("--split", flags.split,
                     "TRAIN/VALIDATION/TEST in percent (default: the folder's own parts, or 85/2/13)");
  command.add_option("--augment", flags.augment,
                     "Random changes of training images: flip, crop[:PADDING], resized-crop[:LEAST_AREA], "
                     "colour[:STRENGTH], mixup[:ALPHA], with commas between");
  command.add_option("--decode", flags.decode, "JPEG decoding: exact, or fast (scaled while decoding)")
      ->capture_default_str();
  command.add_option("--validate-every", flags.validate_every, "Validate every so many epochs")->capture_default_str();
  command.add_option("--seed", flags.seed, "Of the first weights, the order and the split")->capture_default_str();
  command.add_option("--replicas", flags.replicas, "Several replicas as processes or as threads, or auto")
      ->capture_default_str();
  command.add_flag("--oversubscribe", flags.oversubscribe,
                   "All replicas of a placement such as 16xcpu/t1, also more than there are CPUs (default: as many as "
                   "have CPUs of their own)");
  command.add_option(
      "--shares", flags.shares,
      "Who gets how much of each batch: equal, measured, or weights such as 12:1 (default: equal where all "
      "replicas are alike, otherwise measured)");
  command
      .add_option("--batch-norm", flags.batch_norm,
                  "Statistics over the whole batch (synchronised), or over each replica's share alone (local), which "
                  "is quicker and changes what is learnt")
      ->capture_default_str();
  command.add_option("--exchange", flags.exchange, "Exchange gradients: auto (with several replicas), or always")
      ->capture_default_str();
  command
      .add_option("--exchange-precision", flags.exchange_precision,
                  "How gradients travel: fp32, or bf16 (half the bytes)")
      ->capture_default_str();
  command
      .add_option("--restarts", flags.restarts, "Go on from the last checkpoint so many times when a replica is lost")
      ->capture_default_str();
  command.add_option("--hosts", flags.hosts,
                     "Repeat the placement on each of these hosts: names with commas between, or a file of names "
                     "(docs/distributed.md; default: those of the Slurm allocation)");
  command.add_option(kHostsStarted, flags.hosts_started)->group("");  // not for users
  command.add_flag("--elastic", flags.elastic,
                   "When a replica is lost for good, go on with the others; batches stay as large");
  command
      .add_option(
          "--engine", flags.engine,
          "auto (native for perceptrons on CPUs and OpenCL, otherwise torch), torch, or native: our own kernels for "
          "multilayer perceptrons")
      ->capture_default_str();
  command.add_option("--kernels", flags.kernels, "Of the native engine: simd, or naive (plain loops, for comparison)")
      ->capture_default_str();
  command.add_option("--layout", flags.layout, "Memory layout of images: auto, nchw or nhwc")->capture_default_str();
  command.add_option(
      "--loader-threads", flags.loader_threads,
      "Threads that prepare batches (default: 1; native without --augment: 0, the training thread does)");
  command.add_option("--out", flags.out, "Folder for checkpoints and results (default: runs/MODEL-TIME)");
  command.add_option("--json", flags.json, "Write the record there too; - is stdout");
  command.add_option("--trace", flags.trace, "Write the phases as a Chrome trace");
  command.add_option("--sample-interval", flags.sample_interval_ms, "Milliseconds between samples of CPU and memory")
      ->capture_default_str();
  command.add_flag("--resume", flags.resume, "Go on from the checkpoint in --out");
  command.add_flag("--overwrite", flags.overwrite, "Replace a run that is in --out");
  command.add_flag("--strict", flags.strict, "An unreadable image is an error instead of being left out");
  command.add_flag("--dry-run", flags.dry_run, "Print the plan of the placement and stop");
  command.add_flag("--quiet", flags.quiet, "No progress");
}

namespace {

/// Nothing where it was not finite.
std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format(", loss {:.6f}", *loss) : "";
}

void print_summary(const TrainingOutcome& outcome) {
  const measure::Record& record = outcome.record;
  const measure::Accuracy& accuracy = record.accuracy;
  if (accuracy.val && accuracy.val_epoch) {
    fmt::print("best validation accuracy  {:.2f} % (epoch {})\n", 100 * *accuracy.val, *accuracy.val_epoch);
  } else if (accuracy.val) {
    fmt::print("validation accuracy       {:.2f} %{}\n", 100 * *accuracy.val, loss_text(accuracy.val_loss));
  }
  if (accuracy.test) {
    fmt::print("test accuracy             {:.2f} % ({} weights){}\n", 100 * *accuracy.test, accuracy.test_weights,
               loss_text(accuracy.test_loss));
  }
  if (record.images_per_s.median)
    fmt::print("training speed            {} images/s\n", si_text(*record.images_per_s.median));
  if (record.times.total) fmt::print("time                      {}\n", duration_text(*record.times.total));
  if (record.memory.peak_rss_bytes)
    fmt::print("peak memory               {}\n", bytes_text(*record.memory.peak_rss_bytes));
  fmt::print("results                   {}\n", outcome.out.string());
  if (record.validity.valid == false) {
    fmt::print("the times are INVALID as a measurement:\n");
    for (const auto& reason : record.validity.reasons) fmt::print("  {}; {}\n", reason.what, reason.advice);
  }
}

/// Checks the options; prints the plan if `print`.
void plan_run(const TrainFlags& flags, const std::vector<std::string>& hosts, bool print) {
  const placement::Plan plan = plan_of(flags);
  train_options(flags, plan);
  if (!print) return;
  std::fputs(placement::plan_text(plan).c_str(), stdout);
  if (!hosts.empty()) std::fputs(hosts_text(hosts, plan.replicas.size()).c_str(), stdout);
}

int train(const TrainFlags& flags) {
  const std::vector<std::string> hosts = hosts_to_start(flags);
  if (is_automatic(flags) && (flags.dry_run || !hosts.empty())) {
    throw UsageError(
        "--on auto is chosen by measuring on this host: 'evener plan' does so and trains nothing; name what it finds");
  }
  if (flags.dry_run || !hosts.empty()) plan_run(flags, hosts, flags.dry_run);
  if (flags.dry_run) return 0;
  if (!hosts.empty()) {
    train_on_hosts(flags, hosts);
    return 0;
  }
  const TrainingOutcome outcome =
      flags.hosts_started > 0 ? naming_host([&] { return run_training(flags); }) : run_training(flags);
  if (outcome.out.empty()) return 0;  // another host tells
  if (flags.json == "-") {
    fmt::print("{}\n", measure::to_json(outcome.record).dump(2));
  } else {
    if (!flags.json.empty()) write_file_atomically(flags.json, measure::to_json(outcome.record).dump(2) + "\n");
    print_summary(outcome);
  }
  switch (outcome.status) {
    case task::TrainStatus::kDone:
      return 0;
    case task::TrainStatus::kInterrupted:
      throw Interrupted(outcome.status_reason);
    case task::TrainStatus::kDiverged:
      throw Error(outcome.status_reason);
  }
  return 0;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "Train a network on images; checkpoints, resumable");
  const auto flags = std::make_shared<TrainFlags>();
  add_train_options(*command, *flags);
  command->footer(kExamples);
  command->callback([flags, &action] { action = [flags] { return train(*flags); }; });
}

}  // namespace evener::cli
