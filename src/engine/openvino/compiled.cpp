#include "engine/openvino/compiled.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/phase.h"
#include "base/terminal_text.h"
#include "engine/openvino/graphs.h"
#include "engine/trainer_options.h"

namespace evener::engine::openvino_engine {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path path;
  std::uintmax_t bytes = 0;
  std::int64_t used_s = 0;  // seconds since 1970 when it was last read or written, as far as the file system notes it
};

/// Provides the folder in which OpenVINO keeps compiled graphs, keyed by their content, the device and its own version.
/// OpenVINO never removes any, so this does.
class CompileCache {
 public:
  /// `folder` is made if need be; empty = nothing is kept. A folder that can't be made or written to is no error: then
  /// nothing is kept either.
  explicit CompileCache(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::error_code ignored;
    if (!folder_.empty()) fs::create_directories(folder_, ignored);
    // OpenVINO throws if it can't use the folder, so such a folder isn't used.
    if (!fs::is_directory(folder_, ignored) || access(folder_.c_str(), W_OK | X_OK) != 0) folder_.clear();
  }

  /// Removes the least recently used files, until less than kMostBytes are left.
  ~CompileCache() {
    if (folder_.empty()) return;
    std::error_code ignored;
    std::vector<Entry> entries;
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder_, ignored)) {
      struct stat facts {};
      if (file.path().extension() != ".blob" || stat(file.path().c_str(), &facts) != 0) continue;
      entries.push_back({file.path(), static_cast<std::uintmax_t>(facts.st_size),
                         std::max(facts.st_atim.tv_sec, facts.st_mtim.tv_sec)});
      bytes += entries.back().bytes;
    }
    std::ranges::sort(entries, {}, &Entry::used_s);
    for (const Entry& entry : entries) {
      if (bytes <= kMostBytes) return;
      if (fs::remove(entry.path, ignored)) bytes -= entry.bytes;
    }
  }

  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// The folder; empty = nothing is kept.
  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

 private:
  std::filesystem::path folder_;
};

/// A compiled graph, shared by several runners.
struct Compiled {
  ov::CompiledModel model;
  Feeding feeding;
  RunnerOptions options;
  ov::element::Type type;  // of the values that calls bring
};

class OpenVinoRunner : public Runner {
 public:
  explicit OpenVinoRunner(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {
    // Requests are created here rather than at the first call, since OpenVINO allocates its memory then.
    auto model = compiled_->model;
    for (int i = 0; i < compiled_->options.in_flight; ++i) calls_.push_back(model.create_infer_request());
  }

  ~OpenVinoRunner() override {
    for (ov::InferRequest* call : under_way_) {
      try {
        call->wait();
      } catch (const std::exception&) {  // its result isn't needed any more
      }
    }
  }

  void start(const ImageSpan& images) override { start(images, compiled_->model.input().get_shape()); }

  void start_stage(const std::vector<HostTensor>& received) override {
    if (!compiled_->options.later_stage) return Runner::start_stage(received);
    begin_call([&](ov::InferRequest& call) {
      for (std::size_t i = 0; i < compiled_->model.inputs().size(); ++i) {
        const HostTensor& value = received.at(i);
        const std::span values(value.floats(), static_cast<std::size_t>(element_count(value.shape)));
        call.set_input_tensor(i, in_place(values, compiled_->model.input(i).get_shape()));
      }
    });
  }

  void start_of_size(const ImageSpan& images, std::int64_t count, std::int64_t height, std::int64_t width) override {
    if (!compiled_->options.any_size) return Runner::start_of_size(images, count, height, width);
    start(images, {static_cast<std::size_t>(count), static_cast<std::size_t>(compiled_->feeding.input.shape.front()),
                   static_cast<std::size_t>(height), static_cast<std::size_t>(width)});
  }

  TensorMap wait() override {
    if (under_way_.empty()) throw Error("a runner without a call under way was waited for");
    ov::InferRequest& call = *under_way_.front();
    under_way_.pop_front();
    return with_errors("OpenVINO", [&] {
      const PhaseMark mark(Phase::kForward);
      call.wait();
      if (compiled_->options.times_layers) layer_times_ = times_of(call);
      TensorMap outputs;
      for (std::size_t i = 0; i < compiled_->feeding.outputs.size(); ++i) {
        const ov::Tensor values = call.get_output_tensor(i);
        HostTensor& output = outputs[compiled_->feeding.outputs[i]];
        for (const std::size_t extent : values.get_shape()) output.shape.push_back(static_cast<std::int64_t>(extent));
        const auto* const bytes = static_cast<const std::byte*>(values.data());
        output.bytes.assign(bytes, bytes + values.get_byte_size());
        if (compiled_->feeding.meanings.empty()) continue;
        const auto [scale, shift] = compiled_->feeding.meanings[i];
        if (scale == 1 && shift == 0) continue;
        for (std::size_t k = 0; k < values.get_size(); ++k) output.floats()[k] = output.floats()[k] * scale + shift;
      }
      return outputs;
    });
  }

  std::map<std::string, int> executed() const override {
    std::map<std::string, int> counts;
    for (const auto& node : compiled_->model.get_runtime_model()->get_ordered_ops()) {
      const auto& facts = node->get_rt_info();
      const auto text = [&](const char* key) {
        const auto found = facts.find(key);
        return found == facts.end() ? std::string() : found->second.as<std::string>();
      };
      const std::string kind = text("layerType");
      const std::set<std::string> not_layers = {"", "Input", "Output", "Const", "Constant", "Parameter", "Result"};
      if (!not_layers.contains(kind)) ++counts[kind + " " + text("runtimePrecision")];
    }
    return counts;
  }

  std::vector<LayerTime> layer_times() const override { return layer_times_; }

 private:
  /// Times by OpenVINO's own counters. A compiled node keeps the names of the layers fused into it.
  std::vector<LayerTime> times_of(ov::InferRequest& call) const {
    std::map<std::string, std::vector<std::string>> joined;
    for (const auto& node : compiled_->model.get_runtime_model()->get_ordered_ops()) {
      const auto& facts = node->get_rt_info();
      const auto names = facts.find("originalLayersNames");
      if (names != facts.end()) joined[node->get_friendly_name()] = layers_of(names->second.as<std::string>());
    }
    std::vector<LayerTime> times;
    for (const ov::ProfilingInfo& counted : call.get_profiling_info()) {
      if (counted.status != ov::ProfilingInfo::Status::EXECUTED) continue;
      const auto found = joined.find(counted.node_name);
      const bool has_names = found != joined.end() && !found->second.empty();
      times.push_back({.layers = has_names ? found->second : layers_of(counted.node_name),
                       .what = counted.node_type,
                       .forward_s = std::chrono::duration<double>(counted.real_time).count()});
    }
    return times;
  }

  /// Splits a comma-separated list of names, and drops repeated layers.
  static std::vector<std::string> layers_of(const std::string& list) {
    std::vector<std::string> layers;
    std::istringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');) {
      if (name.ends_with(kProductSuffix)) name.resize(name.size() - std::strlen(kProductSuffix));
      if (std::ranges::find(layers, name) == layers.end()) layers.push_back(name);
    }
    return layers;
  }

