#include "engine/native_mlp/device/trainer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/phase.h"
#include "base/precision.h"
#include "engine/native_mlp/device/open.h"

namespace evener::engine::native_mlp {
namespace {

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

DeviceTrainer::DeviceTrainer(const network::Network& network, const TrainerOptions& options)
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
DeviceTrainer::~DeviceTrainer() {
  try {
    accelerator_->finish();
  } catch (const Error&) {  // the device failed before, and the error was thrown then
  }
}

/// Copies a batch for work whose result is waited for.
DeviceBatch DeviceTrainer::put(const data::Batch& batch, double weight) {
  check_batch(batch);
  if (mlp_.grow(batch.count)) steps_.forget();
  Header header;
  header.weight = static_cast<float>(weight);
  header.result = DeviceMlp::kOtherResult;
  return feed_.put(batch, header);
}

/// Starts the copy of the result of a forward pass.
void DeviceTrainer::fetch_result() {
  accelerator_->copy_out(result_->data(), mlp_.results(), DeviceMlp::kOtherResult * sizeof(DeviceResult),
                         sizeof(DeviceResult));
  result_landed_ = accelerator_->mark();
}

Sums DeviceTrainer::result_of(std::int64_t count) {
  const PhaseMark mark(Phase::kD2H);
  result_landed_->wait();
  const auto& result = *reinterpret_cast<const DeviceResult*>(result_->data());
  return classification_sums(result.loss, static_cast<std::int64_t>(result.correct), count);
}

Sums DeviceTrainer::add_gradients(const data::Batch& batch, double weight) {
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

/// Starts the copies of a layer's gradients.
void DeviceTrainer::fetch_gradients(std::size_t layer) {
  for (const std::size_t index : trained_.entries) {
    if (!is_of(layer, index)) continue;
    const auto& entry = device_parameters_.entries()[index];
    accelerator_->copy_out(staged_.data() + entry.offset, mlp_.gradients(), entry.offset * sizeof(float),
                           entry.size * sizeof(float));
  }
}

/// Copies gradients back to the device, after they were exchanged or clipped.
void DeviceTrainer::send_gradients() {
  const PhaseMark mark(Phase::kH2D);
  for (const std::size_t entry : trained_.entries) {
    parameters_.copy(entry, arrays_.gradients, device_parameters_, staged_);
  }
  upload(mlp_.gradients(), staged_);
}

/// The header of a step. At the first step it also initialises the average, since the initial weights were loaded after
/// the constructor.
Header DeviceTrainer::begin_update(double learning_rate, double weight) {
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

void DeviceTrainer::apply(double learning_rate) {
  clip_gradients();
  send_gradients();
  const PhaseMark mark(Phase::kUpdate);
  const DeviceMemory& block = feed_.put(begin_update(learning_rate, 0));
  mlp_.update(block);
  if (has_average()) mlp_.follow(block);
  accelerator_->finish();
}

Capabilities DeviceTrainer::capabilities() {
  Capabilities capabilities = MlpTrainer::capabilities();
  capabilities.device = this;
  return capabilities;
}

StepReport DeviceTrainer::step_ahead(const data::Batch& batch, double weight, double learning_rate) {
  if (options_.optimizer.clip_norm != 0 || batch.count == 0) return step_by_parts(batch, weight, learning_rate);
  check_batch(batch);
  has_gradients_ = false;
  return steps_.run(batch, begin_update(learning_rate, weight));
}

DeviceReport DeviceTrainer::report() const {
  DeviceReport report;
  report.peak_memory_bytes = mlp_.allocated_bytes() + feed_.allocated_bytes();
  report.step_phases_s = steps_.phases_s();
  if (const std::string note = steps_.note(); !note.empty()) report.notes.push_back(note);
  return report;
}

void DeviceTrainer::swap_average() {
  steps_.forget();
  mlp_.swap_average();
}

Sums DeviceTrainer::evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) {
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  mlp_.forward(put(batch, 0), kLossOnly);
  if (std::int32_t* found = room_for(batch.count, predicted)) {
    accelerator_->copy_out(found, mlp_.predicted(), 0, static_cast<std::size_t>(batch.count) * sizeof *found);
  }
  fetch_result();
  return result_of(batch.count);
}

Array DeviceTrainer::download(const DeviceMemory& memory) const {
  const PhaseMark mark(Phase::kD2H);
  Array array(device_parameters_.size());
  accelerator_->copy_out(array.data(), memory, 0, array.size() * sizeof(float));
  accelerator_->finish();
  return array;
}

void DeviceTrainer::upload(DeviceMemory& memory, const Array& array) {
  accelerator_->copy_in(memory, 0, array.data(), array.size() * sizeof(float));
  accelerator_->finish();
}

TensorMap DeviceTrainer::state() const {
  TensorMap map;
  device_parameters_.read(download(mlp_.values()), "", /*all=*/true, map);
  return map;
}

void DeviceTrainer::load_state(const TensorMap& state) {
  Array values(device_parameters_.size());
  device_parameters_.write(state, "", /*all=*/true, "the weights have", values);
  steps_.restart();
  upload(mlp_.values(), values);
}

TensorMap DeviceTrainer::optimizer_state() const {
  Array momentum, average;
  if (has_momentum()) momentum = download(mlp_.momentum());
  if (has_average()) average = download(mlp_.average());
  return optimizer_tensors(device_parameters_, momentum, average, updates_);
}

void DeviceTrainer::load_optimizer_state(const TensorMap& state) {
  Array momentum, average;
  if (has_momentum()) momentum = Array(device_parameters_.size());
  if (has_average()) average = Array(device_parameters_.size());
  const double steps = read_optimizer_tensors(state, device_parameters_, momentum, average);
  if (!momentum && !average) return;
  updates_ = steps;
  if (momentum) upload(mlp_.momentum(), momentum);
  if (average) upload(mlp_.average(), average);
}

}  // namespace evener::engine::native_mlp
