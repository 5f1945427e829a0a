// Rows of trainings, plans, and labels that look wrong.
#include "app/option_rows_helpers.h"

#include <variant>

#include "base/precision.h"
#include "data/augment.h"
#include "train/labels/options.h"
#include "train/plan_job.h"
#include "train/training.h"

namespace evener::test {
namespace {

using nlohmann::json;

/// So many replicas as this machine may not have CPUs for.
const Words kTwo = {"--on", "2xcpu/t1", "--oversubscribe", "true"};

const Words kNative = {"--engine", "native", "--epochs", "1"};

std::vector<OptionRow> network_and_data() {
  const char* both = "train|plan";
  return {{both, {"MODEL", "mlp:784-32-10"}, "/model", "mlp:784-32-10"},
          {both, {"--weights", "there.pt"}, "/weights", "there.pt"},
          {both, {"--quantize", "int8"}, "/quantize_bits", 8},
          {both, {"--quantize", "w5"}, "/quantize_bits", 5},
          {both, {"--freeze", "a*", "--freeze", "b*"}, "/freeze", {"a*", "b*"}},
          {both, {"--linear-probing", "on"}, "/linear_probing", 2},
          {both, {"--linear-probing", "off"}, "/linear_probing", 0},
          {both, {"--normalize", "imagenet"}, "/normalize", "imagenet"},
          {both, {"--normalize", "0.5/0.25"}, "/normalize_given", 2},
          {both, {"--data", "synth:masks:90"}, "/data/location", "synth:masks:90"},
          {both, {"--class", "a=x/**", "--class", "b=y"}, "/data/classes", {"a is x/**", "b is y"}},
          {both, {"--size", "20x10"}, "/data/width", 20},
          {both, {"--size", "20x10"}, "/data/height", 10},
          {both, {"--channels", "3"}, "/data/channels", 3},
          {both, {"--split", "70/20/10"}, "/data/split", {70.0, 20.0, 10.0}},
          {both, {"--split", "70/20/10"}, "/inherits_parts", false},
          {both, {"--decode", "fast"}, "/data/decode", 1},
          {both, {"--crop", "letterbox"}, "/data/crop", 1},
          {both, {"--crop", "centre"}, "/data/crop", 2},
          {both, {"--seed", "7"}, "/data/seed", 7},
          {both, {"--seed", "7"}, "/seed", 7},
          {both, {"--strict", "true"}, "/data/strict", true},
          {both, {"--augment", "flip,crop:3"}, "/augment", "flip,crop:3"},
          {both, {"--drop", "nowhere.csv"}, "/error", "~nowhere.csv"},
          {both, {"--drop", "nowhere.csv"}, "test:DataLabels.TrainsWithoutWhatIsDropped"},
          {both, {"--drop-test", "true"}, "/error", "~give both"},
          {both, {"--loader-threads", "3"}, "/loader_threads", 3}};
}

std::vector<OptionRow> learning() {
  const char* both = "train|plan";
  return {{"train", {"--epochs", "7"}, "/epochs", 7},
          {both, {"--minutes", "2.5"}, "/seconds_until_end", 150.0},
          {both, {"--batch", "48"}, "/batch", 48},
          {both, {"--lr", "0.25"}, "/rate", 0.25},
          {both, {"--backbone-rate", "0.3"}, "/backbone_rate", 0.3},
          {both, {"--schedule", "step:4:0.3"}, "/schedule", {1, 4, 0.3}},
          {both, {"--schedule", "cosine"}, "/schedule/0", 2},
          {both, {"--warmup", "1.5"}, "/warmup_epochs", 1.5},
          {both, {"--optimizer", "adamw"}, "/optimizer/kind", 1},
          {both, {"--momentum", "0.8"}, "/optimizer/momentum", 0.8},
          {both, {"--nesterov", "true"}, "/optimizer/nesterov", true, {"--momentum", "0.8"}},
          {both, {"--weight-decay", "0.002"}, "/optimizer/weight_decay", 0.002},
          {both, {"--clip-norm", "3"}, "/optimizer/clip_norm", 3.0},
          {both, {"--ema", "0.95"}, "/optimizer/average_decay", 0.95},
          {both, {"--accumulate", "4"}, "/accumulate", 4},
          {both, {"--loss", "mse"}, "/loss", "mse"},
          {both, {"--box-loss", "giou"}, "/box_loss", "giou"},
          {both, {"--label-smoothing", "0.125"}, "/label_smoothing", 0.125},
          {both, {"--validate-every", "3"}, "/validate_every", 3},
          {both, {"--patience", "5"}, "/patience", 5},
          {both, {"--until-accuracy", "0.9"}, "/until_accuracy", 0.9},
          {"train", {"--no-calibration", "true"}, "test:Calibrate.TrainingsLeaveItOutWhereAskedAndWhereImagesAreFew"},
          {"plan", {"--no-calibration", "true", "--unknown", "0"}, "test:KnownEverywhere.DefaultsOfFineTuning"},
          {"plan", {"--unknown", "0"}, "test:KnownEverywhere.DefaultsOfFineTuning"},
          {"train", {"--unknown", "0"}, "test:Calibrate.TrainingsLeaveItOutWhereAskedAndWhereImagesAreFew"}};
}

std::vector<OptionRow> placement() {
  const char* both = "train|plan";
  return {{"train", {"--on", "2xcpu/t1"}, "/plan/text", "2xcpu/t1"},
          {"plan", {"--on", "cpu/t1,2xcpu/t1"}, "/candidates", {"cpu/t1", "2xcpu/t1"}},
          {both, {"--precision", "bf16"}, "/precision", "bf16"},
          {both, {"--precision", "bf16"}, "/plan/precision", "bf16"},
          {both, {"--engine", "native"}, "/engine", "native"},
          {both, {"--kernels", "naive"}, "/naive", true},
          {both, {"--layout", "nhwc"}, "/layout", 2},
          {both, {"--layout", "nchw"}, "/layout", 1},
          {both, {"--convolution", "direct"}, "/convolution", 1},
          {both, {"--convolution", "winograd"}, "/convolution", 2},
          {both, {"--data-on", "device"}, "/data_on_device", true},
          {both, {"--step-graph", "off"}, "/step_graph", false},
          {both, {"--deterministic", "true"}, "/deterministic", true},
          {"train", {"--replicas", "threads"}, "/plan/processes", 1, kTwo},
          {"train", {"--oversubscribe", "true"}, "/plan/replicas", 300, {"--on", "300xcpu/t1"}},
          {"train", {"--shares", "3:1"}, "/plan/shares", {0.75, 0.25}, kTwo},
          {"plan", {"--replicas", "threads"}, "/first/processes", 1, kTwo},
          {"plan", {"--oversubscribe", "true"}, "/first/replicas", 300, {"--on", "300xcpu/t1"}},
          {"plan", {"--shares", "3:1"}, "/first/shares", {0.75, 0.25}, kTwo},
          {both, {"--cut", "fc2,fc3"}, "/cut", {"fc2", "fc3"}},
          {both, {"--micro-batches", "6"}, "/micro_batches", 6},
          {both, {"--pipeline-schedule", "gpipe"}, "/pipeline_schedule", 1},
          {both, {"--pipeline-schedule", "zero-bubble"}, "/pipeline_schedule", 2},
          {both, {"--memory", "1.5"}, "/stage_memory_bytes", 1'500'000},
          {both, {"--batch-norm", "local"}, "/local_batch_norm", true},
          {both, {"--batch-norm", "frozen"}, "/error", "~goes with --weights FILE"},
          {both, {"--exchange", "always"}, "/always_exchange", true},
          {both, {"--exchange", "host"}, "/host_exchange", true},
          {both, {"--communication-dtype", "bf16"}, "/half_gradients", true},
          {"train", {"--restarts", "3"}, "/restarts", 3},
          {"train", {"--elastic", "true"}, "/elastic", true, kTwo},
          {"train", {"--hosts", "one,two"}, "/hosts", {"one", "two"}}};
}

std::vector<OptionRow> around_a_training() {
  return {{"train", {"--out", "there"}, "/around/out", "there"},
          {"train", {"--out", "{}/new"}, "/run/files", "~new/last.safetensors", kNative},
          {"train", {"--resume", "runs/a"}, "/resume", true, {"--out", "runs/a"}},
          {"train", {"--resume", "runs/a"}, "/around/resume", true, {"--out", "runs/a"}},
          {"train", {"--overwrite", "true"}, "/around/overwrite", true},
          {"train", {"--json", "{}/r.json"}, "/run/files", "~r.json", kNative},
          {"train", {"--json", "-"}, "/run/out", "~\"kind\": \"train\"", kNative},
          {"train", {"--dry-run", "true"}, "/run/out", "~of the batch", kNative},
          {"train", {"--quiet", "true"}, "/run/err", "", kNative},
          {"train", {"--trace", "t.json"}, "/around/trace", "t.json"},
          {"train", {"--sample-interval", "125"}, "/around/sample_interval_ms", 125},
          {"train", {"--profile", "layers"}, "test:Profile.OfATrainingHasEveryLayer"},
          {"train", {"--plan-seconds", "2.5"}, "/plan_seconds", 2.5},
          {"train", {"--idle", "1.5"}, "/around/idle_s", 1.5},
          {"train", {"--meter", "run:cat f#power=W"}, "/around/meters", {"run:cat f#power=W"}},
          {"train", {"--assume-power", "cpu=65W,idle=20W"}, "/around/assumed", {65.0, 20.0, nullptr, nullptr}},
          {"train|plan", {"--for", "edp"}, "/goal/for", "edp"},
          {"train|plan", {"--price", "hour=3", "--for", "cost"}, "/goal/per_hour", 3.0},
          {"train|plan", {"--deadline", "2.5"}, "/goal/deadline_s", 150.0},
          {"train|plan", {"--budget", "2"}, "/goal/budget_j", 7200.0},
          {"plan", {"--epochs", "7"}, "/goal/epochs", 7},
          {"plan", {"--meter", "run:cat f#power=W"}, "/energy/meters", {"run:cat f#power=W"}},
          {"plan", {"--assume-power", "cpu=65W,idle=20W"}, "/energy/cpu_watts", 65.0},
          {"plan", {"--seconds", "2.5"}, "/seconds", 2.5},
          {"plan", {"--json", "-"}, "test:PlanCommand.ComparesPlacementsAndLeavesNothingBehind"},
          {"plan", {"--quiet", "true"}, "test:PlanCommand.PrintsATable"}};
}

std::vector<OptionRow> about_labels() {
  const char* labels = "data labels";
  return {{labels, {"DATA", "synth:masks:90"}, "/labels/data", "synth:masks:90"},
          {labels, {"--model", "resnet32"}, "/labels/model", "resnet32"},
          {labels, {"--weights", "w.pt"}, "/labels/weights", "w.pt"},
          {labels, {"--labels", "names.txt"}, "/labels/labels", "names.txt"},
          {labels, {"--class", "a=x/**", "--class", "b=y"}, "/labels/class", {"a=x/**", "b=y"}},
          {labels, {"--size", "14x14"}, "/run/out", "~at 14x14"},
          {labels, {"--normalize", "imagenet"}, "/labels/normalize", "imagenet"},
          {labels, {"--part", "train"}, "/labels/part", "train"},
          {labels, {"--part", "trian"}, "/error", "~train"},
          {labels, {"--folds", "3"}, "/run/out", "~over 3 folds"},
          {labels, {"--seed", "7"}, "/labels/seed", 7},
          {labels, {"--strict", "true"}, "/labels/strict", true},
          {labels, {"--on", "cpu/t1"}, "/labels/on", "cpu/t1"},
          {labels, {"--out", "{}/doubts"}, "/run/files", "~doubts/labels.html"},
          {labels, {"--overwrite", "true"}, "test:DataLabels.FindsDigitsInTheWrongFolderByTheirPixels"},
          {labels, {"--json", "-"}, "/run/out", "~\"judged_by\""},
          {labels, {"--quiet", "true"}, "test:DataLabels.TakesClassesByPatternsAndBadFilesStrictly"}};
}

void add_learning(const training::TrainOptions& options, json& told) {
  const engine::OptimizerOptions& optimizer = options.trainer.optimizer;
  told["optimizer"] = {{"kind", static_cast<int>(optimizer.kind)}, {"momentum", optimizer.momentum},
                       {"nesterov", optimizer.nesterov},           {"weight_decay", optimizer.weight_decay},
                       {"clip_norm", optimizer.clip_norm},         {"average_decay", optimizer.average_decay}};
  const auto& term = options.trainer.criterion.terms.front().op;
  const auto* entropy = std::get_if<network::CrossEntropy>(&term);
  told["loss"] = entropy != nullptr ? "cross-entropy" : "mse";
  told["label_smoothing"] = entropy != nullptr ? entropy->label_smoothing : -1;
  told["box_loss"] = options.box_loss == network::BoxLoss::kGiou ? "giou" : "smooth-l1";
  told["schedule"] = {static_cast<int>(options.schedule.kind), options.schedule.drop_epochs,
                      options.schedule.drop_factor};
  told["warmup_epochs"] = options.schedule.warmup_epochs;
  told["rate"] = options.learning_rate;
  told["backbone_rate"] = options.backbone_rate;
  told["epochs"] = options.epochs;
  told["batch"] = options.batch;
  told["accumulate"] = options.accumulate;
  told["patience"] = options.patience;
  told["until_accuracy"] = options.until_accuracy;
  told["validate_every"] = options.validate_every;
}

void add_placement(const training::TrainOptions& options, json& told) {
  told["plan"] = plan_json(options.plan);
  told["engine"] = options.engine;
  told["cut"] = options.cut;
  told["micro_batches"] = options.micro_batches;
  told["stage_memory_bytes"] = options.stage_memory_bytes;
  told["pipeline_schedule"] = static_cast<int>(options.pipeline_schedule);
  told["data_on_device"] = options.data_on_device;
  told["local_batch_norm"] = options.local_batch_norm;
  told["always_exchange"] = options.always_exchange;
  told["host_exchange"] = options.host_exchange;
  told["half_gradients"] = options.communication_dtype == comm::CommunicationDtype::kBFloat16;
  told["precision"] = precision_name(options.trainer.precision);
  told["layout"] = static_cast<int>(options.trainer.torch.layout);
  told["convolution"] = static_cast<int>(options.trainer.torch.convolution);
  told["naive"] = options.trainer.native.kernels == engine::KernelChoice::kNaive;
  told["step_graph"] = options.trainer.step_graph;
  told["deterministic"] = options.trainer.deterministic;
}

json goal_json(const training::Goal& goal) {
  return {{"for", training::objective_name(goal.objective)},
          {"deadline_s", value_or_null(goal.deadline_s)},
          {"budget_j", value_or_null(goal.budget_j)},
          {"epochs", goal.epochs},
          {"per_hour", goal.price.per_hour}};
}

json handed_to_training(const training::TrainFlags& flags, const placement::Plan& plan) {
  const training::TrainOptions options = training::train_options(flags, plan);
  json told = {{"model", options.model},
               {"weights", options.weights.string()},
               {"freeze", options.freeze},
               {"linear_probing", static_cast<int>(options.linear_probing)},
               {"quantize_bits", options.quantize_bits},
               {"normalize", options.normalization.text},
               {"normalize_given", static_cast<int>(options.normalization.source)},
               {"data", data_json(options.data)},
               {"augment", data::augment_text(options.augment)},
               {"loader_threads", value_or_null(options.loader_threads)},
               {"seed", options.trainer.seed},
               {"inherits_parts", options.inherits_parts},
               {"resume", options.resume},
               {"settings", *options.settings},
               {"config", training::config_of(flags)},
               {"hosts", training::hosts_to_start(flags)}};
  add_learning(options, told);
  add_placement(options, told);
  const measure::RankOptions ranks = training::rank_options(flags);
  told["restarts"] = ranks.restarts;
  told["elastic"] = ranks.elastic;
  if (const auto end_s = flags.end_by_s()) told["seconds_until_end"] = *end_s - flags.begin_s;
  told["plan_seconds"] = *flags.measuring.plan_seconds;
  told["goal"] = goal_json(flags.goal.goal(*flags.optimisation.epochs));
  return told;
}

json handed_to_planning(const Words& given) {
  training::PlanFlags flags;
  give_all(flags.options(), given);
  json told = handed_to_training(flags, training::plan_of(flags, "auto"));
  for (const auto& candidate : training::candidates_of(flags)) {
    told["candidates"].push_back(candidate.text);
    if (!told.contains("first") && candidate.plan) told["first"] = plan_json(*candidate.plan);
  }
  told["seconds"] = *flags.probing.seconds;
  const measure::EnergyOptions energy = flags.energy.options(training::plan_of(flags, "auto"));
  told["energy"] = {{"meters", energy.meters}, {"cpu_watts", value_or_null(energy.assumed.cpu)}};
  return told;
}

json handed_to_train(const Words& given) {
  training::TrainFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = training::plan_of(flags);
  json told = handed_to_training(flags, plan);
  told["around"] = around_json(run_options(flags, *flags.model.model, plan));
  return told;
}

json handed_to_labels(const Words& given) {
  training::LabelsCommandFlags flags;
  give_all(flags.options(), given);
  json told = json::object();
  for (const OptionBase* option : flags.labels.options()) option->record(told["labels"]);
  return told;
}

const bool kTrainIsAdded =
    add_to_option_table({{"train",
                          {"MODEL", "mlp:784-4-10", "--data", "synth:digits:100", "--on", "cpu/t1"},
                          {"--out", "{}/out", "--quiet", "false"},
                          handed_to_train},
                         {"plan", {"MODEL", "mlp:784-4-10", "--data", "synth:digits:100"}, {}, handed_to_planning},
                         {"data labels", {"DATA", "synth:digits:60"}, {}, handed_to_labels}},
                        {network_and_data(), learning(), placement(), around_a_training(), about_labels()});

}  // namespace
}  // namespace evener::test
