// The parts of each rank of a training: its network, its options, and how it exchanges gradients with the others; and
// what all hosts have to agree on, lest they train different networks or on different data.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/memory.h"
#include "base/module.h"
#include "base/phase.h"
#include "base/random.h"
#include "comm/device_communicator.h"
#include "parallel/data_parallel.h"
#include "parallel/hosts.h"
#include "parallel/shares.h"
#include "task/detect/average_precision.h"
#include "task/training/evaluation.h"
#include "task/training/job.h"
#include "task/training/known_parts.h"
#include "task/training/limits.h"
#include "task/training/stages.h"

namespace evener::task {
namespace {

constexpr const char* kSameData = "give all hosts the same data under the same path";

std::string text_of(const data::SampleTargets& targets) {
  if (const auto* label = std::get_if<std::int32_t>(&targets)) return std::to_string(*label);
  std::string text;
  for (const data::LabelledBox& box : std::get<std::vector<data::LabelledBox>>(targets)) {
    char corners[96];
    std::snprintf(corners, sizeof corners, "%d:%.2f:%.2f:%.2f:%.2f ", box.label, box.x1, box.y1, box.x2, box.y2);
    text += corners;
  }
  return text;
}

/// A hash of the targets of all samples and of which samples belong to which part. The folders above the data may have
/// different names on each host.
std::string order_of(const data::OpenedData& data) {
  std::string text;
  for (std::size_t i = 0; i < data.dataset->size(); ++i) text += text_of(data.dataset->targets(i)) + ",";
  for (const auto* part : {&data.split.train, &data.split.val, &data.split.test}) {
    text += ";";
    for (const auto sample : *part) text += std::to_string(sample) + ",";
  }
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_text(text)));
  return hash;
}

