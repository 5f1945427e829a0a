#include "job/faces/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/statistics.h"

namespace evener::job {
namespace {

constexpr const char* kScaling = "scaling.csv";
constexpr int kRounds = 3;
constexpr std::size_t kPhotosAWorker = 16, kMostPhotos = 256;  // that are looked at for each time

double percent(double cpu_s, const task::FacesChunk& chunk) {
  return chunk.seconds > 0 ? 100 * cpu_s / chunk.seconds : 0;
}

/// 1, 2, 4 and so on, and all.
std::vector<int> numbers_of_workers(int all) {
  std::vector<int> numbers;
  for (int workers = 1; workers < all; workers *= 2) numbers.push_back(workers);
  numbers.push_back(all);
  return numbers;
}

double median_seconds(const WorkerScaling& scaling, int workers) {
  std::vector<double> seconds;
  for (const record::ScalingPoint& point : scaling.points) {
    if (point.workers == workers) seconds.push_back(point.seconds);
  }
  return median(seconds).value_or(0);
}

int most_workers(const WorkerScaling& scaling) {
  return std::ranges::max(scaling.points, {}, &record::ScalingPoint::workers).workers;
}

double speedup_of(const WorkerScaling& scaling, int workers) {
  return median_seconds(scaling, 1) / median_seconds(scaling, workers);
}

void write_scaling(const std::filesystem::path& path, const WorkerScaling& scaling) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "workers,photos,seconds,photos_per_s,amdahl_s\n";
    for (const record::ScalingPoint& point : scaling.points) {
      out << fmt::format("{},{},{:.4f},{:.3f},{:.4f}\n", point.workers, scaling.photos, point.seconds,
                         static_cast<double>(scaling.photos) / point.seconds,
                         scaling.fit.one_worker_s / scaling.fit.speedup(point.workers));
    }
  });
}

}  // namespace

void add_chunks(record::Record& record, const std::vector<task::FacesChunk>& chunks) {
  if (chunks.empty()) return;
  const auto add = [&](const char* name, const char* unit, const char* label, record::Better better,
                       const auto& value_of) {
    record::Metric metric{.name = name, .unit = unit, .title = "", .label = label, .better = better};
    for (const task::FacesChunk& chunk : chunks) metric.samples.push_back(value_of(chunk));
    metric.value = median(metric.samples);
    metric.over = "chunks of a worker, in the order of chunks.csv";
    record::add_metric(record, std::move(metric));
  };
  using record::Better;
  add("chunk_s_per_photo", "s", "seconds of a worker for a photo", Better::kLower,
      [](const task::FacesChunk& chunk) { return chunk.seconds / static_cast<double>(chunk.photos); });
  add("chunk_cpu_percent", "%", "CPU of a worker's thread", Better::kHigher,
      [](const task::FacesChunk& chunk) { return percent(chunk.cpu_s, chunk); });
  add("chunk_rss_bytes", "bytes", "memory at the end of a chunk", Better::kLower,
      [](const task::FacesChunk& chunk) { return static_cast<double>(chunk.rss_bytes); });
}

std::vector<report::ChunkOnPage> chunks_on_page(const std::vector<task::FacesChunk>& chunks) {
  std::vector<report::ChunkOnPage> on_page;
  for (const task::FacesChunk& chunk : chunks) {
    on_page.push_back(
        {chunk.worker, chunk.photos, chunk.begin_s, chunk.seconds, percent(chunk.cpu_s, chunk), chunk.rss_bytes});
  }
  return on_page;
}

void forget_scaling(const std::filesystem::path& folder) {
  std::filesystem::remove(folder / kScaling);
}

