// Runner on LibTorch: forward passes in evaluation mode without autograd. On the CPU start() does the whole call; a GPU
// works asynchronously, and copies of one call overlap with the work on another. Where our own kernels are used
// (channels-last on the CPU), batch-norms are folded, and convolutions are fused with the layers that follow them.
#include "engine/runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/phase.h"
#include "engine/engine.h"
#include "engine/torch/convert.h"
#include "engine/torch/device.h"
#include "engine/torch/feed.h"
#include "engine/torch/graph.h"
#include "engine/torch/parts.h"
#include "engine/torch/streams.h"
#include "network/passes/fold_batch_norm.h"

namespace evener::engine::torch_engine {
namespace {

/// Number of shapes whose graphs are kept, each with the memory of its activations.
constexpr std::size_t kMostShapes = 4;
/// Calls of a shape before its graph is captured: they allocate memory and choose algorithms.
constexpr int kWarmUpCalls = 2;

/// Captures the work of a runner's calls on a device in a graph, once for each shape of images, and replays it from
/// then on: most of the time of a call with few images goes into launching its kernels.
class CallGraphs {
 public:
  using Forward = std::function<std::vector<at::Tensor>(const at::Tensor& images)>;

  /// `forward` must neither read a value on the host nor change `images`. `make_graph`: empty where the device has no
  /// graphs.
  CallGraphs(const Streams& streams, Forward forward, std::function<std::unique_ptr<StepGraph>()> make_graph)
      : streams_(streams), forward_(std::move(forward)), make_graph_(std::move(make_graph)) {}

  /// Enqueues the work of a call on the compute stream, which must be the current one. Later calls may overwrite the
  /// outputs, so work that reads them must be enqueued before.
  std::vector<at::Tensor> run(const at::Tensor& images) {
    if (!make_graph_) return forward_(images);
    Entry& entry = entry_of(images);
    if (!entry.graph && entry.calls++ < kWarmUpCalls) return forward_(images);
    if (!entry.graph) capture(entry, images);
    if (!make_graph_) return forward_(images);
    entry.images.copy_(images, /*non_blocking=*/true);
    entry.graph->replay();
    return entry.outputs;
  }

  /// A sentence about how calls were computed; "" where there are no graphs, or none was tried yet.
  const std::string& note() const { return note_; }

 private:
  struct Entry {
    std::vector<std::int64_t> shape;
    at::ScalarType type = at::kByte;
    int calls = 0;  // that were computed kernel by kernel
    at::Tensor images;
    std::vector<at::Tensor> outputs;
    std::unique_ptr<StepGraph> graph;  // null: not captured yet
  };

  Entry& entry_of(const at::Tensor& images) {
    const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
      return entry.type == images.scalar_type() && images.sizes() == at::IntArrayRef(entry.shape);
    });
    if (known != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, known);
    } else {
      if (entries_.size() == kMostShapes) drop_oldest();
      entries_.emplace_front();
      entries_.front().shape = images.sizes().vec();
      entries_.front().type = images.scalar_type();
    }
    return entries_.front();
  }

  void drop_oldest() {
    if (entries_.back().graph) {
      Moment through(streams_);  // passed when replays that may be under way have ended
      through.record(streams_.compute());
      through.wait();
    }
    entries_.pop_back();
  }

  /// Captures a call without doing it. If that fails, calls go on kernel by kernel.
  void capture(Entry& entry, const at::Tensor& images) {
    entry.images = at::empty_like(images);
    // A graph has memory of its own, but cached memory of eager calls can't be released during a capture: it is
    // released before.
    release_memory(streams_.device());
    auto graph = make_graph_();
    try {
      graph->capture([this, &entry] { entry.outputs = forward_(entry.images); });
      entry.graph = std::move(graph);
      note_ = "calls of the same size were replayed as a graph";
    } catch (const c10::Error& error) {
      note_ = "calls were started kernel by kernel: capturing one failed: " + first_line(error);
      make_graph_ = nullptr;
      entry.images.reset();
      entry.outputs.clear();
    }
  }

  const Streams& streams_;
  const Forward forward_;
  std::function<std::unique_ptr<StepGraph>()> make_graph_;
  std::list<Entry> entries_;  // the last used first
  std::string note_;
};

