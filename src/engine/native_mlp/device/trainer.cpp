#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/phase.h"
#include "base/precision.h"
#include "base/statistics.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "engine/native_mlp/cpu/mlp_trainer.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/native_mlp/device/accelerator.h"
#include "engine/native_mlp/device/kernels.h"
#include "engine/native_mlp/device/mlp.h"

namespace evener::engine::native_mlp {
namespace {

/// Bytes of images that are uploaded at once.
constexpr std::size_t kUpload_bytes = std::size_t{16} << 20;

/// Copies batches to an accelerator, each as one block. Blocks are filled in a ring of host memory, so that the host
/// can fill the next one while a copy is under way.
class DeviceFeed {
 public:
  /// `resident`: data that the device is to keep whole; null: batches come with their pixels. Throws OutOfMemory,
  /// naming both figures, when the data doesn't fit.
  DeviceFeed(Accelerator& accelerator, const data::Dataset* resident) : accelerator_(accelerator) {
    if (resident != nullptr) upload(*resident);
  }

  /// Starts the copy of a batch into the device's block, after the work enqueued before, which may still read the
  /// block.
  DeviceBatch put(const data::Batch& batch, const Header& header) {
    const PhaseMark mark(Phase::kH2D);
    check(batch);
    const auto count = static_cast<std::size_t>(batch.count);
    const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets);
    const std::size_t words = kHeaderWords + kBlockArrays * count;
    const std::size_t bytes = words * 4 + (images_ ? 0 : batch.images.size());
    std::byte* block = room(bytes);
    std::memcpy(block, &header, sizeof header);
    const auto put_words = [&](std::size_t array, const auto& values) {
      std::memcpy(block + (kHeaderWords + array * count) * 4, values.data(), values.size() * 4);
    };
    if (images_) put_words(0, batch.samples);
    put_words(1, data::class_labels(batch.targets));
    if (mixed != nullptr) put_words(2, mixed->second_labels);
    if (mixed != nullptr) put_words(3, mixed->label_weights);
    if (!images_) std::memcpy(block + words * 4, batch.images.data(), batch.images.size());
    send(bytes);
    return {batch.count, mixed != nullptr, block_.get(), images_.get()};
  }

  /// The same for a header without a batch.
  const DeviceMemory& put(const Header& header) {
    std::memcpy(room(sizeof header), &header, sizeof header);
    send(sizeof header);
    return *block_;
  }

  /// A counter that changes when the block was reallocated, which invalidates recorded steps.
  int moves() const { return moves_; }
  std::uint64_t allocated_bytes() const { return block_bytes_ + images_bytes_; }

 private:
  struct Slot {
    std::unique_ptr<HostMemory> memory;
    std::size_t bytes = 0;
    std::unique_ptr<Moment> copied;
  };

  /// Makes room for `bytes` bytes in the next slot and in the block; returns the slot.
  std::byte* room(std::size_t bytes) {
    if (block_bytes_ < bytes) {
      accelerator_.finish();
      block_.reset();
      block_bytes_ = 0;
      block_ = accelerator_.allocate(bytes);
      block_bytes_ = bytes;
      ++moves_;
    }
    Slot& slot = slots_[next_];
    if (slot.copied) slot.copied->wait();
    if (slot.bytes < bytes) {
      slot.memory.reset();
      slot.memory = accelerator_.allocate_host(bytes);
      slot.bytes = bytes;
    }
    return slot.memory->data();
  }

  void send(std::size_t bytes) {
    Slot& slot = slots_[next_];
    accelerator_.copy_in(*block_, 0, slot.memory->data(), bytes);
    slot.copied = accelerator_.mark();
    next_ = (next_ + 1) % slots_.size();
  }

