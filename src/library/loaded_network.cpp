#include "evener/loaded_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "base/forked.h"
#include "base/tensor.h"
#include "base/this_work.h"
#include "infer/model/cache_folder.h"
#include "infer/run/infer.h"
#include "infer/session/options.h"
#include "infer/sinks.h"
#include "library/event_post.h"
#include "library/given.h"

namespace evener {
class LoadedNetwork::Implementation {
 public:
  Implementation(const std::string& model, const Options& options) {
    forbid_forks();  // the calling program's threads aren't ours
    Options all = options;
    const OptionSet known = library::givable(flags_.options());
    library::give(known, all.set("model", model));
    library::check(known);
    thread_.call([&] {
      measure::Observer silent;
      complete(flags_.model, &silent);
      plan_ = flags_.placement.plan();
      precision_ = flags_.placement.precision_on(plan_);
      network_.emplace(flags_.model.request(false, kSeed));
      notes_ = network_->notes();
      if (network_->weights().empty()) notes_.emplace_back("its weights are random, so that its outputs mean nothing");
      if (!network_->takes_images()) return;
      steps_ = flags_.model.preprocessing(*network_);
      compiled_for(*library::picture_span_samples({&kNoPixel, 1, 1, 1, 1}, *steps_));
    });
  }
  ~Implementation() {
    // Runners have to be destroyed on the thread that made them.
    thread_.call([this] {
      whole_.reset();
      divided_.reset();
      network_.reset();
    });
  }

  const inference::InferenceModel& network() const { return *network_; }
  const std::vector<std::string>& notes() const { return notes_; }

  Outputs run(const PictureSpan& pictures, Observer* observer) {
    if (!steps_) {
      throw Error(fmt::format("'{}' takes inputs of shape {}, not pictures", network_->name(),
                              shape_text(network_->input_shape())));
    }
    return run(*library::picture_span_samples(pictures, *steps_), observer);
  }
  Outputs run(const SampleSpan& samples, Observer* observer) { return run(*library::value_samples(samples), observer); }

 private:
  /// A network compiled for samples of one shape and type, with the shapes of its outputs for a batch.
  struct Compiled {
    Compiled(const inference::InferenceModel& network, const data::Samples& samples, inference::InferOptions options)
        : shape(samples.shape()),
          is_bytes(samples.is_bytes()),
          job(network, samples, std::move(options)),
          outputs(output_shapes(job, samples)) {}

    const std::vector<std::int64_t> shape;
    const bool is_bytes;
    inference::InferJob job;
    const std::map<std::string, std::vector<std::int64_t>> outputs;
  };

  Outputs run(const data::Samples& samples, Observer* observer) {
    const std::lock_guard lock(mutex_);
    library::EventPost post(observer, nullptr);
    Outputs outputs;
    library::work_observed(thread_, post, [&] {
      const WorkScope scope(this_work_until(&post.stop()));
      answer(samples, outputs);
    });
    return outputs;
  }

  void answer(const data::Samples& samples, Outputs& outputs) {
    Compiled& compiled = compiled_for(samples);
    const auto count = static_cast<std::int64_t>(samples.size());
    for (const auto& [name, batch_shape] : compiled.outputs) {
      FloatArray& output = outputs[name];
      output.shape = batch_shape;
      output.shape.front() = count;
      output.values.resize(static_cast<std::size_t>(element_count(output.shape)));
    }
    if (count == 0) return;
    if (count <= compiled.job.setup().batch) {
      answer_in_one_call(compiled, samples, outputs);
      return;
    }
    const inference::InferResult result = compiled.job.run(samples, [&](const inference::Prediction& answer) {
      for (const auto& [name, values] : answer.outputs) {
        FloatArray& output = outputs.at(name);
        std::ranges::copy(values, output.values.begin() + static_cast<std::ptrdiff_t>(answer.index * values.size()));
      }
    });
    if (!result.skipped.empty()) throw Error(result.skipped.front().reason);
  }

  /// Computes on the calling thread, since starting threads would take longer than a small network.
  void answer_in_one_call(Compiled& compiled, const data::Samples& samples, Outputs& outputs) {
    std::vector<inference::SampleValues> values;
    std::vector<const inference::SampleValues*> pointers;
    for (std::size_t i = 0; i < samples.size(); ++i) values.push_back(inference::read_values(samples, i));
    for (const inference::SampleValues& each : values) pointers.push_back(&each);
    engine::Runner& runner = compiled.job.lane(0);
    const inference::SampleValues batch = inference::gathered(pointers, compiled.job.setup().batch);
    inference::start(runner, batch);
    for (const auto& [name, tensor] : compiled.job.wait(runner)) {
      FloatArray& output = outputs.at(name);
      std::copy_n(tensor.floats(), output.values.size(), output.values.begin());
    }
  }