/// The options of a runner's graph: those of a trainer on the same device, plus the optimisations for inference.
GraphOptions runner_graph_options(const network::Network& network, const RunnerOptions& options) {
  TrainerOptions alike;
  alike.device = options.device;
  alike.precision = options.precision;
  alike.torch = options.torch;
  GraphOptions graph = graph_options(network, alike);
  graph.inference = graph.own_kernels;
  return graph;
}

std::shared_ptr<Graph> filled(const network::Network& network, const TensorMap& state, const GraphOptions& options) {
  const c10::NoGradGuard no_grad;
  auto graph = std::make_shared<Graph>(network, options);
  const auto& parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    copy_from_host(tensor_of(state, parameters[i].name), parameters[i].name, graph->tensors()[i]);
  }
  return graph;
}

std::shared_ptr<Graph> runner_graph(const network::Network& network, const TensorMap& state,
                                    const RunnerOptions& options) {
  const GraphOptions how = runner_graph_options(network, options);
  if (!how.inference) return filled(network, state, how);
  const network::NetworkWithState folded = network::fold_batch_norm(network, state);
  auto graph = filled(folded.network, folded.state, how);
  graph->prepare(options.batch);
  return graph;
}

bool drives_accelerator(const RunnerOptions& options) {
  return options.device.kind != DeviceKind::kCpu || options.torch.like_accelerator;
}

/// The factory of StepGraphs; empty where the device has no graphs, or where each layer is timed.
std::function<std::unique_ptr<StepGraph>()> graph_maker(const RunnerOptions& options) {
  if (!drives_accelerator(options) || options.times_layers) return {};
  if (options.device.kind == DeviceKind::kCuda) return [] { return cuda_parts().make_step_graph(); };
  return make_repeated_step;
}

template <class Body>
auto with_runner_errors(const RunnerOptions& options, const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw Error("LibTorch: " + first_line(error));
    throw OutOfMemory("out of memory on " + device_text(options.device) + " with calls of " +
                      std::to_string(options.batch) + " images, " + std::to_string(options.in_flight) + " at once (" +
                      first_line(error) + "); use a smaller --batch");
  }
}

class TorchRunner : public Runner {
 public:
  /// `sharing`: a runner of the same network and state, whose weights this one shares; null = it has its own.
  TorchRunner(const network::Network& network, const TensorMap& state, const RunnerOptions& options,
              const TorchRunner* sharing = nullptr)
      : options_(options), streams_(torch_device(options.device)) {
    const PinnedTo computing(options_.cpus);
    use_threads(options_.threads, {});
    if (options_.device.kind == DeviceKind::kCuda) set_up_cuda(options_.precision, /*search=*/false);
    const WorkingIn working(streams_.compute());
    graph_ = sharing != nullptr ? sharing->graph_ : runner_graph(network, state, options);
    if (!options.later_stage) {
      const PixelScale pixels =
          make_pixel_scale(options.mean, options.standard_deviation, network.input_shape().front());
      scale_ = along_channels(pixels.scale, graph_->device());
      shift_ = along_channels(pixels.shift, graph_->device());
    }
    for (int i = 0; i < options.in_flight; ++i) calls_.emplace_back(streams_);
    graphs_ = std::make_unique<CallGraphs>(
        streams_,
        [this](const at::Tensor& images) {
          std::vector<at::Tensor> inputs(1);
          inputs.front() = input_of(images);
          return compute(std::move(inputs));
        },
        graph_maker(options));
  }

  /// Waits for the device, which may still work on memory that is about to be freed.
  ~TorchRunner() override {
    for (const Call* call : under_way_) call->landed.wait();
  }

  void start(const ImageSpan& images) override {
    std::vector<std::int64_t> shape = {options_.batch};
    shape.insert(shape.end(), graph_->network().input_shape().begin(), graph_->network().input_shape().end());
    start_shaped(images, shape);
  }