  void start(const ImageSpan& images, const ov::Shape& shape) {
    const bool bytes = std::holds_alternative<std::span<const std::uint8_t>>(images);
    if (bytes != (compiled_->options.values == ImageValues::kBytes)) {
      throw Error(bytes ? "a runner made for floats was given bytes" : "a runner made for bytes was given floats");
    }
    begin_call([&](ov::InferRequest& call) {
      std::visit([&](const auto& values) { call.set_input_tensor(in_place(values, shape)); }, images);
    });
  }

  /// Begins a call; `bring` sets its input tensors.
  void begin_call(const std::function<void(ov::InferRequest&)>& bring) {
    if (under_way_.size() == calls_.size()) {
      throw Error("a runner with " + std::to_string(calls_.size()) + " calls under way was given another one");
    }
    ov::InferRequest& call = calls_[next_];
    with_errors("OpenVINO", [&] {
      const PhaseMark mark(Phase::kForward);
      bring(call);
      call.start_async();
    });
    next_ = (next_ + 1) % calls_.size();
    under_way_.push_back(&call);
  }

  /// A tensor on the caller's memory: of small types a copy takes up to a tenth of a call.
  template <class T>
  ov::Tensor in_place(std::span<const T> values, const ov::Shape& shape) const {
    if (values.size() != ov::shape_size(shape)) {
      throw Error("a call of " + std::to_string(compiled_->options.batch) + " images takes " +
                  std::to_string(ov::shape_size(shape)) + " values, not " + std::to_string(values.size()));
    }
    // OpenVINO takes no const memory, and only reads it.
    return {ov::element::from<T>(), shape, const_cast<T*>(values.data())};
  }

  std::shared_ptr<const Compiled> compiled_;
  std::vector<ov::InferRequest> calls_;
  std::size_t next_ = 0;
  std::deque<ov::InferRequest*> under_way_;
  std::vector<LayerTime> layer_times_;  // of the call that was waited for last
};

/// Adds the preprocessing of images to the graph, so that the device does it.
std::shared_ptr<ov::Model> with_preprocessing(const std::shared_ptr<ov::Model>& graph, const ModelInput& input,
                                              const RunnerOptions& options) {
  if (options.later_stage) return graph;  // float32 values in and out
  ov::preprocess::PrePostProcessor steps(graph);
  auto& info = steps.input();
  const std::optional<float> black = black_of(graph->input().get_element_type());
  info.tensor().set_element_type(options.values == ImageValues::kBytes ? ov::element::u8 : ov::element::f32);
  if (input.is_image) {
    info.tensor().set_layout("NCHW");
    info.model().set_layout(input.channels == ChannelPlace::kFirst ? "NCHW" : "NHWC");
    if (input.reverse_channels) {
      info.tensor().set_color_format(ov::preprocess::ColorFormat::RGB);
      info.preprocess().convert_color(ov::preprocess::ColorFormat::BGR);
    }
    if (black) {  // a model that takes bytes normalises them itself
      if (*black != 0) info.preprocess().convert_element_type(ov::element::f32).mean(-*black);
    } else {
      const PixelScale pixels = make_pixel_scale(options.mean, options.standard_deviation, input.shape.front());
      std::vector<float> mean, deviation;
      for (std::size_t c = 0; c < pixels.scale.size(); ++c) {
        deviation.push_back(1 / pixels.scale[c]);
        mean.push_back(-pixels.shift[c] / pixels.scale[c]);
      }
      info.preprocess().convert_element_type(ov::element::f32);
      if (std::ranges::any_of(mean, [](float m) { return m != 0; })) info.preprocess().mean(mean);
      if (std::ranges::any_of(deviation, [](float d) { return d != 1; })) info.preprocess().scale(deviation);
    }
  }
  for (std::size_t i = 0; i < graph->outputs().size(); ++i) {
    steps.output(i).tensor().set_element_type(ov::element::f32);
  }
  return steps.build();
}