  void upload(const data::Dataset& dataset) {
    const PhaseMark mark(Phase::kH2D);
    const std::size_t image_bytes = dataset.shape().bytes(), bytes = dataset.size() * image_bytes;
    try {
      images_ = accelerator_.allocate(bytes);
    } catch (const OutOfMemory& error) {
      throw OutOfMemory("--data-on device: the images take " + bytes_text(bytes) + ": " + error.what() +
                        "; use --data-on host, or a smaller --size");
    }
    images_bytes_ = bytes;
    resident_count_ = dataset.size();
    const std::size_t together = std::clamp<std::size_t>(kUpload_bytes / image_bytes, 1, dataset.size());
    const auto staging = accelerator_.allocate_host(together * image_bytes);
    for (std::size_t begin = 0; begin < dataset.size(); begin += together) {
      const std::size_t count = std::min(together, dataset.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        auto* to = reinterpret_cast<std::uint8_t*>(staging->data()) + i * image_bytes;
        dataset.read(begin + i, {to, image_bytes});
      }
      accelerator_.copy_in(*images_, begin * image_bytes, staging->data(), count * image_bytes);
      accelerator_.finish();
    }
  }

  void check(const data::Batch& batch) const {
    if (!images_) {
      const std::size_t wanted = static_cast<std::size_t>(batch.count) * batch.shape.bytes();
      if (batch.images.size() == wanted) return;
      throw Error("a batch of " + std::to_string(batch.count) + " images came with " +
                  std::to_string(batch.images.size()) + " bytes of pixels instead of " + std::to_string(wanted) +
                  ", and the device keeps no data (--data-on device)");
    }
    for (const std::uint32_t sample : batch.samples) {
      if (sample < resident_count_) continue;
      throw Error("a batch has image " + std::to_string(sample) + ", but the device keeps " +
                  std::to_string(resident_count_) + " images");
    }
  }

  Accelerator& accelerator_;
  std::array<Slot, 4> slots_;
  std::size_t next_ = 0;
  std::unique_ptr<DeviceMemory> block_, images_;
  std::size_t block_bytes_ = 0, images_bytes_ = 0, resident_count_ = 0;
  int moves_ = 0;
};

/// The first steps allocate memory and compile kernels; the next ones are timed.
constexpr std::int64_t kWarmUpSteps = 3, kTimedSteps = 5;
/// Results are fetched when kFetchTogether of them are unread, or kFetchAfter has passed since the last fetch.
constexpr std::size_t kFetchTogether = 16;
constexpr std::chrono::milliseconds kFetchAfter{20};
/// Number of fetches that may be under way. Their results must not be overwritten before they are read.
constexpr std::size_t kFetches = 2;
static_assert((kFetches + 2) * kFetchTogether <= DeviceMlp::kStepResults);

/// Training steps that the host doesn't wait for: their results stay on the device and are fetched several at a time.
/// Where the device can record work, a step is recorded after some ordinary ones, and replayed as a whole from then on.
class DeviceSteps {
 public:
  /// `average`: each step updates the average of the weights. `replay`: as TrainerOptions::step_graph.
  DeviceSteps(Accelerator& accelerator, DeviceFeed& feed, DeviceMlp& mlp, bool average, bool replay)
      : accelerator_(accelerator),
        feed_(feed),
        mlp_(mlp),
        average_(average),
        replay_(replay),
        results_(accelerator.allocate_host(DeviceMlp::kStepResults * sizeof(DeviceResult))),
        counts_(DeviceMlp::kStepResults) {}

  /// Enqueues a step on the device, and reports those earlier steps whose results have arrived.
  StepReport run(const data::Batch& batch, Header header) {
    if (mlp_.grow(batch.count)) forget();
    header.result = static_cast<std::int32_t>(next_);
    same_count_ = batch.count == last_count_ ? same_count_ + 1 : 1;
    last_count_ = batch.count;
    const bool timed = steps_ >= kWarmUpSteps && steps_ < kWarmUpSteps + kTimedSteps;
    auto before_copy = timed ? accelerator_.mark() : nullptr;
    const DeviceBatch given = feed_.put(batch, header);
    if (timed) {
      launch_timed(given, std::move(before_copy));
    } else if (replay_ && steps_ >= kWarmUpSteps + kTimedSteps && (recording_ || same_count_ > 1)) {
      replay(given);
    } else {
      launch(given, nullptr);
    }
    ++steps_;
    counts_[next_] = batch.count;
    next_ = (next_ + 1) % counts_.size();
    if (unread_++ == 0) fetched_at_ = Clock::now();
    const bool at_end = next_ == 0;  // a fetch copies consecutive results
    if (unread_ >= kFetchTogether || at_end || Clock::now() - fetched_at_ > kFetchAfter) fetch();
    return report_until(kFetches);
  }

