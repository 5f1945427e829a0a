#include "train/steps/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/phase.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/random.h"
#include "base/simd_level.h"
#include "comm/device_communicator.h"
#include "data/resize.h"
#include "detect/judge/average_precision.h"
#include "measure/run/out_folder.h"
#include "network/init.h"
#include "network/zoo.h"
#include "parallel/data_parallel.h"
#include "parallel/hosts.h"
#include "parallel/shares.h"
#include "record/statistics.h"
#include "train/steps/checkpoint.h"
#include "train/steps/evaluation.h"
#include "train/steps/known_parts.h"
#include "train/steps/limits.h"
#include "train/steps/stages.h"
#include "train/steps/start.h"
#include "train/steps/training_memory.h"

namespace evener::training {
namespace {

bool uses(const EngineQuestion& question, DeviceKind kind) {
  return std::ranges::any_of(question.plans, [&](const placement::Plan* plan) {
    return std::ranges::any_of(plan->replicas, [&](const placement::PlanReplica& replica) {
      return replica.stages.front().device.kind == kind;
    });
  });
}

bool does_all(const engine::Engine& native, const EngineQuestion& question) {
  engine::TrainerOptions options = question.trainer;
  if (!native.trainer_refusal(question.network, options).empty()) return false;
  return std::ranges::all_of(question.plans, [&](const placement::Plan* plan) {
    options.stage.count = placement::stage_count(*plan);
    return std::ranges::all_of(plan->replicas, [&](const placement::PlanReplica& replica) {
      options.device = replica.stages.front().device;
      return native.trainer_refusal(question.network, options).empty();
    });
  });
}

constexpr const char* kSameData = "give all hosts the same data under the same path";

std::string text_of(const data::SampleTargets& targets) {
  if (const auto* label = std::get_if<std::int32_t>(&targets)) return std::to_string(*label);
  std::string text;
  for (const data::LabelledBox& box : std::get<std::vector<data::LabelledBox>>(targets)) {
    text += fmt::format("{}:{:.2f}:{:.2f}:{:.2f}:{:.2f} ", box.label, box.x1, box.y1, box.x2, box.y2);
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
  return fmt::format("{:016x}", hash_text(text));
}

std::string weights_of(const TensorMap& state) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : state) {
    const auto* bytes = reinterpret_cast<const char*>(tensor.bytes.data());
    hash = hash * 31 + hash_text(name) + hash_text({bytes, tensor.bytes.size()});
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

EngineChoice choose_engine(const EngineQuestion& question, const engine::Engine* native, SimdLevel level) {
  if (question.trainer.native.kernels == engine::KernelChoice::kNaive) return {"native", "torch has no naive kernels"};
  if (native != nullptr && uses(question, DeviceKind::kOpencl)) return {"native", "torch knows no OpenCL"};
  const bool possible = native != nullptr && question.before != "torch" && does_all(*native, question);
  if (!question.before.empty()) {
    const std::string name = possible ? "native" : "torch";
    return {name, name == question.before ? "as the run began" : "native can't go on with this"};
  }
  if (!possible || uses(question, DeviceKind::kCuda) || level == SimdLevel::kBaseline) return {"torch", ""};
  // Another host's processor may have no dot products of bfloat16, and all hosts have to choose alike.
  if (activation_bits(question.trainer.precision) == 16 &&
      std::ranges::any_of(question.plans, [](const auto* plan) { return placement::has_other_hosts(*plan); })) {
    return {"torch", ""};
  }
  return {"native", "a perceptron on CPUs"};
}

PreparedTraining::PreparedTraining(TrainOptions options, TrainObserver& observer)
    : state_(std::make_unique<State>(std::move(options), observer)) {}

PreparedTraining::PreparedTraining(PreparedTraining&& other) noexcept = default;

PreparedTraining::~PreparedTraining() = default;

const TrainOptions& PreparedTraining::options() const {
  return state_->options;
}

void PreparedTraining::take_plan(placement::Plan plan) {
  state_->options.trainer.device = plan.replicas.front().stages.front().device;
  state_->options.plan = std::move(plan);
}

void PreparedTraining::take_batch(std::int64_t batch) {
  state_->options.batch = batch;
  state_->require_possible_batch();
  state_->setup.steps_per_epoch = state_->steps_per_epoch();
  state_->config = resume_config(state_->options, state_->setup);
}

void PreparedTraining::take_epochs(int epochs) {
  TrainOptions& options = state_->options;
  options.epochs = epochs;
  options.schedule.warmup_epochs = std::min(options.schedule.warmup_epochs, static_cast<double>(epochs));
}

void PreparedTraining::take_precision(Precision precision) {
  state_->options.trainer.precision = precision;
  state_->open_engine("");
  state_->config = resume_config(state_->options, state_->setup);
}

void look_at(TrainOptions options, TrainObserver& observer) {
  options.data.look_only = true;
  options.resume = false;  // a look at the start of a run; the checkpoint is compared when it goes on
  PreparedTraining training(std::move(options), observer);
  // On a GPU it is found by trying alone, and no memory is estimated.
  const bool predicts = training.options().finds_batch && !placement::uses_accelerator(training.options().plan);
  const std::string found = predicts ? take_largest_batch(training) : "";
  const TrainJob job(std::move(training));
  if (predicts) observer.on_note(found);
}

TrainJob::TrainJob(PreparedTraining training) : training_(std::move(training)) {
  training_.state().settle(Trials(training_));
}

std::size_t TrainJob::shared_bytes() const {
  return training_.state().shared_bytes(plan());
}

const placement::Plan& TrainJob::plan() const {
  return training_.options().plan;
}

const data::OpenedData& TrainJob::data() const {
  return training_.state().data;
}

void TrainJob::end_by(double at_s) {
  training_.state().end_by_s = at_s;
}

void TrainJob::leave_out(int rank) {
  placement::Plan& plan = training_.state().options.plan;
  plan = placement::without_replica(std::move(plan), rank);
}

bool TrainJob::is_complete() const {
  const PreparedTraining::State& job = training_.state();
  if (job.progress.step > 0) return false;
  return job.progress.epoch >= job.options.epochs || job.has_reached_accuracy() || job.has_lost_patience();
}

void TrainJob::rewind() {
  PreparedTraining::State& job = training_.state();
  // What was loaded and prepared belongs to the time before.
  job.clock = Stopwatch();
  job.load_s = job.init_s = job.setup.load_s = 0;
  if (measure::has_checkpoint(job.options.out)) {
    job.resume(load_last(job.options.out));
  } else {
    job.progress = {};
  }
}

bool PreparedTraining::State::has_reached_accuracy() const {
  return progress.best_epoch != 0 && options.until_accuracy > 0 && progress.best_accuracy >= options.until_accuracy;
}

bool PreparedTraining::State::has_lost_patience() const {
  return progress.best_epoch != 0 && options.patience > 0 && progress.epoch - progress.best_epoch >= options.patience;
}

PreparedTraining::State::State(TrainOptions chosen, TrainObserver& told)
    : options(std::move(chosen)),
      observer(told),
      data(open()),
      setup(describe()),
      asked_loader_threads(options.loader_threads) {
  prepare();
}

data::OpenedData PreparedTraining::State::open() {
  mark_critical_thread();
  network::build(options.model, {});  // a name that is unknown is told before images are decoded for minutes
  require_data_of_run(options);
  data::DataOptions data_options = options.data;
  data_options.progress = loading_progress(LoadingStep::kDecode);
  data_options.before_decoding = [this](std::size_t images, const data::ImageShape& shape) {
    if (options.epochs == 0 || options.finds_batch) return;
    network::ModelOptions model;
    model.input = network::Shape{shape.channels, shape.height, shape.width};
    TrainingWork work = training_work(options, options.plan);
    work.image = shape;
    work.images = work.train_images = images;
    work.images_are_loaded = false;
    require_memory_for(network::build(options.model, model), work);
  };
  data::OpenedData opened = data::open_data(data_options);
  if (options.resume) {
    resume_parts(options, opened);
  } else {
    inherit_parts(options, opened);
  }
  if (options.drop) leave_out_dropped(options, opened);
  if (options.epochs == 0 && opened.split.val.empty() && opened.split.test.empty()) {
    throw Error("no images to evaluate on in '" + options.data.location +
                "': it has neither a validation nor a test part; name another folder, or give --split");
  }
  if (options.epochs > 0 && opened.split.train.empty()) {
    throw Error("no images to train on in '" + options.data.location +
                "' after the split; give --split a larger first number");
  }
  options.quantization = quantization_of(options, *opened.dataset);
  load_s = clock.seconds();
  return opened;
}

TrainSetup PreparedTraining::State::describe() {
  TrainSetup described(build_network(options, *data.dataset));
  const bool has_boxes = data.dataset->target_kind() == data::TargetKind::kBoxes;
  require_same_kind(described.network, has_boxes, options.data.location);
  if (has_boxes) options.trainer.criterion = network::multi_box(options.box_loss);
  if (has_boxes && options.epochs > 0) require_objects(data, options.data.location);
  described.network.freeze(matching_parameters(described.network, options.freeze));
  if (const std::string text = freeze_text(described.network); !text.empty()) described.notes.push_back(text);
  if (options.backbone_rate != 1) {
    described.network.set_rates(backbone_parameters(described.network), options.backbone_rate);
  }
  if (options.frozen_batch_norm) {
    described.network.freeze_statistics(described.network.anchors().empty() ? "" : kDetectorsPart);
  }
  if (!options.quantization.empty()) {
    described.notes.push_back(fmt::format(
        "quantisation-aware: {} layers compute with quantised weights, and learn the scales of their values",
        options.quantization.weight_bits.size()));
  }
  if (options.epochs > 0 && options.accumulate > 1 && network::has_batch_norm(described.network)) {
    described.notes.push_back("batch-norm takes the statistics of each part of a batch alone, which changes what is " +
                              ("learnt (--accumulate " + std::to_string(options.accumulate) + ")"));
  }
  if (options.epochs > 0 && !data.split.val.empty() && data.split.val.size() < record::kFewJudged) {
    described.notes.push_back(fmt::format("only {} to validate on: which weights are the best is mostly chance; {}",
                                          counted(data.split.val.size(), "image"),
                                          data::more_to_validate(data, record::kFewJudged, options.data.seed)));
  }
  for (std::string& text : lacking_classes(data, options.epochs > 0)) described.notes.push_back(std::move(text));
  described.image = data.dataset->shape();
  described.classes = data.dataset->classes();
  described.images = data.dataset->size();
  described.train_images = data.split.train.size();
  described.val_images = data.split.val.size();
  described.test_images = data.split.test.size();
  if (!has_boxes) {
    described.train_counts = class_counts(*data.dataset, data.split.train);
    described.val_counts = class_counts(*data.dataset, data.split.val);
  }
  described.skipped = data.skipped;
  described.steps_per_epoch = steps_per_epoch();
  return described;
}

std::int64_t PreparedTraining::State::steps_per_epoch() const {
  return (static_cast<std::int64_t>(data.split.train.size()) + options.batch - 1) / options.batch;
}

void PreparedTraining::State::prepare() {
  if (options.epochs > 0) {
    if (std::ranges::none_of(setup.network.parameters(), &network::Parameter::trained)) {
      throw UsageError("--freeze leaves no parameter to train; give fewer or narrower patterns");
    }
    if (!options.out.empty()) require_disk_space(options.out, setup.network, options.trainer.optimizer);
    if (!options.finds_batch) require_possible_batch();
  }
  require_visible_crop(options.augment, setup.image);
  std::optional<Checkpoint> checkpoint;
  if (options.resume) checkpoint = load_last(options.out);
  open_engine(checkpoint ? checkpoint->config.value("engine", "") : "");
  if (options.data_on_device) require_data_on_device(options.plan, options.augment, setup.engine);
  config = resume_config(options, setup);
  if (checkpoint) {
    if (knows_its_images(options)) config["data"] = checkpoint->config["data"];  // wherever they lie now
    require_same_config(checkpoint->config, config);
    setup.normalization = checkpoint->normalization;
    setup.normalized_by = "checkpoint";
    resume(std::move(*checkpoint));
  } else {
    state = make_start(options, setup, data, loading_progress(LoadingStep::kStatistics));
    setup.begins_with_head = setup.linear_probe.has_value();
  }
}

void PreparedTraining::State::settle(const Trials& trials) {
  setup.epochs = options.epochs;
  if (placement::stage_count(options.plan) > 1) divide_layers(trials);
  if (options.epochs > 0) require_stage_memory(options, setup.network, setup.division);
  info = {.model = options.model,
          .classes = setup.classes,
          .input = network::Shape{setup.image.channels, setup.image.height, setup.image.width},
          .normalization = setup.normalization,
          .crop = options.data.crop,
          .quantization = options.quantization};
  for (int rank = 0; rank < std::max(1, placement::rank_count(options.plan)); ++rank) {
    setup.loader_threads = std::max(setup.loader_threads, loader_threads(options.plan, rank));
    const std::string why = engine->trainer_refusal(network_of(rank), replica_options(rank).trainer);
    if (!why.empty()) throw UsageError(why);
  }
  if (could_exchange_on_devices(options.plan)) {
    setup.notes.push_back(exchanges_on_devices(options.plan)
                              ? "the GPUs exchange gradients by NCCL " + comm::device_group_version()
                              : "the GPUs exchange gradients through host memory, which is slower: " +
                                    comm::why_no_device_groups());
  }
  init_s = clock.seconds() - load_s - (setup.linear_probe ? setup.linear_probe->seconds : 0);
  setup.load_s = load_s;
  observer.on_setup(setup, options);
  for (const auto& note : data.notes) observer.on_note(note);
  if (options.epochs == 0 || placement::uses_accelerator(options.plan)) return;
  // Where it is much; always in a dry run.
  const MemoryEstimate estimate = estimated_memory(setup.network, training_work(options, options.plan, setup));
  if (options.data.look_only || estimate.is_much()) observer.on_note(memory_text(estimate));
}

void PreparedTraining::State::divide_layers(const Trials& trials) {
  require_possible_stages(options, setup);
  const auto estimated = [&] {
    return Division{divided_layers(options, setup.network, inference::estimated_costs(setup.network, options.plan)),
                    micro_batch_count(options, setup.network)};
  };
  try {
    const bool by_estimates =
        options.data.look_only || placement::has_other_hosts(options.plan);  // hosts measure differently
    setup.division = by_estimates ? estimated() : trials.division_of(options.plan);
  } catch (const Interrupted&) {
    throw Interrupted("interrupted while layers were timed, to divide them; nothing was trained or written");
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    setup.notes.push_back(std::string("the network is divided by estimates, as its layers couldn't be timed: ") +
                          error.what());
    setup.division = estimated();
  }
  for (std::string& note : stage_notes(options, setup)) setup.notes.push_back(std::move(note));
}

void PreparedTraining::State::open_engine(const std::string& before) {
  EngineChoice choice{options.engine, ""};
  if (options.engine == "auto") {
    EngineQuestion question{setup.network, options.trainer, {&options.plan}, before};
    for (const auto& plan : options.candidates) question.plans.push_back(&plan);
    const bool usable = module_status("native").state == ModuleState::kUsable;
    const auto native = usable ? engine::open_engine("native") : nullptr;
    choice = choose_engine(question, native.get(), simd_level());
  }
  engine = options.open_engine ? options.open_engine(choice.name) : engine::open_engine(choice.name);
  setup.engine = choice.name;
  setup.engine_reason = choice.reason;
  // A step of the native engine is shorter than waking another thread and taking a batch from it, unless the images
  // are changed first.
  const bool alone = choice.name == "native" && !options.augment.any();
  options.loader_threads = asked_loader_threads;
  if (alone && !options.loader_threads) options.loader_threads = 0;
  setup.engine_reads_data = alone && *options.loader_threads == 0;
}

void PreparedTraining::State::require_possible_batch() const {
  require_trainable_batch(setup.network, setup.train_images, options.batch, options.accumulate);
  require_memory_for(setup.network, training_work(options, options.plan, setup));
}

void PreparedTraining::State::require_memory_for(const network::Network& network, const TrainingWork& work) const {
  if (placement::uses_accelerator(options.plan)) return;  // it has memory of its own, and says itself when that is full
  const network::Shape& input = network.input_shape();
  const bool may_be_smaller = !options.data.width && input.size() == 3;
  require_memory(network, work, may_be_smaller ? data::smaller_size({input[0], input[1], input[2]}) : "");
}

void PreparedTraining::State::resume(Checkpoint checkpoint) {
  network::check_state(setup.network, checkpoint.state, (options.out / "last.safetensors").string());
  state = std::move(checkpoint.state);
  optimizer_state = std::move(checkpoint.optimizer_state);
  progress = std::move(checkpoint.progress);
  if (const int best = progress.best_epoch; !settle_best(options.out, progress)) {
    setup.notes.push_back("best.safetensors is not of epoch " + std::to_string(best) +
                          ", which was the best one: the best is looked for among the epochs from here on");
  }
  setup.begins_with_head = !progress.epochs.empty() && progress.epochs.front().head_only;
  setup.resumed_epoch = progress.epoch;
  setup.resumed_step = progress.step;
}

const network::Network& PreparedTraining::State::network_of(const Division& division, int rank) const {
  if (division.stages.empty()) return setup.network;
  return division.stages[static_cast<std::size_t>(rank) % division.stages.size()].network;
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
    replica.confusion_classes = record::confusion_classes(setup.classes.size());
  } else {
    replica.judge = detection::make_detection_judge(setup.network, setup.classes.size());
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
  nlohmann::json cut = nlohmann::json::array();
  for (const auto& stage : setup.division.stages) cut.push_back(stage.first);
  // One that differs by rounding counts as another, since it gives other pixels.
  const nlohmann::json normalization = {setup.normalization.mean, setup.normalization.standard_deviation};
  return {
      {"number of images", std::to_string(setup.images), kSameData},
      {"list of classes", fmt::format("{}", fmt::join(setup.classes, ", ")), kSameData},
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

}  // namespace evener::training
