#include "job/data/write_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/terminal_text.h"
#include "data/open/open_data.h"
#include "data/open/pack.h"
#include "data/write_folder.h"
#include "job/options/data_flags.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

void tell_skipped(const data::OpenedData& opened, Observer& observer) {
  for (const data::Skipped& file : opened.skipped) {
    observer.note("skipped " + one_line(file.file) + ": " + one_line(file.reason));
  }
  for (const std::string& note : opened.notes) observer.note("note: " + one_line(note));
}

WrittenData summary_of(const data::OpenedData& opened, const std::string& path, double seconds) {
  return {.path = path,
          .images = opened.dataset->size(),
          .shape = opened.dataset->shape(),
          .classes = opened.dataset->classes().size(),
          .seconds = seconds};
}

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

void PackFlags::check_together() const {
  if (is_folder()) {
    data::parse_box_format(*format);
    return;
  }
  if (std::filesystem::path(*out).extension() == ".safetensors") return;
  throw UsageError("--out '" + *out + "' has to end in .safetensors: by that name --data knows a packed file");
}

data::DataOptions SynthFlags::data_options() const {
  data::DataOptions options;
  options.location = "synth:" + *kind + (*count ? ":" + std::to_string(**count) : "");
  set_size(*size, options);
  options.seed = *seed;
  options.threads = threads->value_or(usable_cores());
  options.cache_limit_bytes = 1;  // every image is written once
  return options;
}

WrittenData pack_data(const PackFlags& flags, Observer& observer) {
  const fs::path out = *flags.out;
  if (!flags.is_folder() && fs::exists(out) && !*flags.overwrite) {
    throw UsageError("'" + *flags.out + "' exists; choose another name, or replace it with --overwrite");
  }
  data::DataOptions options = flags.source.whole_data_options();
  if (!flags.is_folder()) {
    options.before_decoding = [&out](std::size_t images, const data::ImageShape& shape) {
      data::require_room_for_pack(images, shape, out);
    };
  }
  parallel::FlowReport reading;
  read_by_flow(options, reading);
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  tell_skipped(opened, observer);
  if (const std::string text = reading_text(reading); !text.empty()) observer.note("read " + text);
  if (flags.is_folder()) {
    data::write_box_folder(*opened.dataset, opened.split, out, data::parse_box_format(*flags.format), options.threads);
  } else {
    data::write_packed(opened, *flags.source.location, out, options.threads);
  }
  return summary_of(opened, *flags.out, watch.seconds());
}

WrittenData draw_data(const SynthFlags& flags) {
  const data::DataOptions options = flags.data_options();
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  if (opened.dataset->target_kind() == data::TargetKind::kBoxes) {
    data::write_box_folder(*opened.dataset, opened.split, *flags.out, data::parse_box_format(*flags.format),
                           options.threads);
  } else {
    data::write_image_folder(*opened.dataset, *flags.out, options.threads);
  }
  return summary_of(opened, *flags.out, watch.seconds());
}

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
