#include "task/quantize/figures.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/forked.h"
#include "base/stop.h"

namespace evener::task {
namespace {

using nlohmann::json;

constexpr double kLongest_s = 7 * 24 * 3600.0;

/// "VmHWM" or "VmRSS" of this process; 0 where the kernel doesn't say.
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// From here on the peak is that of what follows.
void begin_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

class Classes : public InferObserver {
 public:
  Classes(const data::Samples& samples, const std::string& output, RunFigures& figures)
      : samples_(samples), output_(output), figures_(figures) {
    figures.classes.assign(samples.size(), -1);
  }

  void on_answer(const Answer& answer) override {
    const auto& scores = answer.outputs.at(output_);
    const auto found = static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
    figures_.classes[answer.index] = found;
    ++figures_.images;
    const auto label = samples_.label(answer.index);
    figures_.labelled += label ? 1 : 0;
    figures_.correct += label == found ? 1 : 0;
  }

 private:
  const data::Samples& samples_;
  const std::string& output_;
  RunFigures& figures_;
};

std::vector<double> latencies(const InferenceModel& model, const data::Samples& samples, InferOptions options,
                              double seconds) {
  options.batch = 1;
  options.streams = 1;
  InferJob job(model, samples, options);
  const SampleValues image = read_values(samples, 0);
  std::vector<double> found;
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop_requested()) {
    const Stopwatch call;
    start(job.lane(0), image);
    job.lane(0).wait();
    found.push_back(call.seconds());
  }
  return found;
}

json measured(const InferenceModel& model, const data::Samples& samples, const InferOptions& options, double seconds) {
  RunFigures figures;
  const std::uint64_t before = status_bytes("VmRSS");
  begin_peak();
  {
    InferJob job(model, samples, options);
    Classes classes(samples, model.main_output(), figures);
    job.run(samples, classes);
    figures.rates = job.network_rates(samples, seconds);
    figures.executed = job.setup().executed;
  }
  const std::uint64_t peak = status_bytes("VmHWM");
  figures.memory_bytes = peak > before ? peak - before : 0;
  figures.latencies_s = latencies(model, samples, options, seconds);
  return {{"images", figures.images},       {"labelled", figures.labelled}, {"correct", figures.correct},
          {"classes", figures.classes},     {"rates", figures.rates},       {"latencies", figures.latencies_s},
          {"memory", figures.memory_bytes}, {"executed", figures.executed}};
}

}  // namespace

RunFigures measure_run(const InferenceModel& model, const data::Samples& samples, const InferOptions& options,
                       double seconds) {
  const json found =
      json::parse(in_child([&] { return measured(model, samples, options, seconds).dump(); }, kLongest_s));
  RunFigures figures;
  found.at("images").get_to(figures.images);
  found.at("labelled").get_to(figures.labelled);
  found.at("correct").get_to(figures.correct);
  found.at("classes").get_to(figures.classes);
  found.at("rates").get_to(figures.rates);
  found.at("latencies").get_to(figures.latencies_s);
  found.at("memory").get_to(figures.memory_bytes);
  found.at("executed").get_to(figures.executed);
  return figures;
}

Int8Layers int8_layers(const std::map<std::string, int>& executed) {
  Int8Layers layers;
  for (const auto& [what, count] : executed) {
    const bool products =
        what.starts_with("Convolution ") || what.starts_with("FullyConnected ") || what.starts_with("MatMul ");
    if (!products) continue;
    layers.all += count;
    if (what.ends_with(" i8") || what.ends_with(" u8")) layers.int8 += count;
  }
  return layers;
}

}  // namespace evener::task