  /// Waits for the steps that were not reported yet, and reports them.
  StepReport settle() {
    fetch();
    return report_until(0);
  }

  /// To be called when weights were loaded: steps go on, even if an earlier loss was not finite.
  void restart() {
    settle();
    const float zero = 0;
    accelerator_.copy_in(mlp_.stopped(), 0, &zero, sizeof zero);
    accelerator_.finish();
  }

  /// Drops the recorded step, which refers to device memory that was reallocated.
  void forget() { recording_.reset(); }

  /// The median times of a step's phases over the timed steps, in seconds.
  std::map<std::string, double> phases_s() const {
    std::map<std::string, double> phases;
    for (const auto& [name, times] : times_s_) phases[name] = median(times).value_or(0);
    return phases;
  }

  /// A sentence about how steps were run; "" before the first.
  std::string note() const {
    if (steps_ == 0) return "";
    if (replayed_ > 0) return "whole steps were replayed as a graph (--step-graph)";
    return "steps were started kernel by kernel";
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Consecutive results on their way to the host.
  struct Fetch {
    std::size_t first = 0, count = 0;
    std::unique_ptr<Moment> landed;
  };

  void launch(const DeviceBatch& batch, std::vector<std::unique_ptr<Moment>>* moments) {
    const auto passing = [&] {
      if (moments != nullptr) moments->push_back(accelerator_.mark());
    };
    {
      const PhaseMark mark(Phase::kForward);
      mlp_.forward(batch, kLossOfStep);
    }
    passing();
    const PhaseMark mark(Phase::kBackward);
    mlp_.backward(batch, kUpdateAtOnce, [](std::size_t) {});
    if (average_) mlp_.follow(*batch.block);
    passing();
  }

  /// Times the phases of a step. Waits for the step, so that the copy of its batch is timed without overlapping work.
  void launch_timed(const DeviceBatch& batch, std::unique_ptr<Moment> before_copy) {
    std::vector<std::unique_ptr<Moment>> moments;
    moments.push_back(std::move(before_copy));
    moments.push_back(accelerator_.mark());
    launch(batch, &moments);
    accelerator_.copy_out(results_->data() + next_ * sizeof(DeviceResult), mlp_.results(), next_ * sizeof(DeviceResult),
                          sizeof(DeviceResult));
    moments.push_back(accelerator_.mark());
    moments.back()->wait();
    const char* const names[] = {"h2d", "forward", "backward", "d2h"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
      times_s_[names[i]].push_back(moments[i + 1]->seconds_since(*moments[i]));
    }
  }

  /// Replays the recorded step, and records one if there is none. A batch of another size than the recorded one is done
  /// launch by launch.
  void replay(const DeviceBatch& batch) {
    if (recorded_moves_ != feed_.moves()) recording_.reset();
    if (!recording_) {
      recording_ = accelerator_.record([&] { launch(batch, nullptr); });
      recorded_count_ = batch.count;
      recorded_mixed_ = batch.mixed;
      recorded_moves_ = feed_.moves();
      replay_ = recording_ != nullptr;
    }
    if (!recording_ || batch.count != recorded_count_ || batch.mixed != recorded_mixed_) return launch(batch, nullptr);
    const PhaseMark mark(Phase::kForward);
    recording_->replay();
    ++replayed_;
  }

  void fetch() {
    if (unread_ == 0) return;
    const std::size_t first = (next_ + counts_.size() - unread_) % counts_.size();
    const std::size_t offset = first * sizeof(DeviceResult);
    accelerator_.copy_out(results_->data() + offset, mlp_.results(), offset, unread_ * sizeof(DeviceResult));
    fetches_.push_back({first, unread_, accelerator_.mark()});
    unread_ = 0;
  }

  StepReport report_until(std::size_t left) {
    StepReport report;
    const PhaseMark mark(Phase::kD2H);
    for (; fetches_.size() > left; fetches_.pop_front()) {
      const Fetch& fetch = fetches_.front();
      fetch.landed->wait();
      const auto* results = reinterpret_cast<const DeviceResult*>(results_->data());
      for (std::size_t place = fetch.first; place < fetch.first + fetch.count && report.finite; ++place) {
        const DeviceResult& result = results[place];
        report.finite = result.stopped == 0;
        if (!report.finite) continue;
        report.sums += classification_sums(result.loss, std::int64_t(result.correct), counts_[place]);
        ++report.steps;
      }
      if (report.finite) continue;
      accelerator_.finish();
      fetches_.clear();
      unread_ = 0;
      break;
    }
    return report;
  }

  Accelerator& accelerator_;
  DeviceFeed& feed_;
  DeviceMlp& mlp_;
  const bool average_;
  bool replay_;
  std::unique_ptr<HostMemory> results_;  // DeviceResult [DeviceMlp::kStepResults]
  std::vector<std::int64_t> counts_;     // samples of the step in each place
  std::size_t next_ = 0, unread_ = 0;    // place of the next step; steps not fetched yet, before it
  Clock::time_point fetched_at_;
  std::deque<Fetch> fetches_;
  std::unique_ptr<Recording> recording_;
  std::int64_t recorded_count_ = 0, same_count_ = 0, last_count_ = 0, steps_ = 0, replayed_ = 0;
  bool recorded_mixed_ = false;
  int recorded_moves_ = 0;
  std::map<std::string, std::vector<double>> times_s_;
};

/// Why a layer is too wide: products map its inputs to the second axis of a grid, which CUDA limits to fewer groups
/// than the first.
std::string why_too_wide(const network::Network& network) {
  constexpr std::int64_t kGroups = 65535;
  const std::int64_t most = kGroups * TileShape{}.tile_rows();
  for (const Dense& layer : dense_layers(network)) {
    if (layer.inputs <= most) continue;
    const network::Parameter& weight = network.parameters()[layer.weight_parameter];
    return "layer '" + network.layers()[static_cast<std::size_t>(weight.layer)].name + "' has " +
           std::to_string(layer.inputs) + " inputs; the native engine's kernels for CUDA take up to " +
           std::to_string(most) + "; use a smaller --size, --engine torch, or --on cpu";
  }
  return {};
}

std::unique_ptr<Accelerator> open_for(const network::Network& network, const Parameters& parameters,
                                      const TrainerOptions& options) {
  if (const std::string why = why_not_on_device(network, options); !why.empty()) throw Error(why);
  if (parameters.size() > std::numeric_limits<std::int32_t>::max()) {
    throw Error("the network has " + std::to_string(parameters.size()) +
                " parameters; the native engine's kernels for " + "accelerators can count 2^31; use --on cpu");
  }
  return open_accelerator(options.device);
}

/// Weights, momentum and images stay on the device. Gradients go through the host only where somebody wants them:
/// other replicas, clipping, several batches of one step.
class DeviceTrainer : public MlpTrainer, public ReportsDevice {
 public:
  DeviceTrainer(const network::Network& network, const TrainerOptions& options)
      : MlpTrainer(network, options),
        device_parameters_(network, layers_, Layout::kColumnMajor),
        accelerator_(open_for(network, device_parameters_, options)),
        mlp_(*accelerator_, layers_, device_parameters_, options_, pixel_scale_of(network, options)),
        feed_(*accelerator_, options.resident.get()),
        steps_(*accelerator_, feed_, mlp_, has_average(), options.step_graph),
        staging_(accelerator_->allocate_host(device_parameters_.size() * sizeof(float))),
        result_(accelerator_->allocate_host(sizeof(DeviceResult))),
        staged_(reinterpret_cast<float*>(staging_->data()), device_parameters_.size()) {
    std::fill_n(staged_.data(), staged_.size(), 0.0F);  // gradients of parameters that aren't trained stay zero
    arrays_.gradients = Array(parameters_.size());
  }

