#include "job/options/placement_flags.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "placement/machine.h"
#include "placement/placement.h"

namespace evener::job {
namespace {

constexpr const char* kConvolutions[] = {"auto", "direct", "winograd"};
constexpr const char* kLayouts[] = {"auto", "nchw", "nhwc"};

}  // namespace

Option<std::string> cut_option(OptionGroup& group) {
  return {group, "--cut LAYERS", "auto", rules().with_commas(),
          "With several stages (A..B): the layers that the second and later ones begin with, as evener info names "
          "them, such as layer2,layer4; or auto: stages that take equally long"};
}

std::vector<std::string> cut_layers(const std::string& text) {
  std::vector<std::string> names;
  if (text == "auto") return names;
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  return names;
}

placement::Plan plan_on(const std::string& on, placement::PlanOptions options) {
  placement::Placement placement = placement::parse(on);
  if (placement.automatic) {
    placement = placement::parse("cpu");
    options.shares = {};  // they are those of what is chosen, not of what stands in for it
  }
  return placement::make_plan(placement, placement::machine_for(placement), options);
}

std::int64_t memory_bytes(double megabytes) {
  constexpr double kMegabyte = 1e6;
  return static_cast<std::int64_t>(megabytes * kMegabyte);
}

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

void PlacementFlags::fill(const placement::Plan& plan, task::TrainOptions& options) const {
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

plan::Goal GoalFlags::goal(int epochs) const {
  constexpr double kSecondsPerMinute = 60, kJoulesPerWattHour = 3600;
  plan::Goal goal;
  goal.epochs = epochs;
  if (!objective->empty()) {
    goal.objective = plan::parse_objective(*objective);
  } else if (deadline->has_value()) {
    goal.objective = plan::Objective::kEnergy;
  }
  if (!price->empty()) goal.price = plan::parse_price(*price);
  if (*deadline) goal.deadline_s = **deadline * kSecondsPerMinute;
  if (*budget) goal.budget_j = **budget * kJoulesPerWattHour;
  return goal;
}

void GoalFlags::check_together() const {
  if (!price->empty()) plan::parse_price(*price);
  const bool by_cost = *objective == "cost";
  if (by_cost && price->empty()) {
    throw UsageError("--for cost needs to know what something costs: give --price kwh=0.30,hour=1.2");
  }
  if (!by_cost && !price->empty()) throw UsageError("--price is for --for cost");
}

}  // namespace evener::job
