#include "support/sample_records_helpers.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/random.h"
#include "measure/record_samples.h"
#include "record/validity.h"

namespace evener::test {
namespace {

constexpr int kTrainImages = 765, kValImages = 45, kTestImages = 90;

/// Around 1, by at most `spread`; the same on every run.
double wobble(const SampleRun& sample, int n, double spread) {
  Random random(7, Purpose::kSynthetic, hash_text(sample.model + sample.placement), static_cast<std::uint64_t>(n));
  return 1 + random.uniform(-spread, spread);
}

void fill_epochs(const SampleRun& sample, record::Record& record) {
  for (int n = 1; n <= sample.epochs; ++n) {
    const double rate = sample.images_per_s * wobble(sample, n, 0.02) * (n == 1 ? 0.9 : 1);
    const double progress = 1 - std::exp(-n / 2.5);
    record::EpochRecord epoch;
    epoch.epoch = n;
    epoch.images_per_s = rate;
    epoch.seconds = kTrainImages / rate;
    epoch.validate_seconds = 0.12 * *epoch.seconds;
    epoch.lr = 0.05 * 0.5 * (1 + std::cos(3.14159 * (n - 1) / sample.epochs));
    epoch.train_loss = 2.1 * std::exp(-n / 2.0) * wobble(sample, 50 + n, 0.08) + 0.02;
    epoch.train_accuracy = std::min(1.0, 0.3 + 0.69 * progress * wobble(sample, 100 + n, 0.01));
    epoch.val_loss = 2.2 * std::exp(-n / 2.2) * wobble(sample, 150 + n, 0.15) + 0.06;
    epoch.val_accuracy = std::min(1.0, 0.25 + 0.75 * progress * wobble(sample, 200 + n, 0.03));
    record.training.epochs.push_back(epoch);
  }
  record::BlockRates later{{}, 4};
  for (int n = 0; n < 24; ++n) later.rates.push_back(sample.images_per_s * wobble(sample, 300 + n, 0.02));
  record.images_per_s = record::training_throughput({}, later);
}

void fill_times(record::Record& record) {
  double train_s = 0, validate_s = 0;
  for (const auto& epoch : record.training.epochs) {
    train_s += *epoch.seconds;
    validate_s += *epoch.validate_seconds;
  }
  record.times = {train_s + validate_s + 6.5, 0.8, 3.1, train_s, validate_s, 2.2, {}, {}};
  record.phases_s = {{"read", 0.006 * train_s},  {"forward", 0.31 * train_s},    {"backward", 0.61 * train_s},
                     {"update", 0.05 * train_s}, {"evaluate", validate_s + 2.1}, {"decode", 2.4}};
  record.hidden_s = {{"decode", 0.04 * train_s}, {"augment", 0.02 * train_s}};
}

void fill_use(const SampleRun& sample, record::Record& record) {
  const double busy = 100.0 * sample.threads;
  const double most = sample.model.starts_with("mlp") ? 2.1e8 : 1.74e9;
  measure::SamplerSummary summary;
  summary.cpu.samples = static_cast<std::int64_t>(*record.times.total * 2);
  summary.seconds = *record.times.total;
  summary.cpu.percent = {0.2 * busy, 0.94 * busy, 1.01 * busy};
  summary.cpu.seconds = 0.94 * sample.threads * *record.times.total;
  summary.cpu.core_percent_mean.assign(2, 0.5 * 0.94 * busy);
  summary.cpu.others_percent = {0, 1.3, 9};
  summary.cpu.steal_percent_mean = 0.1;
  summary.memory.rss_bytes = {0.3 * most, 0.9 * most, 0.98 * most};
  summary.memory.pss_bytes = {0.28 * most, 0.86 * most, 0.95 * most};
  summary.memory.peak_rss_bytes = static_cast<std::uint64_t>(most);
  summary.memory.swap_bytes_max = 0;
  summary.memory.ranks = {{0, summary.memory.peak_rss_bytes}};
  summary.cpu.exchanged = summary.cpu.lent = 0;
  summary.energy.reason =
      "no energy counters: /sys/class/powercap has no package domain (usual in virtual machines and containers)";
  measure::take_samples(record, summary);
}

report::Samples sample_samples(const record::Record& record) {
  report::Samples samples;
  const double total = *record.times.total;
  for (int n = 0; n * 0.5 < total; ++n) {
    const double share = n * 0.5 / total;
    samples.time_s.push_back(n * 0.5);
    const double dip = std::fmod(share * 8, 1.0) > 0.9 ? 0.85 : 1;
    Random random(3, Purpose::kSynthetic, static_cast<std::uint64_t>(n));
    samples.cpu_percent.push_back(record.cpu.percent->max * dip * (0.97 + 0.03 * random.uniform()));
    samples.others_percent.push_back(4 * random.uniform());
    const double rss = record.memory.rss_bytes->max * (0.3 + 0.7 * std::min(1.0, share * 20));
    samples.rss_bytes.push_back(rss);
    samples.pss_bytes.push_back(n % 20 == 0 ? std::optional(0.96 * rss) : std::nullopt);
  }
  return samples;
}

}  // namespace

record::Record sample_record(const SampleRun& sample) {
  record::Record record;
  record.started = sample.started;
  record.command = {"evener", "train",          sample.model, "--data", sample.data,
                    "--on",   sample.placement, "--size",     "197x148"};
  record.config = {{"model", "\"" + sample.model + "\""},
                   {"data", "\"" + sample.data + "\""},
                   {"on", "\"" + sample.placement + "\""},
                   {"lr", "0.05"},
                   {"batch", "32"},
                   {"epochs", std::to_string(sample.epochs)},
                   {"split", "[85,5,10]"}};
  record.seeds = {{"seed", 1}};
  record.machine = {"AMD EPYC 9B14",
                    1,
                    2,
                    2,
                    2,
                    {},
                    {},
                    {"avx2", "fma", "avx512f", "avx512_bf16"},
                    8'245'000'000,
                    "Debian GNU/Linux 12 (bookworm)",
                    "Linux 6.1.0-18-amd64 x86_64",
                    {},
                    0.12,
                    "KVM"};
  record.versions = {{"evener", "0.1.0"}, {"torch", "2.11.0"}, {"compiler", "g++ 12.2.0"}, {"build", "optimised"}};
  const bool mlp = sample.model.starts_with("mlp");
  record.model = {sample.model, mlp ? 203'530 : 21'282'889, mlp ? 406'528 : 4'590'000'000,
                  mlp ? 1'017'856 : 13'700'000'000};
  record.data = {sample.data,
                 kTrainImages + kValImages + kTestImages,
                 {"tuna", "cod", "sole", "ray", "eel", "perch", "carp", "hake", "pike"},
                 {1, 148, 197},
                 kTrainImages,
                 kValImages,
                 kTestImages,
                 0};
  record::StageRecord stage;
  stage.device = "cpu";
  stage.threads = sample.threads;
  for (int cpu = 0; cpu < sample.threads; ++cpu) stage.cpus.push_back(cpu);
  record.placement = {sample.placement, {{{stage}, 1.0}}};
  record.engine = "torch";
  record.precision = "fp32";
  record.batch = 32;
  fill_epochs(sample, record);
  fill_times(record);
  fill_use(sample, record);
  record.training.accuracy = {
      record.training.epochs.back().train_accuracy, {}, {}, sample.test_accuracy, "best", {}, {}};
  for (const auto& epoch : record.training.epochs) {
    if (epoch.val_accuracy > record.training.accuracy.val) {
      record.training.accuracy.val = epoch.val_accuracy;
      record.training.accuracy.val_epoch = epoch.epoch;
    }
  }
  record.validity = record::judge(record);
  return record;
}

report::Run sample_run(const std::string& name, const SampleRun& sample) {
  report::Run run;
  run.name = name;
  run.record = sample_record(sample);
  run.samples = sample_samples(run.record);
  return run;
}

void write_sample_run(const std::filesystem::path& dir, const SampleRun& sample) {
  std::filesystem::create_directories(dir);
  const report::Run run = sample_run("", sample);
  record::write_record(dir, run.record);
  std::ofstream csv(dir / "samples.csv");
  csv << "time_s,process_cpu_percent,others_cpu_percent,steal_percent,rss_bytes,pss_bytes,swap_bytes\n";
  for (std::size_t n = 0; n < run.samples.time_s.size(); ++n) {
    csv << run.samples.time_s[n] << ',' << *run.samples.cpu_percent[n] << ',' << *run.samples.others_percent[n] << ",0,"
        << static_cast<std::int64_t>(*run.samples.rss_bytes[n]) << ',';
    if (run.samples.pss_bytes[n]) csv << static_cast<std::int64_t>(*run.samples.pss_bytes[n]);
    csv << ",0\n";
  }
}

}  // namespace evener::test
