#include "serve/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/stop.h"
#include "infer/model/cache_folder.h"
#include "infer/session/options.h"
#include "infer/session/session.h"
#include "measure/energy_meter.h"
#include "measure/sensors/open_sensors.h"
#include "serve/box_outputs.h"
#include "serve/inference_api.h"

namespace evener::serving {
namespace {

/// Stands for what requests will bring.
class ComingSamples : public data::Samples {
 public:
  ComingSamples(std::vector<std::int64_t> shape, bool is_bytes) : shape_(std::move(shape)), is_bytes_(is_bytes) {}

  std::size_t size() const override { return 1; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return is_bytes_; }
  std::string name(std::size_t /*index*/) const override { return "a request"; }

 private:
  const std::vector<std::int64_t> shape_;
  const bool is_bytes_;
};

void require_servable(const ServeFlags& flags, const inference::InferenceModel& network) {
  if (network.weights().empty() && !*flags.server.random_weights) {
    throw UsageError("'" + network.name() +
                     "' has no weights here, so that its answers would mean nothing: name trained ones with --weights "
                     "FILE, or give --random to serve random weights");
  }
  const auto& shape = network.input_shape();
  if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; })) {
    throw UsageError(fmt::format("'{}' takes inputs of any size; a server needs one that is fixed", network.name()));
  }
}

/// The one that tells classes first. Of a detector the boxes, and then what they are read from, which is long.
std::vector<ServedOutput> outputs_of(inference::InferJob& job, const ComingSamples& samples,
                                     const inference::InferenceModel& network) {
  std::vector<ServedOutput> outputs;
  const bool is_usual = !network.is_detector();
  for (auto& [name, shape] : inference::output_shapes(job, samples)) {
    outputs.push_back({.name = name, .shape = std::move(shape), .is_usual = is_usual});
  }
  if (network.is_detector()) {
    std::vector<ServedOutput> all = box_outputs();
    std::ranges::move(outputs, std::back_inserter(all));
    return all;
  }
  std::stable_partition(outputs.begin(), outputs.end(),
                        [&](const ServedOutput& output) { return output.name == network.main_output(); });
  return outputs;
}

/// Null where the network is none. Throws UsageError where options are for one.
std::shared_ptr<const detection::Detector> detector_of(const detection::DetectBoxesFlags& flags,
                                                       const inference::InferenceModel& network) {
  if (network.is_detector()) {
    return std::make_shared<detection::Detector>(
        network, flags.options(false, detection::detector_classes(network), detection::usual_decoding(network)));
  }
  for (const OptionBase* option : flags.OptionGroup::options()) {
    if (!option->given()) continue;
    const std::string& doubt = network.habits().doubt;
    throw UsageError(fmt::format("{} is for detectors, and '{}' is none{}", option->name(), network.name(),
                                 doubt.empty() ? "" : ": " + doubt));
  }
  return nullptr;
}

std::string name_in_addresses(const ServeFlags& flags, const inference::InferenceModel& network) {
  const std::string& name = flags.server.name->empty() ? network.name() : *flags.server.name;
  if (name.find('/') == std::string::npos && !name.empty()) return name;
  throw UsageError(fmt::format("'{}' can't be the name of a model in addresses: give --name without a '/'", name));
}

ServedModel served_model(const ServeFlags& flags, const inference::InferenceModel& network, inference::InferJob& job,
                         const ComingSamples& samples) {
  ServedModel model;
  model.name = name_in_addresses(flags, network);
  model.platform = "evener_" + job.setup().engines.front();
  model.shape = samples.shape();
  model.is_bytes = samples.is_bytes();
  if (network.takes_images()) model.pictures = flags.model.preprocessing(network);
  model.outputs = outputs_of(job, samples, network);
  model.classes = network.classes();
  model.no_classes = network.no_classes();
  model.tells_unknown = network.tells_unknown();
  model.detector = detector_of(flags.boxes, network);
  return model;
}

std::string address_of(const std::string& host, int port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}", is_ipv6 ? "[" + host + "]" : host, port);
}

