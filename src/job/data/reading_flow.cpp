#include "job/data/reading_flow.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/names.h"

namespace evener::job {
namespace {

constexpr const char* kDecode = "decode";
constexpr std::size_t kWaitingPerWorker = 4;

/// The step that decodes; null where nothing was read.
const parallel::FlowStepReport* decoding_in(const parallel::FlowReport& report) {
  for (const parallel::FlowStepReport& step : report.steps) {
    if (step.name == kDecode) return &step;
  }
  return nullptr;
}

std::int64_t images_of(const parallel::FlowStepReport& step) {
  std::int64_t images = 0;
  for (const parallel::FlowWorkerReport& worker : step.workers) images += worker.items;
  return images;
}

double per_second(std::int64_t images, double seconds) {
  return seconds > 0 ? static_cast<double>(images) / seconds : 0;
}

}  // namespace

void read_by_flow(data::DataOptions& options, parallel::FlowReport& report) {
  options.deal = [threads = options.threads, progress = options.progress, &report](
                     std::size_t count, const std::function<void(std::size_t)>& work) {
    std::size_t next = 0, done = 0;
    const auto next_file = [&next, count]() -> std::optional<std::size_t> {
      return next < count ? std::optional(next++) : std::nullopt;
    };
    const auto decode = [&work](std::size_t file) {
      work(file);
      return file;
    };
    const auto tell = [&](std::size_t /*file*/) {
      if (progress) progress(++done, count);
    };
    const std::size_t waiting = kWaitingPerWorker * static_cast<std::size_t>(threads);
    parallel::Flow flow = parallel::flow_from<std::size_t>({.name = "list"}, next_file)
                              .map({.name = kDecode, .workers = threads, .capacity = waiting}, decode)
                              .into({.name = "count", .capacity = waiting}, tell);
    flow.run({.keep_order = false});
    report = flow.report();
  };
}

std::string reading_text(const parallel::FlowReport& report) {
  const parallel::FlowStepReport* decoding = decoding_in(report);
  if (decoding == nullptr) return "";
  double busy_s = 0;
  for (const parallel::FlowWorkerReport& worker : decoding->workers) busy_s += worker.busy_s;
  const auto workers = static_cast<double>(decoding->workers.size());
  const std::int64_t images = images_of(*decoding);
  return fmt::format(
      "{} images in {}, {:.4g} images/s; {} worker{} busy {:.0f} %; {:.1f} of {} images waiting on average", images,
      duration_text(report.seconds), per_second(images, report.seconds), decoding->workers.size(),
      decoding->workers.size() == 1 ? "" : "s", report.seconds > 0 ? 100 * busy_s / (workers * report.seconds) : 0,
      decoding->queue->mean_depth, decoding->queue->capacity);
}

nlohmann::ordered_json reading_json(const parallel::FlowReport& report) {
  using Json = nlohmann::ordered_json;
  const parallel::FlowStepReport* decoding = decoding_in(report);
  if (decoding == nullptr) return nullptr;
  Json workers = Json::array();
  for (const parallel::FlowWorkerReport& worker : decoding->workers) {
    workers.push_back({{"images", worker.items},
                       {"images_per_s", per_second(worker.items, report.seconds)},
                       {"busy_s", worker.busy_s},
                       {"wait_s", worker.wait_input_s + worker.wait_room_s}});
  }
  return {{"seconds", report.seconds},
          {"images_per_s", per_second(images_of(*decoding), report.seconds)},
          {"queue",
           {{"capacity", decoding->queue->capacity},
            {"mean_depth", decoding->queue->mean_depth},
            {"max_depth", decoding->queue->max_depth}}},
          {"workers", workers}};
}

}  // namespace evener::job