  void start_of_size(const ImageSpan& images, std::int64_t count, std::int64_t height, std::int64_t width) override {
    if (!options_.any_size) return Runner::start_of_size(images, count, height, width);
    start_shaped(images, {count, graph_->network().input_shape().front(), height, width});
  }

  void start_stage(const std::vector<HostTensor>& received) override {
    if (!options_.later_stage) return Runner::start_stage(received);
    begin_call([&](Call& call) {
      const std::vector<int> wanted = graph_->network().inputs();
      std::vector<at::Tensor> inputs;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto layer = static_cast<std::size_t>(wanted[i]);
        inputs.push_back(received_value(received.at(i), graph_->network().layers()[layer].shape));
      }
      send_back(call, compute(std::move(inputs)));
    });
  }

  TensorMap wait() override {
    if (under_way_.empty()) throw Error("a runner without a call under way was waited for");
    Call& call = *under_way_.front();
    under_way_.pop_front();
    return with_runner_errors(options_, [&] {
      const PhaseMark mark(Phase::kD2H);
      call.landed.wait();
      TensorMap outputs;
      const auto& named = graph_->network().outputs();
      for (std::size_t i = 0; i < named.size(); ++i) outputs.emplace(named[i].name, to_host(call.outputs[i]));
      call.outputs.clear();
      return outputs;
    });
  }

  std::map<std::string, int> executed() const override { return graph_->executed(); }
  std::string note() const override { return graphs_->note(); }
  std::vector<LayerTime> layer_times() const override { return layer_times_; }

 private:
  /// The memory of one call.
  struct Call {
    explicit Call(const Streams& streams) : copied(streams), landed(streams) {}
    at::Tensor host, device;          // images (N, C, H, W), uint8 or float32; one tensor on the CPU
    std::vector<at::Tensor> outputs;  // in host memory once `landed` has passed
    Moment copied, landed;
  };

  /// `shape`: (N, C, H, W) of the call.
  void start_shaped(const ImageSpan& images, const std::vector<std::int64_t>& shape) {
    const std::size_t count = std::visit([](const auto& values) { return values.size(); }, images);
    const auto wanted = static_cast<std::size_t>(element_count(shape));
    if (count != wanted) {
      throw Error("a call of " + std::to_string(shape.front()) + " images takes " + std::to_string(wanted) +
                  " values, not " + std::to_string(count));
    }
    begin_call([&](Call& call) {
      const bool bytes = std::holds_alternative<std::span<const std::uint8_t>>(images);
      make_room(call, shape, bytes ? at::kByte : at::kFloat);
      std::visit(
          [&](const auto& values) { std::memcpy(call.host.mutable_data_ptr(), values.data(), values.size_bytes()); },
          images);
      send_images(call);
      send_back(call, graphs_->run(call.device));
    });
  }

  /// Begins a call: `bring` fills the call's input memory.
  void begin_call(const std::function<void(Call&)>& bring) {
    if (under_way_.size() == calls_.size()) {
      throw Error("a runner with " + std::to_string(calls_.size()) + " calls under way was given another one");
    }
    Call& call = calls_[next_];
    const PinnedTo computing(options_.cpus);  // for whichever thread calls
    ensure_threads(options_.threads);
    with_runner_errors(options_, [&] {
      const WorkingIn working(streams_.compute());
      const c10::NoGradGuard no_grad;
      bring(call);
    });
    next_ = (next_ + 1) % calls_.size();
    under_way_.push_back(&call);
  }

  /// Copies a value from the stage before into the graph's memory format.
  at::Tensor received_value(const HostTensor& value, const network::Shape& of_sample) const {
    std::vector<std::int64_t> shape = {options_.batch};
    shape.insert(shape.end(), of_sample.begin(), of_sample.end());
    if (value.shape != shape) {
      throw Error("a stage takes values of shape " + shape_text(shape) + ", not " + shape_text(value.shape));
    }
    auto* const bytes = const_cast<std::byte*>(value.bytes.data());  // from_blob takes no const memory, and reads it
    const at::Tensor host = at::from_blob(bytes, shape, at::TensorOptions().dtype(at::kFloat));
    return host.to(graph_->device(), at::kFloat, /*non_blocking=*/false, /*copy=*/true,
                   shape.size() == 4 ? graph_->format() : at::MemoryFormat::Contiguous);
  }

  /// Allocates memory for images of this shape and type. Does nothing if it had the same shape and type before.
  void make_room(Call& call, const std::vector<std::int64_t>& shape, at::ScalarType type) {
    if (call.host.defined() && call.host.scalar_type() == type && call.host.sizes() == shape) return;
    call.host = at::empty(shape, at::TensorOptions().dtype(type).pinned_memory(streams_.asynchronous()));
    call.device = call.host;
    if (!streams_.asynchronous()) return;
    call.device = at::empty(shape, at::TensorOptions().dtype(type).device(streams_.device()));
    Moment free(streams_);  // the memory's former user worked on the compute stream
    free.record(streams_.compute());
    free.hold_back(streams_.copy());
  }

  /// Starts the copy to the device, and makes the compute stream wait for it.
  void send_images(Call& call) {
    if (!streams_.asynchronous()) return;
    const PhaseMark mark(Phase::kH2D);
    const WorkingIn copying(streams_.copy());
    call.device.copy_(call.host, /*non_blocking=*/true);
    call.copied.record(streams_.copy());
    call.copied.hold_back(streams_.compute());
  }

  /// Converts images (N, C, H, W) to the graph's input. Vectors have no channels, and are not normalised.
  at::Tensor input_of(const at::Tensor& images) const {
    if (images.dim() == 4) return normalized_images(images, scale_, shift_, graph_->format());
    return images.to(at::kFloat);
  }

  /// Runs the graph on its `inputs`.
  std::vector<at::Tensor> compute(std::vector<at::Tensor> inputs) {
    const PhaseMark mark(Phase::kForward);
    std::optional<LayerClock> clock;
    if (options_.times_layers) clock.emplace(graph_->network(), streams_);
    std::vector<at::Tensor> outputs = graph_->forward_outputs(std::move(inputs), /*training=*/false, {}, nullptr,
                                                              clock ? clock->watch() : StepWatch());
    if (clock) layer_times_ = clock->times();
    return outputs;
  }

  /// Starts the copy of the outputs to host memory, if the device has memory of its own or the next call may overwrite
  /// them.
  void send_back(Call& call, std::vector<at::Tensor> outputs) {
    call.outputs = std::move(outputs);
    if (drives_accelerator(options_)) {
      for (at::Tensor& output : call.outputs) {
        const auto pinned = at::TensorOptions().dtype(at::kFloat).pinned_memory(streams_.asynchronous());
        at::Tensor host = at::empty(output.sizes(), pinned);
        host.copy_(output, /*non_blocking=*/true);
        output = host;
      }
    }
    call.landed.record(streams_.compute());
  }

  const RunnerOptions options_;
  Streams streams_;
  std::shared_ptr<Graph> graph_;  // may be shared by several runners on one device: read-only
  at::Tensor scale_, shift_;      // of the normalisation (1, C, 1, 1)
  std::vector<Call> calls_;
  std::size_t next_ = 0;
  std::deque<Call*> under_way_;
  std::unique_ptr<CallGraphs> graphs_;
  std::vector<LayerTime> layer_times_;  // of the last call, if RunnerOptions::times_layers
};

}  // namespace

std::string runner_refusal(const RunnerOptions& options) {
  const std::string refusal = call_refusal(options);
  return refusal.empty() ? device_refusal(options.device) : refusal;
}

std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                  const RunnerOptions& options, int count) {
  std::vector<std::unique_ptr<Runner>> runners;
  const TorchRunner* first = nullptr;
  for (int i = 0; i < count; ++i) {
    auto runner = std::make_unique<TorchRunner>(network, state, options, first);
    if (first == nullptr) first = runner.get();
    runners.push_back(std::move(runner));
  }
  return runners;
}

}  // namespace evener::engine::torch_engine