  /// Waits for the device, which may still work on memory that is about to be freed.
  ~DeviceTrainer() override {
    try {
      accelerator_->finish();
    } catch (const Error&) {  // the device failed before, and the error was thrown then
    }
  }

  Sums add_gradients(const data::Batch& batch, double weight) override {
    const bool add = std::exchange(has_gradients_, true);
    if (batch.count == 0) {
      if (!add) std::fill_n(arrays_.gradients.data(), arrays_.gradients.size(), 0.0F);
      if (!add) send_gradients();
      report_layers();
      return {};
    }
    const DeviceBatch given = put(batch, weight);
    {
      const PhaseMark mark(Phase::kForward);
      mlp_.forward(given, kLossAndSlopes);
      fetch_result();
    }
    std::vector<std::unique_ptr<Moment>> fetched(layers_.size());
    {
      const PhaseMark mark(Phase::kBackward);
      mlp_.backward(given, add ? kAddGradient : kWriteGradient, [&](std::size_t layer) {
        fetch_gradients(layer);
        fetched[layer] = accelerator_->mark();
      });
    }
    for (std::size_t l = layers_.size(); l-- > 0;) {
      fetched[l]->wait();
      for (const std::size_t entry : trained_.entries) {
        if (is_of(l, entry)) device_parameters_.copy(entry, staged_, parameters_, arrays_.gradients);
      }
      report_layer(l);
    }
    return result_of(batch.count);
  }

