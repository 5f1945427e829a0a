// What trainings, plans, sweeps and products are handed.
#include <variant>

#include "base/precision.h"
#include "cli/option_rows_helpers.h"
#include "data/augment.h"
#include "job/matmul/matmul_job.h"
#include "job/plan/plan_job.h"
#include "job/sweep/sweep_job.h"
#include "job/train/training.h"
#include "placement/machine.h"
#include "placement/placement.h"

namespace evener::test {
namespace {

using nlohmann::json;

/// Absent values are null.
template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

void add_learning(const task::TrainOptions& options, json& told) {
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

void add_placement(const task::TrainOptions& options, json& told) {
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

json goal_json(const plan::Goal& goal) {
  return {{"for", plan::objective_name(goal.objective)},
          {"deadline_s", or_null(goal.deadline_s)},
          {"budget_j", or_null(goal.budget_j)},
          {"epochs", goal.epochs},
          {"per_hour", goal.price.per_hour}};
}

json handed_to_training(const job::TrainFlags& flags, const placement::Plan& plan) {
  const task::TrainOptions options = job::train_options(flags, plan);
  json told = {{"model", options.model},
               {"weights", options.weights.string()},
               {"freeze", options.freeze},
               {"linear_probing", static_cast<int>(options.linear_probing)},
               {"quantize_bits", options.quantize_bits},
               {"normalize", options.normalization.text},
               {"normalize_given", static_cast<int>(options.normalization.source)},
               {"data", data_json(options.data)},
               {"augment", data::augment_text(options.augment)},
               {"loader_threads", or_null(options.loader_threads)},
               {"seed", options.trainer.seed},
               {"inherits_parts", options.inherits_parts},
               {"resume", options.resume},
               {"settings", *options.settings},
               {"config", job::config_of(flags)},
               {"hosts", job::hosts_to_start(flags)}};
  add_learning(options, told);
  add_placement(options, told);
  const run::RankOptions ranks = job::rank_options(flags);
  told["restarts"] = ranks.restarts;
  told["elastic"] = ranks.elastic;
  if (const auto end_s = flags.end_by_s()) told["seconds_until_end"] = *end_s - flags.begin_s;
  told["plan_seconds"] = *flags.measuring.plan_seconds;
  told["goal"] = goal_json(flags.goal.goal(*flags.optimisation.epochs));
  return told;
}

json handed_to_planning(const Words& given) {
  job::PlanFlags flags;
  give_all(flags.options(), given);
  json told = handed_to_training(flags, job::plan_of(flags, "auto"));
  for (const auto& candidate : job::candidates_of(flags)) {
    told["candidates"].push_back(candidate.text);
    if (!told.contains("first") && candidate.plan) told["first"] = plan_json(*candidate.plan);
  }
  told["seconds"] = *flags.probing.seconds;
  const measure::EnergyOptions energy = flags.energy.options(job::plan_of(flags, "auto"));
  told["energy"] = {{"meters", energy.meters}, {"cpu_watts", or_null(energy.assumed.cpu)}};
  return told;
}

json handed_to_sweep(const Words& given) {
  job::SweepFlags flags;
  give_all({&flags}, given);
  job::complete(flags);
  const record::SweepRecord sweep = job::asked_for(flags);
  json told = {{"repeats", sweep.repeats},
               {"warmup", sweep.warmup},
               {"until_width", or_null(sweep.until_width)},
               {"max_runs", sweep.max_runs},
               {"steady_deviation", or_null(sweep.steady_deviation)},
               {"setup", sweep.setup},
               {"prepare", sweep.prepare},
               {"cleanup", sweep.cleanup},
               {"cool_down", sweep.cool_down},
               {"run_limit_s", or_null(sweep.run_limit_s)},
               {"time_limit_s", or_null(sweep.time_limit_s)},
               {"energy_repeats", sweep.energy_repeats},
               {"order_seed", sweep.order_seed},
               {"command", sweep.command}};
  for (const record::SweepCell& cell : sweep.cells) told["cells"].push_back(cell.words);
  return told;
}

json handed_to_products(const Words& given) {
  job::MatmulFlags flags;
  give_all(flags.options(), given);
  const placement::Placement asked = placement::parse(*flags.product.on);
  const placement::Plan plan = placement::make_plan(asked, placement::machine_for(asked), {});
  const task::MatmulOptions options = job::matmul_options(flags, plan.replicas.front().stages.front());
  return {{"plan", plan_json(plan)},
          {"engine", options.engine},
          {"precision", precision_name(options.precision)},
          {"size", options.size},
          {"repeats", options.repeats},
          {"seconds", options.seconds},
          {"seed", options.seed},
          {"around", around_json(job::run_options(flags))}};
}

}  // namespace

json handed_by_training(const std::string& command, const Words& given) {
  if (command == "plan") return handed_to_planning(given);
  if (command == "sweep") return handed_to_sweep(given);
  if (command == "matmul") return handed_to_products(given);
  job::TrainFlags flags;
  give_all(flags.options(), given);
  const placement::Plan plan = job::plan_of(flags);
  json told = handed_to_training(flags, plan);
  told["around"] = around_json(job::run_options(flags, *flags.model.model, plan));
  return told;
}

}  // namespace evener::test
