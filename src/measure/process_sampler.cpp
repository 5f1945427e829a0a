#include "measure/process_sampler.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/child.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/directed_yield.h"
#include "base/error.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

constexpr double kWaitBetween_s = 0.03;    // wait for a meter's answer in a sample
constexpr double kWaitForMeters_s = 2;     // the same at both ends of the run
constexpr double kPssShareOfTime = 0.001;  // smaps_rollup walks the page tables: keep it below this share

/// Minimum, mean and maximum of the added values.
class RunningSpread {
 public:
  void add(double value) {
    spread_.min = count_ == 0 ? value : std::min(spread_.min, value);
    spread_.max = count_ == 0 ? value : std::max(spread_.max, value);
    sum_ += value;
    ++count_;
  }
  std::optional<record::Spread> get() const {
    if (count_ == 0) return std::nullopt;
    record::Spread spread = spread_;
    spread.mean = sum_ / static_cast<double>(count_);
    return spread;
  }

 private:
  record::Spread spread_;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

struct DeviceSums {
  DeviceUse use;
  RunningSpread utilisation, memory, clock, temperature;

  DeviceUse get() const {
    DeviceUse all = use;
    all.utilisation_percent = utilisation.get();
    all.memory_bytes = memory.get();
    all.clock_mhz = clock.get();
    all.temperature_c = temperature.get();
    return all;
  }
};

/// Adds the reasons of a list such as "power cap, heat", each once.
void add_reasons(std::string& all, const std::string& more) {
  constexpr std::string_view kComma = ", ";
  for (std::size_t begin = 0; begin < more.size();) {
    const std::size_t end = std::min(more.find(kComma, begin), more.size());
    const std::string reason = more.substr(begin, end - begin);
    const bool is_known = fmt::format(", {}, ", all).find(fmt::format(", {}, ", reason)) != std::string::npos;
    if (!is_known) all += (all.empty() ? "" : ", ") + reason;
    begin = end + kComma.size();
  }
}

void add_state(std::vector<DeviceSums>& devices, const DeviceState& state) {
  auto found = std::ranges::find_if(devices, [&](const DeviceSums& known) { return known.use.name == state.name; });
  if (found == devices.end()) {
    found = devices.insert(devices.end(), DeviceSums());
    found->use.name = state.name;
    found->use.uuid = state.uuid;
  }
  const auto add = [](RunningSpread& sum, const auto& value) {
    if (value) sum.add(static_cast<double>(*value));
  };
  add(found->utilisation, state.utilisation_percent);
  add(found->memory, state.memory_bytes);
  add(found->clock, state.clock_mhz);
  add(found->temperature, state.temperature_c);
  ++found->use.samples;
  if (!state.throttled.value_or(false)) return;
  ++found->use.throttled_samples;
  add_reasons(found->use.throttle_reasons, state.throttle_reasons);
}

/// Locked while the thread takes a sample, and by fork(), which so waits for the sample's end. A forked child has only
/// the forking thread, so a lock that the sampler held at that moment (of an allocator, of a stream) would stay locked
/// in the child for ever. glibc handles its own locks; the sanitizers' allocators don't.
std::mutex sample_and_fork;

void keep_samples_out_of_forks() {
  static const int error = pthread_atfork([] { sample_and_fork.lock(); }, [] { sample_and_fork.unlock(); },
                                          [] { sample_and_fork.unlock(); });
  if (error != 0) throw Error(fmt::format("can't prepare the sampler for forks: {}", std::strerror(error)));
}

std::string cell(const auto& value, int decimals) {
  return value ? fmt::format("{:.{}f}", static_cast<double>(*value), decimals) : "";
}

std::string title_of(const std::string& name, const char* ending) {
  std::string title = name + ending;
  std::erase_if(title, [](char c) { return c == '(' || c == ')'; });
  std::ranges::replace_if(
      title, [](char c) { return c == ' ' || c == ',' || c == '"' || c == '\n'; }, '_');
  return title;
}

using Columns = std::vector<std::pair<std::string, std::string>>;

void add_phases(const PhaseTotals& phases, double seconds, Columns& columns) {
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    std::string name = phase_name(static_cast<Phase>(phase));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const double share = seconds > 0 ? static_cast<double>(phases.critical[phase].ns) * 1e-9 / seconds : 0;
    columns.emplace_back(kPhaseBeginning + name + "_percent", fmt::format("{:.1f}", 100 * std::min(1.0, share)));
  }
}