/// A name as it stands in an address: what may not stand there is percent-encoded.
std::string in_address(const std::string& name) {
  constexpr std::string_view kPlain = "-._~:@!$&'()*+,;=";
  std::string encoded;
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

void tell_setup(measure::Observer& observer, const ServedModel& model, const inference::InferenceModel& network,
                const placement::Plan& plan, const inference::InferSetup& setup) {
  observer.note(fmt::format("{} ({}), {} of {}; {} on {}, {}, batches of {} at most", model.name,
                            network.weights().empty() ? "random weights" : network.weights().string(), model.datatype(),
                            shape_text(model.shape), inference::engine_text(setup), plan.text,
                            counted(setup.streams, "stream"), setup.batch));
  if (model.pictures) observer.note("seen are " + data::seen_text(*model.pictures));
  if (model.detector) {
    const std::string understood = detection::understood_text(network, model.pictures.value());
    observer.note(fmt::format("told are boxes likelier than {}; {}", model.detector->options().confidence,
                              understood.empty() ? counted(model.detector->classes().size(), "class", "classes")
                                                 : "understood as " + understood));
  }
  for (const std::vector<std::string>* notes : {&network.notes(), &plan.notes}) {
    for (const std::string& text : *notes) observer.note("note: " + text);
  }
  for (const std::string& text : setup.fallbacks) observer.note("warning: " + text);
  for (const std::string& text : placement::all_warnings(plan)) observer.note("warning: " + text);
}

constexpr double kLookEvery_s = 0.5;

/// Reads the sensors twice a second, from its construction to its end.
class ServeEnergy {
 public:
  /// Measures the idle power first, where options.idle_s asks for it.
  ServeEnergy(const measure::EnergyOptions& options, measure::Observer& observer)
      : meter_(measure::open_sensors(options, "/", boot_now_s)), idle_asked_(options.idle_s > 0) {
    if (!meter_.refusal().empty()) return;
    if (idle_asked_) {
      observer.note("measuring the idle power for " + duration_text(options.idle_s));
      measure::EnergyMeter before(measure::open_sensors(options, "/", boot_now_s));
      idle_ = measure::measure_idle(before, options.idle_s, std::min(kLookEvery_s, options.idle_s),
                                    [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); });
    }
    meter_.poll();
    thread_ = std::thread([this] { poll(); });
  }
  ~ServeEnergy() {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  ServeEnergy(const ServeEnergy&) = delete;
  ServeEnergy& operator=(const ServeEnergy&) = delete;

  /// Joules so far, idle power included; absent where nothing measures or estimates them.
  std::optional<double> joules() const {
    const std::scoped_lock lock(mutex_);
    return meter_.refusal().empty() ? meter_.joules_so_far() : std::nullopt;
  }
  /// Reads the sensors once more, and tells all that was drawn so far; "" where none are.
  std::string text(std::uint64_t samples) {
    const std::scoped_lock lock(mutex_);
    if (!meter_.refusal().empty()) return "";
    meter_.poll();
    return served_energy_text(meter_.energy(meter_.seconds(), idle_), samples, idle_asked_);
  }

 private:
  void poll() {
    std::unique_lock lock(mutex_);
    while (!over_.wait_for(lock, std::chrono::duration<double>(kLookEvery_s), [&] { return is_over_; })) meter_.poll();
  }

  mutable std::mutex mutex_;  // of the meter
  measure::EnergyMeter meter_;
  const bool idle_asked_;
  measure::IdlePower idle_;
  bool is_over_ = false;
  std::condition_variable over_;
  std::thread thread_;
};

}  // namespace

std::string served_energy_text(const record::Energy& energy, std::uint64_t samples, bool idle_asked) {
  std::string doubts;
  for (const record::MeterCheck& check : energy.checks) {
    const std::string doubt = contradiction_text(check);
    if (!doubt.empty()) doubts += "; INVALID: " + doubt;
  }
  if (!energy.joules) return "energy isn't known: " + energy.reason + doubts;
  std::string text =
      fmt::format("energy: {} ({})", record::joules_text(*energy.joules), energy_class_name(energy.kind));
  if (const auto each = record::per_image(energy.joules, static_cast<double>(samples))) {
    text += fmt::format(", {} a sample", record::joules_text(*each));
  }
  if (energy.net_joules) {
    text += fmt::format("; {} without the idle power", record::joules_text(*energy.net_joules));
  } else if (idle_asked) {
    text += "; without the idle power it isn't known: " + energy.net_reason;
  }
  const std::string lacks = lacks_text(energy);
  return text + (lacks.empty() ? "" : ", " + lacks) + doubts;
}

inference::InferOptions ServeFlags::infer_options(const placement::Plan& plan) const {
  inference::InferOptions options = placement.infer_options(plan, placement.precision_on(plan));
  options.cache = inference::compile_cache();
  options.repeated = true;
  options.suits_few = true;
  return options;
}

void complete(ServeFlags& flags, measure::Observer* observer) {
  complete(flags.model, observer);
}

ServedTotals serve(const ServeFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const auto server = open_http_server(flags.server.http());  // first: a port that is taken shows at once
  const placement::Plan plan = flags.placement.plan();
  const inference::InferenceModel network(flags.model.request(false, 1));
  require_servable(flags, network);
  const ComingSamples samples(network.input_shape(), flags.server.takes_bytes(network.takes_images()));
  inference::InferJob job(network, samples, flags.infer_options(plan));
  const ServedModel model = served_model(flags, network, job, samples);
  tell_setup(observer, model, network, plan, job.setup());

  ServeEnergy energy(flags.energy.options(plan), observer);
  ServeMetrics metrics([&] { return energy.joules(); });
  BatchQueue queue(
      flags.server.queue_options(job.lanes(), static_cast<std::size_t>(job.setup().batch)),
      [&](std::size_t lane, const auto& values) { return job.call(lane, values); },
      [&](const BatchQueue::Done& done) { metrics.add_batch(done); });
  const int readers = flags.placement.reading_threads->value_or(usable_cpus());
  InferenceApi api(model, queue, metrics, readers, *flags.server.request_timeout_s);
  const std::string address = address_of(*flags.server.host, server->port());
  observer.tell(address + "\n");
  observer.note(fmt::format("serving {}/v2/models/{}; Ctrl-C ends it", address, in_address(model.name)));
  const Stopwatch clock;
  server->run([&](HttpRequest& request) { return api.answer(request, server->counts()); },
              [&] {
                if (stop_requested()) api.drain();
                return stop_requested();
              });
  return {.requests = metrics.requests(),
          .samples = metrics.samples(),
          .batches = metrics.batches(),
          .seconds = clock.seconds(),
          .energy = energy.text(metrics.samples())};
}

}  // namespace evener::serving
