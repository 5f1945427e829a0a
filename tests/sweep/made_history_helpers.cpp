#include "sweep/made_history_helpers.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/random.h"
#include "support/sample_records_helpers.h"

namespace evener::test {

std::string night_text(int night) {
  using namespace std::chrono;
  const year_month_day day = sys_days(year(2026) / October / 1) + days(night);
  return fmt::format("{:04}-{:02}-{:02}T02:00:00Z", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

record::Record record_of_night(const Nights& nights, int night) {
  const bool is_slower = night >= nights.slower_from;
  Random random(11, Purpose::kSynthetic, hash_text(nights.placement + nights.cpu), static_cast<std::uint64_t>(night));
  SampleRun sample;
  sample.placement = nights.placement;
  sample.threads = nights.placement == "cpu/t1" ? 1 : 2;
  record::Record record = sample_record(sample);
  record.started = night_text(night);
  record.images_per_s.median = 100 * (is_slower ? 1 - nights.slower_by : 1) * std::exp(0.01 * random.normal());
  record.memory.peak_rss_bytes = static_cast<std::uint64_t>(nights.peak_rss_bytes * (1 + 0.001 * random.normal()));
  record.machine.cpu = nights.cpu;
  record.versions["evener"] = is_slower ? "0.8.0" : "0.7.0";
  record.versions["program"] = is_slower ? "bbbbbbbbbbbbbbbb" : "aaaaaaaaaaaaaaaa";
  record.validity = {true, {}};
  return record;
}

std::vector<sweeps::HistoryRun> runs_of_nights(const Nights& nights) {
  std::vector<sweeps::HistoryRun> runs;
  for (int night = 0; night < nights.count; ++night) {
    sweeps::HistoryRun& run = runs.emplace_back();
    run.folder = fmt::format("nights/{:03}", night);
    run.record = record_of_night(nights, night);
    run.metrics = record::metrics_of(run.record);
  }
  return runs;
}

void write_nights(const std::filesystem::path& folder, const Nights& nights) {
  for (int night = 0; night < nights.count; ++night) {
    const std::filesystem::path run = folder / fmt::format("{:03}", night);
    std::filesystem::create_directories(run);
    record::write_record(run, record_of_night(nights, night));
  }
}

}  // namespace evener::test
