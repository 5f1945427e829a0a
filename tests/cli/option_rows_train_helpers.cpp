// Rows of trainings, plans, sweeps and products.
#include "cli/option_rows_helpers.h"

namespace evener::test {
namespace {

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

std::vector<OptionRow> sweeps() {
  const char* sweep = "sweep";
  return {{sweep,
           {"WHAT", "matmul", "WHAT", "96,128"},
           "/cells",
           nlohmann::json::array({{"matmul", "96"}, {"matmul", "128"}})},
          {sweep, {"--out", "there"}, "test:SweepCommand.RunsEachCellInEachBlockAndTellsIt"},
          {sweep, {"--repeats", "7"}, "/repeats", 7},
          {sweep, {"--warmup", "2"}, "/warmup", 2},
          {sweep, {"--until", "ci=2.5%"}, "/until_width", 0.025},
          {sweep, {"--max-runs", "17"}, "/max_runs", 17},
          {sweep, {"--steady", "2.5%"}, "/steady_deviation", 0.025},
          {sweep, {"--scale", "small"}, "/error", "~none was given"},
          {sweep, {"--setup", "true"}, "/setup", "true"},
          {sweep, {"--prepare", "true"}, "/prepare", "true"},
          {sweep, {"--cleanup", "true"}, "/cleanup", "true"},
          {sweep, {"--cool-down", "load"}, "/cool_down", "load"},
          {sweep, {"--run-limit", "2.5"}, "/run_limit_s", 2.5},
          {sweep, {"--time-limit", "9.5"}, "/time_limit_s", 9.5},
          {sweep, {"--energy-repeats", "3"}, "/energy_repeats", 3},
          {sweep, {"--order-seed", "5"}, "/order_seed", 5},
          {sweep, {"--reference", "f.csv"}, "test:SweepCommand.SetsUpFirstAndKeepsWhatWasMeasuredElsewhere"},
          {sweep, {"--again", "failed"}, "test:SweepCommand.KeepsWhatFailedAsARowAndRepeatsItWhenAsked"},
          {sweep, {"--predict", "true", "--dry-run", "true"}, "/run/err", "~only trainings are planned"},
          {sweep, {"--dry-run", "true"}, "/run/out", "~to come"},
          {sweep, {"--no-html", "true"}, "test:SweepCommand.SetsUpFirstAndKeepsWhatWasMeasuredElsewhere"},
          {sweep, {"--quiet", "true"}, "test:SweepCommand.RunsEachCellInEachBlockAndTellsIt"}};
}

std::vector<OptionRow> products() {
  return {{"matmul", {"N", "24"}, "/size", 24},
          {"matmul", {"--on", "2xcpu/t1"}, "/plan/text", "2xcpu/t1"},
          {"matmul", {"--precision", "bf16"}, "/precision", "bf16"},
          {"matmul", {"--engine", "native"}, "/engine", "native"},
          {"matmul", {"--seed", "7"}, "/seed", 7},
          {"matmul", {"--repeats", "3"}, "/repeats", 3},
          {"matmul", {"--seconds", "0.25"}, "/seconds", 0.25},
          {"matmul", {"--sample-interval", "125"}, "/around/sample_interval_ms", 125},
          {"matmul", {"--out", "{}/new"}, "/run/files", "~new/record.json"},
          {"matmul", {"--overwrite", "true"}, "/around/overwrite", true},
          {"matmul", {"--json", "{}/r.json"}, "/run/files", "~r.json"},
          {"matmul", {"--json", "-"}, "/run/out", "~\"kind\": \"matmul\""},
          {"matmul", {"--quiet", "true"}, "/run/err", ""}};
}

}  // namespace

std::vector<OptionRow> option_rows_of_training() {
  std::vector<OptionRow> rows;
  for (auto part : {network_and_data, learning, placement, around_a_training, sweeps, products}) {
    const std::vector<OptionRow> more = part();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace evener::test