  /// A single call of the network uses all threads; several calls run side by side, each with fewer threads, as in
  /// `evener infer`.
  Compiled& compiled_for(const data::Samples& samples) {
    const bool may_divide = !flags_.placement.streams->has_value() && is_one_cpu();
    Compiled& whole = compiled(whole_, samples, may_divide ? 1 : *flags_.placement.streams);
    if (!may_divide || std::cmp_less_equal(samples.size(), whole.job.setup().batch)) return whole;
    return compiled(divided_, samples, std::nullopt);
  }

  /// Whether the placement is one CPU stage with several threads, which several calls can divide.
  bool is_one_cpu() const {
    if (plan_.replicas.size() > 1 || plan_.replicas.front().stages.size() > 1) return false;
    const placement::PlanStage& stage = plan_.replicas.front().stages.front();
    return stage.device.kind == DeviceKind::kCpu && stage.threads > 1;
  }

  /// Compiles the network anew if the samples' shape or type has changed.
  Compiled& compiled(std::optional<Compiled>& kept, const data::Samples& samples, std::optional<int> streams) {
    if (kept && kept->shape == samples.shape() && kept->is_bytes == samples.is_bytes()) return *kept;
    kept.reset();
    kept.emplace(*network_, samples, infer_options(streams));
    return *kept;
  }

  inference::InferOptions infer_options(std::optional<int> streams) const {
    inference::InferOptions options = flags_.placement.infer_options(plan_, precision_);
    options.streams = streams;
    options.reading_threads = flags_.placement.reading_threads->value_or(usable_cpus());
    options.cache = inference::compile_cache();
    options.strict = true;
    options.repeated = true;
    if (streams == 1 && is_one_cpu()) options.coming = 1;  // whoever shows one image waits for the answer
    return options;
  }

  static std::map<std::string, std::vector<std::int64_t>> output_shapes(inference::InferJob& job,
                                                                        const data::Samples& samples) {
    const auto values = static_cast<std::size_t>(job.setup().batch * element_count(samples.shape()));
    inference::SampleValues zeros;
    samples.is_bytes() ? zeros.bytes.resize(values) : zeros.floats.resize(values);
    inference::start(job.lane(0), zeros);
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& [name, tensor] : job.wait(job.lane(0))) shapes.emplace(name, tensor.shape);
    return shapes;
  }

  static constexpr std::uint64_t kSeed = 1;  // of random weights, the command's default
  static constexpr std::uint8_t kNoPixel = 0;

  library::LoadFlags flags_;
  placement::Plan plan_;
  Precision precision_ = Precision::kFp32;
  std::optional<inference::InferenceModel> network_;
  std::vector<std::string> notes_;
  std::optional<data::Preprocessing> steps_;  // absent: the network doesn't take pictures
  std::optional<Compiled> whole_, divided_;  // whole_: one call at a time or the options' streams; divided_: many small
  std::mutex mutex_;                         // allows one run at a time
  library::WorkThread thread_;               // last: it uses the other members
};

LoadedNetwork::LoadedNetwork(const std::string& model, const Options& options)
    : implementation_(std::make_unique<Implementation>(model, options)) {}
LoadedNetwork::~LoadedNetwork() = default;
LoadedNetwork::LoadedNetwork(LoadedNetwork&&) noexcept = default;
LoadedNetwork& LoadedNetwork::operator=(LoadedNetwork&&) noexcept = default;

const std::string& LoadedNetwork::name() const {
  return implementation_->network().name();
}
const std::vector<std::int64_t>& LoadedNetwork::input_shape() const {
  return implementation_->network().input_shape();
}
bool LoadedNetwork::takes_images() const {
  return implementation_->network().takes_images();
}
const std::vector<std::string>& LoadedNetwork::classes() const {
  return implementation_->network().classes();
}
std::string LoadedNetwork::class_name(std::size_t index) const {
  const inference::InferenceModel& network = implementation_->network();
  if (const std::string why = network.no_classes(); !why.empty()) throw UsageError(why);
  return inference::class_name(network, index);
}
const std::string& LoadedNetwork::main_output() const {
  return implementation_->network().main_output();
}
const std::vector<std::string>& LoadedNetwork::notes() const {
  return implementation_->notes();
}

Outputs LoadedNetwork::run(const PictureSpan& pictures, Observer* observer) {
  return implementation_->run(pictures, observer);
}
Outputs LoadedNetwork::run(const SampleSpan& samples, Observer* observer) {
  return implementation_->run(samples, observer);
}

}  // namespace evener