std::string weights_of(const TensorMap& state) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : state) {
    const auto* bytes = reinterpret_cast<const char*>(tensor.bytes.data());
    hash = hash * 31 + hash_text(name) + hash_text({bytes, tensor.bytes.size()});
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

const network::Network& PreparedTraining::State::network_of(const Division& division, int rank) const {
  if (division.stages.empty()) return setup.network;
  return division.stages[static_cast<std::size_t>(rank) % division.stages.size()].network;
}

int PreparedTraining::State::loader_threads(const placement::Plan& plan, int rank) const {
  return options.loader_threads.value_or(usual_loader_threads(plan, rank));
}

parallel::ReplicaOptions PreparedTraining::State::replica_options(const placement::Plan& plan, const Division& division,
                                                                  int rank) const {
  parallel::ReplicaOptions replica;
  replica.trainer = options.trainer;
  replica.trainer.accumulate = options.accumulate;
  replica.trainer.shared.batch = options.batch;
  replica.trainer.mean = setup.normalization.mean;
  replica.trainer.standard_deviation = setup.normalization.standard_deviation;
  if (!plan.replicas.empty()) {
    const placement::PlanStage& stage = placement::stage_of(plan, rank);
    replica.trainer.device = stage.device;
    replica.trainer.threads = stage.threads;
    replica.trainer.cpus = stage.cpus;
    replica.speed_factor = stage.factor;
  }
  replica.local_batch_norm = options.local_batch_norm;
  replica.always_exchange = options.always_exchange;
  replica.devices_exchange = exchanges_on_devices(plan);
  replica.communication_dtype = options.communication_dtype;
  replica.batch = options.batch;
  replica.accumulate = options.accumulate;
  replica.loader = {options.batch, loader_threads(plan, rank)};
  replica.loader.augmentation = {options.augment, options.trainer.seed, data.split.train};
  replica.train_samples = data.split.train;
  replica.evaluation_parts = {data.split.val, data.split.test};
  if (setup.network.anchors().empty()) {
    replica.confusion_classes = confusion_classes(setup.classes.size());
  } else {
    replica.judge = make_detection_judge(setup.network, setup.classes.size());
  }
  const bool on_cpu = replica.trainer.device.kind == DeviceKind::kCpu;
  if (on_cpu ? setup.engine_reads_data : options.data_on_device) {
    replica.trainer.resident = data.dataset;
    replica.trainer.resident_threads = std::max(1, replica.loader.threads);
    replica.loader.pixels = false;
  }
  if (!division.stages.empty()) {
    fill_stage(options, plan, setup.network, division, rank % static_cast<int>(division.stages.size()), replica);
  }
  return replica;
}

/// Whether gradients are exchanged, and every replica is a GPU of its own.
bool PreparedTraining::State::could_exchange_on_devices(const placement::Plan& plan) const {
  const bool exchanges = plan.replicas.size() > 1 || options.always_exchange;
  if (!exchanges || options.host_exchange || options.communication_dtype != comm::CommunicationDtype::kFloat32)
    return false;
  if (std::string_view(engine->name()) != "torch") return false;
  return std::ranges::all_of(plan.replicas, [](const placement::PlanReplica& replica) {
    const placement::PlanStage& first = replica.stages.front();
    return replica.stages.size() == 1 && first.device.kind == DeviceKind::kCuda && first.factor == 1;
  });
}

bool PreparedTraining::State::exchanges_on_devices(const placement::Plan& plan) const {
  if (!could_exchange_on_devices(plan)) return false;
  module_status("torch_cuda");  // it brings NCCL along, which is found by its name then
  return comm::why_no_device_groups().empty();
}

std::size_t PreparedTraining::State::shared_bytes(const placement::Plan& plan) const {
  const auto replicas = static_cast<int>(plan.replicas.size());
  // An exchange takes place as such where the user asked for it.
  const bool asked = options.always_exchange || options.communication_dtype != comm::CommunicationDtype::kFloat32;
  const bool divided = placement::stage_count(plan) > 1;
  if (replicas < 2 || asked || divided || placement::uses_accelerator(plan)) return 0;
  return engine->shared_bytes(setup.network, replica_options(plan, {}, 0).trainer, replicas);
}

void PreparedTraining::State::give_first_state(engine::Trainer& trainer, const parallel::RankContext& context) {
  trainer.load_state(state);
  if (!optimizer_state.empty()) trainer.load_optimizer_state(optimizer_state);
  if (context.ranks > 1 && !context.own_process) return;  // other ranks are threads of this process, and load it too
  state.clear();
  optimizer_state.clear();
  give_back_freed_memory();  // what comes now has other sizes, and would lie beside what these leave
}

TrainResult TrainJob::run(const parallel::RankContext& context) {
  PreparedTraining::State& job = training_.state();
  const Stopwatch starting;
  parallel::ReplicaOptions options = job.replica_options(context.rank);
  if (context.group != nullptr) {
    options.on_progress = [context](std::int64_t epoch, std::int64_t step) {
      context.group->set_progress(context.local_rank, epoch, step);
    };
  }
  options.stage.own_process = context.own_process;
  parallel::Channels channels = context.channels();
  {
    const PhaseMark mark(Phase::kConnect);
    channels.control->barrier();
  }
  parallel::Replica replica(*job.engine, job.network_of(context.rank), job.data.dataset, std::move(options),
                            std::move(channels));
  return parallel::telling_failure(context, [&]() -> TrainResult {
    const parallel::Shares shares = parallel::first_shares(job.options.plan, replica, job.least_share());
    job.give_first_state(replica.trainer(), context);
    if (context.rank != 0) {
      replica.serve();
      return {};
    }
    job.init_s += starting.seconds();
    const bool may_leave = context.hosts == 1 && context.stages == 1 && !replica.exchanges_on_devices();
    parallel::DataParallel replicas(replica, shares, job.options.batch, may_leave);
    TrainResult result = lead_training(job, replicas, replica.trainer());
    if (result.status == record::Status::kDone && job.options.epochs > 0) {
      result.copies = copies_after_training(job.data, placement::cpu_threads(job.options.plan));
    }
    result.devices = replicas.reports();
    result.stages = replicas.stage_work();
    result.pipeline = parallel::pipeline_figures(job.options.pipeline_schedule, result.stages, context.stages);
    replicas.finish();
    result.times.load = job.load_s;
    result.times.init = job.init_s;
    return result;
  });
}

std::vector<parallel::Fact> TrainJob::facts() const {
  const PreparedTraining::State& job = training_.state();
  const TrainSetup& setup = job.setup;
  std::string classes;
  for (const auto& name : setup.classes) classes += (classes.empty() ? "" : ", ") + name;
  nlohmann::json cut = nlohmann::json::array();
  for (const auto& stage : setup.division.stages) cut.push_back(stage.first);
  // One that differs by rounding counts as another, since it gives other pixels.
  const nlohmann::json normalization = {setup.normalization.mean, setup.normalization.standard_deviation};
  return {
      {"number of images", std::to_string(setup.images), kSameData},
      {"list of classes", classes, kSameData},
      {"shape of the images", nlohmann::json({setup.image.channels, setup.image.height, setup.image.width}).dump(),
       "give --size and --channels"},
      {"order of the images (hash)", order_of(job.data), kSameData},
      {"engine", setup.engine, "build the same engines on all hosts, or name one with --engine"},
      {"training's set of options", job.config.dump(), "use the same command and version on all hosts"},
      {"normalisation (mean, deviation)", normalization.dump(), kSameData},
      {"epoch and step to go on from", std::to_string(setup.resumed_epoch) + ", " + std::to_string(setup.resumed_step),
       "--resume needs an --out that all hosts see, such as a shared folder"},
      {"first state of the weights (hash)", weights_of(job.state),
       "give all hosts the same --weights, or with --resume an --out that all see"},
      {"number of replicas", std::to_string(job.options.plan.replicas.size()),
       "give a placement that comes to the same number of replicas on each host, such as 2xcpu/t4"},
      {"first layers of the stages", cut.dump(), "name the layers with --cut"},
  };
}

}  // namespace evener::task