  void apply(double learning_rate) override {
    clip_gradients();
    send_gradients();
    const PhaseMark mark(Phase::kUpdate);
    const DeviceMemory& block = feed_.put(begin_update(learning_rate, 0));
    mlp_.update(block);
    if (has_average()) mlp_.follow(block);
    accelerator_->finish();
  }

  Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override {
    if (batch.count == 0) return {};
    const PhaseMark mark(Phase::kEvaluate);
    mlp_.forward(put(batch, 0), kLossOnly);
    if (std::int32_t* found = room_for(batch.count, predicted)) {
      accelerator_->copy_out(found, mlp_.predicted(), 0, static_cast<std::size_t>(batch.count) * sizeof *found);
    }
    fetch_result();
    return result_of(batch.count);
  }

  TensorMap state() const override {
    TensorMap map;
    device_parameters_.read(download(mlp_.values()), "", /*all=*/true, map);
    return map;
  }

  void load_state(const TensorMap& state) override {
    Array values(device_parameters_.size());
    device_parameters_.write(state, "", /*all=*/true, "the weights have", values);
    steps_.restart();
    upload(mlp_.values(), values);
  }

  TensorMap optimizer_state() const override {
    Array momentum, average;
    if (has_momentum()) momentum = download(mlp_.momentum());
    if (has_average()) average = download(mlp_.average());
    return optimizer_tensors(device_parameters_, momentum, average, updates_);
  }

  void load_optimizer_state(const TensorMap& state) override {
    Array momentum, average;
    if (has_momentum()) momentum = Array(device_parameters_.size());
    if (has_average()) average = Array(device_parameters_.size());
    const double steps = read_optimizer_tensors(state, device_parameters_, momentum, average);
    if (!momentum && !average) return;
    updates_ = steps;
    if (momentum) upload(mlp_.momentum(), momentum);
    if (average) upload(mlp_.average(), average);
  }

  Capabilities capabilities() override {
    Capabilities capabilities = MlpTrainer::capabilities();
    capabilities.device = this;
    return capabilities;
  }

  StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) override {
    if (options_.optimizer.clip_norm != 0 || batch.count == 0) return step_by_parts(batch, weight, learning_rate);
    check_batch(batch);
    has_gradients_ = false;
    return steps_.run(batch, begin_update(learning_rate, weight));
  }

  StepReport settle_steps() override { return steps_.settle(); }

  DeviceReport report() const override {
    DeviceReport report;
    report.peak_memory_bytes = mlp_.allocated_bytes() + feed_.allocated_bytes();
    report.step_phases_s = steps_.phases_s();
    if (const std::string note = steps_.note(); !note.empty()) report.notes.push_back(note);
    return report;
  }

  void swap_average() override {
    steps_.forget();
    mlp_.swap_average();
  }