/// Title and cell of each column, in their order.
Columns columns_of(const EnergyMeter& meter) {
  Columns columns;
  if (std::ranges::any_of(meter.meters(), &ChannelMeter::added)) {
    columns.emplace_back(kJoulesColumn, cell(meter.joules_so_far(), 3));
  }
  for (const ChannelMeter& one : meter.meters()) {
    columns.emplace_back(title_of(one.channel().name, kWattsEnding), cell(one.watts(), 2));
  }
  for (const DeviceState& state : meter.states()) {
    columns.emplace_back(title_of(state.name, "_utilisation_percent"), cell(state.utilisation_percent, 0));
    columns.emplace_back(title_of(state.name, "_memory_bytes"), cell(state.memory_bytes, 0));
    columns.emplace_back(title_of(state.name, "_clock_mhz"), cell(state.clock_mhz, 0));
    columns.emplace_back(title_of(state.name, "_temperature_c"), cell(state.temperature_c, 0));
    columns.emplace_back(title_of(state.name, "_throttled"), state.throttled ? (*state.throttled ? "1" : "0") : "");
  }
  return columns;
}

}  // namespace

EnergyColumns::EnergyColumns(const EnergyMeter& meter, bool with_phases) {
  Columns columns;
  if (with_phases) add_phases({}, 0, columns);
  for (auto& column : columns_of(meter)) columns.push_back(std::move(column));
  for (const auto& [title, cell] : columns) titles_.push_back(title);
}

void EnergyColumns::go_on_with(const std::string& header) {
  titles_.clear();
  bool ours = false;  // they stand behind the others
  for (const std::string& title : csv_cells(header)) {
    ours = ours || title == kJoulesColumn || title.ends_with(kWattsEnding) || title.starts_with(kPhaseBeginning);
    if (ours) titles_.push_back(title);
  }
}

std::string EnergyColumns::titles() const {
  std::string text;
  for (const std::string& title : titles_) text += "," + title;
  return text;
}

std::string EnergyColumns::cells(const EnergyMeter& meter, const PhaseTotals* phases, double seconds) const {
  if (titles_.empty()) return "";
  std::map<std::string, std::string> cells;
  Columns columns = columns_of(meter);
  if (phases != nullptr && seconds > 0) add_phases(*phases, seconds, columns);
  for (auto& [title, cell] : columns) cells.emplace(title, std::move(cell));
  std::string text;
  for (const std::string& title : titles_) {
    const auto found = cells.find(title);
    text += "," + (found == cells.end() ? std::string() : found->second);
  }
  return text;
}

struct ProcessSampler::State {
  explicit State(SamplerOptions chosen)
      : options(std::move(chosen)),
        meter(open_sensors(options.energy, options.root, boot_now_s)),
        first(read_counters(options.root, live_children())),
        last(first),
        newest(first),
        throttle_before(read_throttle_events(options.root)) {}

  void open_csv();
  std::vector<int> counted_children() const;
  void sample(double wait_s = 0);
  void poll_energy(double wait_s);
  void write_row(double time_s, const Usage& usage, const MemoryReading& memory);
  void loop();
  void finish();

  SamplerOptions options;
  EnergyMeter meter;
  std::optional<EnergyColumns> energy_columns;
  Counters energy_last;  // at the last reading of the meter
  std::vector<DeviceSums> devices;
  PhaseTotals phases, phases_ended;  // so far, and since the last sample
  double since_last_s = 0;           // seconds since the last sample
  double sampled_s = 0;
  std::vector<int> children;
  Counters first;  // at the run's start
  Counters last;   // start of the window for usage
  Counters newest;
  std::optional<std::uint64_t> throttle_before;
  GivenCpus given_before = given_cpus();
  double pss_due_s = 0;
  RunningSpread process_percent, others_percent, rss, pss;
  SamplerSummary summary;
  std::ofstream csv;

  std::mutex mutex;
  std::condition_variable stop_asked;
  bool stopping = false;
  bool finished = false;
  pthread_t thread{};
  std::atomic<bool> begun = false;  // the thread has reached its own code
};

void ProcessSampler::State::open_csv() {
  if (options.csv.empty()) return;
  std::error_code error;
  const bool has_rows = options.append && std::filesystem::file_size(options.csv, error) > 0 && !error;
  energy_columns.emplace(meter, options.phases != nullptr);
  if (has_rows) {
    std::string header;
    std::ifstream before(options.csv);
    std::getline(before, header);
    energy_columns->go_on_with(header);
  }
  csv.open(options.csv, options.append ? std::ios::app : std::ios::trunc);
  if (!csv) {
    throw Error(fmt::format("can't write the samples to {}: {}", options.csv.string(), std::strerror(errno)));
  }
  if (has_rows) return;
  csv << "time_s,process_cpu_percent,others_cpu_percent,steal_percent,rss_bytes,pss_bytes,swap_bytes";
  for (std::size_t core = 0; core < first.cores.size(); ++core) csv << ",cpu" << core << "_percent";
  csv << energy_columns->titles() << "\n" << std::flush;
}

