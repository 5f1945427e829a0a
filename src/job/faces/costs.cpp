#include "job/faces/costs.h"

#include <utility>

#include "base/statistics.h"

namespace evener::job {
namespace {

double percent(double cpu_s, const task::FacesChunk& chunk) {
  return chunk.seconds > 0 ? 100 * cpu_s / chunk.seconds : 0;
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

}  // namespace evener::job