std::optional<WorkerScaling> measure_scaling(task::FacesJob& job, const data::Pictures& photos,
                                             const std::vector<std::size_t>& which, const std::filesystem::path& folder,
                                             Observer& line) {
  const std::vector<int> numbers = numbers_of_workers(std::min(static_cast<int>(job.lanes()), usable_cpus()));
  if (numbers.size() < 2 || which.size() < job.lanes()) {
    line.note(fmt::format("note: --scaling has nothing to compare: {} for {}", counted(which.size(), "photo"),
                          counted(job.lanes(), "worker")));
    return std::nullopt;
  }
  WorkerScaling scaling;
  scaling.photos = std::min({which.size(), kPhotosAWorker * job.lanes(), kMostPhotos});
  // From all over, as photos that lie side by side are often of one kind.
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < scaling.photos; ++i) some.push_back(which[i * which.size() / scaling.photos]);
  const auto look = [&](int workers) {
    return job.run(
        photos, some, [](const task::PhotoFaces&) {}, {}, workers);
  };
  look(numbers.back());  // what only the first look costs
  std::vector<record::WorkersRuns> runs;
  for (const int workers : numbers) runs.push_back({workers, {}});
  for (int round = 0; round < kRounds; ++round) {
    for (record::WorkersRuns& of : runs) {
      const int workers = of.workers;
      line.show(fmt::format("measuring how workers share the work: round {} of {}, {}", round + 1, kRounds,
                            counted(static_cast<std::size_t>(workers), "worker")));
      scaling.points.push_back({workers, look(workers).seconds});
      of.seconds.push_back({round, scaling.points.back().seconds});
    }
    std::ranges::reverse(runs);  // a machine that drifts favours none of them
  }
  line.finish();
  const std::optional<record::AmdahlFit> fit = record::fit_amdahl(scaling.points);
  if (!fit) return std::nullopt;
  scaling.fit = *fit;
  scaling.share_interval = record::scaling_of(std::move(runs)).share_interval;
  write_scaling(folder / kScaling, scaling);
  return scaling;
}

std::string scaling_text(const WorkerScaling& scaling) {
  const int most = most_workers(scaling);
  const double speedup = speedup_of(scaling, most);
  std::string text = fmt::format(
      "{} workers did {:.2f}x as much as one (medians of {} looks at {} photos). By Amdahl's law {:.1f} % of the work "
      "is "
      "done by one at a time",
      most, speedup, kRounds, scaling.photos, 100 * scaling.fit.serial_share);
  if (scaling.share_interval) {
    text += fmt::format(" (95 %: {:.1f} to {:.1f} %)", 100 * scaling.share_interval->low,
                        100 * scaling.share_interval->high);
  }
  return text + ".";
}

void add_scaling(record::Record& record, const WorkerScaling& scaling) {
  const int most = most_workers(scaling);
  const double speedup = speedup_of(scaling, most);
  record::add_metric(record, {.name = "workers_speedup",
                              .unit = "",
                              .title = "",
                              .label = fmt::format("speed of {} workers against one", most),
                              .value = speedup});
  record::add_metric(record, {.name = "serial_share",
                              .unit = "share",
                              .title = "",
                              .label = "work that one worker does at a time, by Amdahl's law",
                              .better = record::Better::kLower,
                              .value = scaling.fit.serial_share,
                              .interval = scaling.share_interval});
  record::add_metric(record, {.name = "karp_flatt_share",
                              .unit = "share",
                              .title = "",
                              .label = fmt::format("the same by Karp and Flatt, for {} workers", most),
                              .better = record::Better::kLower,
                              .value = record::karp_flatt(speedup, most)});
  record::Metric times{.name = "scaling_s",
                       .unit = "s",
                       .title = "",
                       .label = "times of looks, in the order of scaling.csv",
                       .better = record::Better::kLower,
                       .over = "looks by 1 to all workers"};
  for (const record::ScalingPoint& point : scaling.points) times.samples.push_back(point.seconds);
  times.value = median(times.samples);
  record::add_metric(record, std::move(times));
}

report::ScalingOnPage scaling_on_page(const WorkerScaling& scaling) {
  report::ScalingOnPage page{{}, scaling.fit, scaling_text(scaling)};
  for (const int workers : numbers_of_workers(most_workers(scaling))) {
    page.speedups.push_back({workers, speedup_of(scaling, workers)});
  }
  return page;
}

}  // namespace evener::job