void ProcessSampler::State::poll_energy(double wait_s) {
  std::optional<double> share;
  if (newest.process_ticks && energy_last.process_ticks && newest.all && energy_last.all &&
      newest.all->busy > energy_last.all->busy) {
    share = static_cast<double>(*newest.process_ticks - std::min(*newest.process_ticks, *energy_last.process_ticks)) /
            static_cast<double>(newest.all->busy - energy_last.all->busy);
  }
  energy_last = newest;
  if (options.phases) {
    const PhaseTotals before = std::exchange(phases, options.phases());
    phases_ended = phases.since(before);
  }
  meter.poll(wait_s, share, options.phases ? &phases : nullptr);
  for (const DeviceState& state : meter.states()) add_state(devices, state);
}

/// The running children. A child that was counted only at its end would seem to have used all its CPU time in the last
/// interval.
std::vector<int> ProcessSampler::State::counted_children() const {
  std::vector<int> all = live_children();
  for (const int child : children) {
    if (std::ranges::find(all, child) == all.end()) all.push_back(child);
  }
  return all;
}

void ProcessSampler::State::sample(double wait_s) {
  const std::optional<std::uint64_t> ticks_before = newest.process_ticks;
  newest = read_counters(options.root, counted_children());
  // A child that was reaped while the counters were read may be missing from both its own file and the sum over ended
  // children: the sum must not fall.
  if (newest.process_ticks && ticks_before) newest.process_ticks = std::max(*newest.process_ticks, *ticks_before);
  const double time_s = newest.time_s - first.time_s;
  since_last_s = time_s - std::exchange(sampled_s, time_s);
  const Usage usage = usage_between(last, newest);
  if (newest.time_s - last.time_s >= kShortestUsageWindow_s) last = newest;
  poll_energy(wait_s);
  const double pss_begin_s = now_s();
  const MemoryReading memory = read_memory(options.root, time_s >= pss_due_s, children);
  if (memory.pss_bytes) pss_due_s = time_s + (now_s() - pss_begin_s) / kPssShareOfTime;

  if (usage.process_percent) process_percent.add(*usage.process_percent);
  if (usage.others_percent) others_percent.add(*usage.others_percent);
  if (memory.rss_bytes) rss.add(static_cast<double>(*memory.rss_bytes));
  if (memory.pss_bytes) pss.add(static_cast<double>(*memory.pss_bytes));
  record::Memory& so_far = summary.memory;
  if (memory.swap_bytes) so_far.swap_bytes_max = std::max(so_far.swap_bytes_max.value_or(0), *memory.swap_bytes);
  if (memory.peak_rss_bytes) {
    // Both of the kernel's counters are approximate: the peak may be some pages below a size that a sample saw.
    so_far.peak_rss_bytes = std::max({so_far.peak_rss_bytes.value_or(0), *memory.peak_rss_bytes,
                                      children.empty() ? memory.rss_bytes.value_or(0) : 0});
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    auto& peak = so_far.ranks[i].peak_rss_bytes;
    peak = std::max(peak.value_or(0), read_peak_rss(options.root, children[i]).value_or(0));
  }
  ++summary.cpu.samples;
  write_row(time_s, usage, memory);
}

void ProcessSampler::State::write_row(double time_s, const Usage& usage, const MemoryReading& memory) {
  if (!csv.is_open() || !summary.error.empty()) return;
  csv << fmt::format("{:.3f},{},{},{},{},{},{}", time_s + options.csv_start_s, cell(usage.process_percent, 1),
                     cell(usage.others_percent, 1), cell(usage.steal_percent, 1), cell(memory.rss_bytes, 0),
                     cell(memory.pss_bytes, 0), cell(memory.swap_bytes, 0));
  for (std::size_t core = 0; core < first.cores.size(); ++core) {
    csv << "," << (core < usage.core_percent.size() ? fmt::format("{:.1f}", usage.core_percent[core]) : "");
  }
  csv << energy_columns->cells(meter, options.phases ? &phases_ended : nullptr, since_last_s) << "\n"
      << std::flush;  // so that a killed run keeps its samples
  if (!csv)
    summary.error = fmt::format("{} could not be written any more: {}", options.csv.string(), std::strerror(errno));
}

void ProcessSampler::State::loop() {
  pthread_setname_np(pthread_self(), "sampler");
  std::unique_lock lock(mutex);
  const auto interval = std::chrono::milliseconds(options.interval_ms);
  auto due = std::chrono::steady_clock::now() + interval;
  while (!stop_asked.wait_until(lock, due, [this] { return stopping; })) {
    {
      const std::lock_guard no_fork(sample_and_fork);
      sample(kWaitBetween_s);
    }
    // After a pause (a suspended laptop), continue without making up for missed samples.
    due = std::max(due + interval, std::chrono::steady_clock::now() + interval / 2);
  }
}