/// Sets all that OpenVINO would otherwise choose by itself: it would compute in bf16 unasked, and use more cores than a
/// container's quota allows.
ov::AnyMap properties_of(const RunnerOptions& options, int streams) {
  ov::AnyMap properties;
  const Precision precision = computed_precision(options.precision, options.device.kind);
  properties.insert(ov::hint::inference_precision(precision == Precision::kBf16   ? ov::element::bf16
                                                  : precision == Precision::kFp16 ? ov::element::f16
                                                                                  : ov::element::f32));
  properties.insert(ov::hint::performance_mode(streams > 1 ? ov::hint::PerformanceMode::THROUGHPUT
                                                           : ov::hint::PerformanceMode::LATENCY));
  if (options.times_layers) properties.insert(ov::enable_profiling(true));
  properties.insert(ov::hint::num_requests(static_cast<std::uint32_t>(streams * options.in_flight)));
  if (options.device.kind == DeviceKind::kCpu) {
    properties.insert(ov::inference_num_threads(options.threads));
    properties.insert(ov::num_streams(streams));
    properties.insert(ov::hint::enable_cpu_pinning(false));
    properties.insert(ov::hint::enable_hyper_threading(true));
  }
  return properties;
}

}  // namespace

ov::Core& core() {
  static ov::Core core;
  return core;
}

std::string device_name(Device device) {
  switch (device.kind) {
    case DeviceKind::kIntel:
      return "GPU." + std::to_string(device.index);
    case DeviceKind::kNpu:
      return "NPU";
    default:
      return "CPU";
  }
}

std::string device_refusal(Device device) {
  if (device.kind == DeviceKind::kCpu) return "";
  if (device.kind == DeviceKind::kCuda || device.kind == DeviceKind::kOpencl) {
    return "the openvino engine doesn't compute on " + device_text(device) + "; use --engine torch there";
  }
  const std::string name = device_name(device);
  const std::vector<std::string> found = core().get_available_devices();
  const bool there = std::ranges::any_of(found, [&](const std::string& other) {
    return other == name || (device.index == 0 && other == name.substr(0, name.find('.')));
  });
  return there ? "" : "OpenVINO finds no device " + device_text(device) + " here; 'evener doctor' lists those it finds";
}

std::vector<std::unique_ptr<Runner>> compile(const std::shared_ptr<ov::Model>& graph, const Feeding& feeding,
                                             const RunnerOptions& options, int count) {
  const auto compiled = std::make_shared<Compiled>();
  compiled->feeding = feeding;
  compiled->options = options;
  with_errors("OpenVINO can't compile '" + graph->get_friendly_name() + "' for " + device_text(options.device), [&] {
    // OpenVINO starts its threads while it compiles, and they inherit the affinity.
    const PinnedTo computing(options.cpus);
    const CompileCache cache(options.cache);
    const auto ready = with_preprocessing(graph, feeding.input, options);
    ov::AnyMap properties = properties_of(options, count);
    if (!cache.folder().empty()) properties.insert(ov::cache_dir(cache.folder().string()));
    forbid_forks();  // OpenVINO's threads don't exist in a forked child
    compiled->model = core().compile_model(ready, device_name(options.device), properties);
  });
  std::vector<std::unique_ptr<Runner>> runners;
  with_errors("OpenVINO", [&] {
    for (int i = 0; i < count; ++i) runners.push_back(std::make_unique<OpenVinoRunner>(compiled));
  });
  return runners;
}

/// Longer texts are cut: some list every operator of a large network.
constexpr std::size_t kLongest = 400;

std::string plain_text(const std::string& message) {
  std::istringstream lines(message);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line = line.substr(begin);
    // "Exception from src/inference/src/cpp/core.cpp:143:", "Check 'x == y' failed at src/...:12:"
    const bool place = line.starts_with("Exception from ") || line.find(" failed at src/") != std::string::npos;
    const bool heading = line.starts_with("FrontEnd API failed with ") || line == "Summary:";
    if (line.starts_with("-- ")) line.erase(0, 3);
    if (!place && !heading) text += (text.empty() ? "" : " ") + line;
  }
  return text.empty() ? "no reason told" : one_line(text.substr(0, kLongest));
}

}  // namespace evener::engine::openvino_engine
