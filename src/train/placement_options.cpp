#include "train/placement_options.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "placement/placement.h"

namespace evener::training {
namespace {

constexpr const char* kConvolutions[] = {"auto", "direct", "winograd"};
constexpr const char* kLayouts[] = {"auto", "nchw", "nhwc"};

}  // namespace

PlacementFlags::PlacementFlags() : OptionGroup("Placement") {
  layout.stay_as([this](nlohmann::json& value) {
    value = static_cast<int>(value_named<engine::MemoryLayout>(kLayouts, "layout", *layout));
  });
}

bool PlacementFlags::is_automatic() const {
  return placement::parse(*on).automatic;
}

placement::PlanOptions PlacementFlags::plan_options(bool anywhere) const {
  placement::PlanOptions options;
  options.precision = precision_name(parse_precision(*precision));
  options.replicas = placement::parse_replicas_as(*replicas);
  if (!shares->empty()) options.shares = placement::parse_share_rule(*shares);
  options.oversubscribe = *oversubscribe || anywhere;
  return options;
}

void PlacementFlags::fill(const placement::Plan& plan, TrainOptions& options) const {
  options.plan = plan;
  options.engine = *engine;
  options.cut = cut_layers(*cut);
  options.micro_batches = *micro_batches;
  options.stage_memory_bytes = memory_bytes(*memory);
  options.pipeline_schedule = parallel::parse_pipeline_schedule(*pipeline_schedule);
  options.data_on_device = *data_on == "device";
  options.local_batch_norm = *batch_norm == "local";
  options.frozen_batch_norm = *batch_norm == "frozen";
  options.host_exchange = *exchange == "host";
  options.always_exchange = *exchange == "always" || options.host_exchange;
  options.communication_dtype =
      *communication_dtype == "bf16" ? comm::CommunicationDtype::kBFloat16 : comm::CommunicationDtype::kFloat32;
  auto& trainer = options.trainer;
  trainer.device = plan.replicas.front().stages.front().device;
  trainer.precision = parse_precision(*precision);
  trainer.torch.layout = value_named<engine::MemoryLayout>(kLayouts, "layout", *layout);
  trainer.torch.convolution = value_named<engine::ConvolutionChoice>(kConvolutions, "convolution", *convolution);
  trainer.native.kernels = *kernels == "naive" ? engine::KernelChoice::kNaive : engine::KernelChoice::kSimd;
  trainer.step_graph = *step_graph == "auto";
  trainer.deterministic = *deterministic;
}

void PlacementFlags::check_together() const {
  if (*engine == "torch" && *kernels == "naive") {
    throw UsageError("--kernels naive are plain loops of the native engine; leave it out, or use --engine native");
  }
}

Goal GoalFlags::goal(int epochs) const {
  constexpr double kSecondsPerMinute = 60, kJoulesPerWattHour = 3600;
  Goal goal;
  goal.epochs = epochs;
  if (!objective->empty()) {
    goal.objective = parse_objective(*objective);
  } else if (deadline->has_value()) {
    goal.objective = Objective::kEnergy;
  }
  if (!price->empty()) goal.price = parse_price(*price);
  if (*deadline) goal.deadline_s = **deadline * kSecondsPerMinute;
  if (*budget) goal.budget_j = **budget * kJoulesPerWattHour;
  return goal;
}

void GoalFlags::check_together() const {
  if (!price->empty()) parse_price(*price);
  const bool by_cost = *objective == "cost";
  if (by_cost && price->empty()) {
    throw UsageError("--for cost needs to know what something costs: give --price kwh=0.30,hour=1.2");
  }
  if (!by_cost && !price->empty()) throw UsageError("--price is for --for cost");
}

}  // namespace evener::training