void ProcessSampler::State::finish() {
  sample(kWaitForMeters_s);
  const Usage whole = usage_between(first, newest);
  summary.begin_s = first.time_s;
  summary.seconds = newest.time_s - first.time_s;
  record::CpuUse& cpu = summary.cpu;
  cpu.percent = process_percent.get();
  cpu.others_percent = others_percent.get();
  // Means over the whole run: a mean of samples would give a short last interval the weight of the others.
  if (cpu.percent && whole.process_percent) cpu.percent->mean = *whole.process_percent;
  if (cpu.others_percent && whole.others_percent) cpu.others_percent->mean = *whole.others_percent;
  cpu.seconds = whole.process_cpu_s;
  cpu.core_percent_mean = whole.core_percent;
  cpu.steal_percent_mean = whole.steal_percent;
  if (const auto after = read_throttle_events(options.root); after && throttle_before) {
    cpu.throttle_events = static_cast<std::int64_t>(*after - *throttle_before);
  }
  const GivenCpus given = given_cpus();
  cpu.exchanged = given.exchanged - given_before.exchanged;
  cpu.lent = given.lent - given_before.lent;
  record::Memory& memory = summary.memory;
  memory.rss_bytes = rss.get();
  memory.pss_bytes = pss.get();
  for (const record::RankMemory& child : memory.ranks) {
    if (memory.peak_rss_bytes) *memory.peak_rss_bytes += *child.peak_rss_bytes;
  }
  if (memory.ranks.empty()) memory.ranks = {{0, memory.peak_rss_bytes}};
  summary.energy = meter.energy(summary.seconds, options.idle);
  summary.shortest_window_s = std::max(kShortestWindow_s, meter.shortest_window_s());
  for (const DeviceSums& device : devices) summary.devices.push_back(device.get());
  csv.close();
  finished = true;
}

ProcessSampler::ProcessSampler(SamplerOptions options) {
  if (options.interval_ms < 100 || options.interval_ms > 10000) {
    throw UsageError(fmt::format("a sampling interval of {} ms is outside 100 to 10000 ms", options.interval_ms));
  }
  state_ = std::make_unique<State>(std::move(options));
  state_->open_csv();
  // Resets the kernel's peak of memory, for processes that make several runs one after the other. A failure doesn't
  // matter.
  if (state_->options.root == "/") std::ofstream("/proc/self/clear_refs") << "5";
  state_->sample(kWaitForMeters_s);
  keep_samples_out_of_forks();
  start();
}

/// Starts the thread with a smaller stack than usual. A forked child reuses the stacks of its parent's threads for
/// threads of its own; one of the usual size would be reused under the same thread id, which the thread sanitizer
/// rejects.
void ProcessSampler::start() {
  constexpr std::size_t kStackBytes = 1 << 20;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const auto work = [](void* given) -> void* {
    auto* const state = static_cast<State*>(given);
    state->begun = true;
    state->begun.notify_one();
    state->loop();
    return nullptr;
  };
  const int error = pthread_create(&state_->thread, &attributes, work, state_.get());
  pthread_attr_destroy(&attributes);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), "the thread that samples CPU and memory can't be started");
  // Until then the sanitizers may hold locks for the new thread, which would stay locked in a forked child.
  state_->begun.wait(false);
}

ProcessSampler::~ProcessSampler() {
  if (state_) stop();
}

void ProcessSampler::watch(const std::vector<int>& children) {
  const std::lock_guard lock(state_->mutex);
  state_->children = children;
  auto& ranks = state_->summary.memory.ranks;
  if (ranks.size() == children.size()) return;
  ranks.clear();
  while (ranks.size() < children.size()) ranks.push_back({static_cast<int>(ranks.size()), 0});
}

void ProcessSampler::ended(int child, std::uint64_t peak_rss_bytes) {
  const std::lock_guard lock(state_->mutex);
  const auto found = std::ranges::find(state_->children, child);
  if (found == state_->children.end()) return;
  auto& peak = state_->summary.memory.ranks[static_cast<std::size_t>(found - state_->children.begin())].peak_rss_bytes;
  peak = std::max(peak.value_or(0), peak_rss_bytes);
}

void ProcessSampler::look() {
  const std::scoped_lock lock(state_->mutex, sample_and_fork);
  if (state_->finished) return;
  state_->sample(kWaitForMeters_s);
  state_->sample();  // of the moment at which this ends
}

SamplerSummary ProcessSampler::stop() {
  if (!state_->finished) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->stopping = true;
    }
    state_->stop_asked.notify_all();
    pthread_join(state_->thread, nullptr);
    state_->finish();
  }
  return state_->summary;
}

}  // namespace evener::measure