 private:
  /// Copies a batch for work whose result is waited for.
  DeviceBatch put(const data::Batch& batch, double weight) {
    check_batch(batch);
    if (mlp_.grow(batch.count)) steps_.forget();
    Header header;
    header.weight = static_cast<float>(weight);
    header.result = DeviceMlp::kOtherResult;
    return feed_.put(batch, header);
  }

  /// Starts the copy of the result of a forward pass.
  void fetch_result() {
    accelerator_->copy_out(result_->data(), mlp_.results(), DeviceMlp::kOtherResult * sizeof(DeviceResult),
                           sizeof(DeviceResult));
    result_landed_ = accelerator_->mark();
  }

  Sums result_of(std::int64_t count) {
    const PhaseMark mark(Phase::kD2H);
    result_landed_->wait();
    const auto& result = *reinterpret_cast<const DeviceResult*>(result_->data());
    return classification_sums(result.loss, static_cast<std::int64_t>(result.correct), count);
  }

  /// Starts the copies of a layer's gradients.
  void fetch_gradients(std::size_t layer) {
    for (const std::size_t index : trained_.entries) {
      if (!is_of(layer, index)) continue;
      const auto& entry = device_parameters_.entries()[index];
      accelerator_->copy_out(staged_.data() + entry.offset, mlp_.gradients(), entry.offset * sizeof(float),
                             entry.size * sizeof(float));
    }
  }

  /// Copies gradients back to the device, after they were exchanged or clipped.
  void send_gradients() {
    const PhaseMark mark(Phase::kH2D);
    for (const std::size_t entry : trained_.entries) {
      parameters_.copy(entry, arrays_.gradients, device_parameters_, staged_);
    }
    upload(mlp_.gradients(), staged_);
  }

  Array download(const DeviceMemory& memory) const {
    const PhaseMark mark(Phase::kD2H);
    Array array(device_parameters_.size());
    accelerator_->copy_out(array.data(), memory, 0, array.size() * sizeof(float));
    accelerator_->finish();
    return array;
  }

  void upload(DeviceMemory& memory, const Array& array) {
    accelerator_->copy_in(memory, 0, array.data(), array.size() * sizeof(float));
    accelerator_->finish();
  }

  /// The header of a step. At the first step it also initialises the average, since the initial weights were loaded
  /// after the constructor.
  Header begin_update(double learning_rate, double weight) {
    if (has_average() && updates_ == 0) {
      Header first;
      first.average_share = 1;
      mlp_.follow(feed_.put(first));
    }
    ++updates_;
    Header header;
    header.rate = static_cast<float>(learning_rate);
    header.weight = static_cast<float>(weight);
    header.average_share = static_cast<float>(average_share(options_.optimizer.average_decay, updates_));
    return header;
  }

  const Parameters device_parameters_;  // of the device's arrays
  const std::unique_ptr<Accelerator> accelerator_;
  DeviceMlp mlp_;
  DeviceFeed feed_;
  DeviceSteps steps_;
  // Gradients in the device's layout, and a result, in host memory that the device can copy to asynchronously.
  const std::unique_ptr<HostMemory> staging_, result_;
  const Array staged_;
  std::unique_ptr<Moment> result_landed_;
};

}  // namespace

std::string why_not_on_device(const network::Network& network, const TrainerOptions& options) {
  const std::string device = device_text(options.device);
  if (!is_accelerator(options.device.kind)) return accelerator_refusal(options.device);
  if (options.precision != Precision::kFp32) {
    return "on " + device + " the native engine computes in fp32, not in " + precision_name(options.precision) +
           "; use --precision fp32" +
           (options.device.kind == DeviceKind::kCuda ? ", or --engine torch, which has the others" : ", or --on cpu");
  }
  if (options.native.kernels == KernelChoice::kNaive) {
    return "--kernels naive are plain loops on the CPU; leave it out on " + device + ", or use --on cpu";
  }
  if (options.device.kind == DeviceKind::kCuda) {
    if (std::string why = why_too_wide(network); !why.empty()) return why;
  }
  return accelerator_refusal(options.device);
}

std::unique_ptr<Trainer> make_device_trainer(const network::Network& network, const TrainerOptions& options) {
  return std::make_unique<DeviceTrainer>(network, options);
}

}  // namespace evener::engine::native_mlp
