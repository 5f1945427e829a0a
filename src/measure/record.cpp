#include "measure/record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "measure/record_json.h"
#include "measure/record_kind.h"

namespace evener::measure {
namespace {

constexpr std::uint64_t kRecordLimitBytes = std::uint64_t{256} << 20;

/// What only the sampler knows.
constexpr const char* kSampled[] = {"cpu.seconds", "cpu.percent", "memory.peak_rss_bytes", "memory.pss_bytes"};

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

const char* status_name(Status status) {
  switch (status) {
    case Status::kDone:
      return "done";
    case Status::kInterrupted:
      return "interrupted";
    case Status::kDiverged:
      return "diverged";
    case Status::kFailed:
      return "failed";
    case Status::kRunning:
      return "running";
    case Status::kKilled:
      break;
  }
  return "killed";
}

void leave_samples_out(Record& record) {
  for (const char* path : kSampled) record.missing[path] = "the run has not ended";
  record.energy.reason = "the run has not ended";
}

void take_samples(Record& record, const SamplerSummary& summary) {
  for (const char* path : kSampled) record.missing.erase(path);
  record.memory.peak_rss_bytes = summary.peak_rss_bytes;
  record.memory.rss_bytes = summary.rss_bytes;
  record.memory.pss_bytes = summary.pss_bytes;
  record.memory.swap_bytes_max = summary.swap_bytes_max;
  if (summary.child_peak_rss_bytes.empty()) record.memory.ranks = {{0, summary.peak_rss_bytes}};
  for (const std::uint64_t peak : summary.child_peak_rss_bytes) {
    record.memory.ranks.push_back({static_cast<int>(record.memory.ranks.size()), peak});
  }
  if (!record.sessions.empty()) record.sessions.back().cpu_seconds = summary.process_cpu_s;
  record.cpu.seconds = summary.process_cpu_s;
  record.cpu.percent = summary.process_percent;
  record.cpu.core_percent_mean = summary.core_percent_mean;
  record.cpu.others_percent = summary.others_percent;
  record.cpu.steal_percent_mean = summary.steal_percent_mean;
  record.cpu.throttle_events = summary.throttle_events;
  record.cpu.samples = summary.samples;
  record.energy = summary.energy;
  if (!summary.peak_rss_bytes) record.missing["memory.peak_rss_bytes"] = "/proc/self/status could not be read";
  if (!summary.pss_bytes) record.missing["memory.pss_bytes"] = "/proc/self/smaps_rollup could not be read";
  if (!summary.process_percent) {
    record.missing["cpu.percent"] = "the run was shorter than two samples, or /proc could not be read";
  }
  if (!summary.throttle_events) {
    record.missing["cpu.throttle_events"] = "this kernel doesn't count thermal throttling (usual in virtual machines)";
  }
  if (record.gpus.empty()) {
    record.missing["gpus"] = "no GPU was used";
  } else {
    record.missing["gpus.utilisation_percent_mean"] = record.missing["gpus.joules"] =
        "this version reads no sensors of GPUs";
  }
  if (!summary.error.empty()) record.notes.push_back("samples.csv ends early: " + summary.error);
}

std::string epochs_csv(const Record& record) {
  std::set<std::string> more;  // figures that any epoch has
  for (const EpochRecord& epoch : record.training.epochs) {
    for (const auto& [name, value] : epoch.figures) more.insert(name);
  }
  std::string text = "epoch,seconds,images_per_s,lr,train_loss,train_accuracy,val_loss,val_accuracy,validate_seconds";
  for (const std::string& name : more) text += "," + name;
  text += "\n";
  for (const EpochRecord& epoch : record.training.epochs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}", epoch.epoch, cell(epoch.seconds), cell(epoch.images_per_s),
                        cell(epoch.lr), cell(epoch.train_loss), cell(epoch.train_accuracy), cell(epoch.val_loss),
                        cell(epoch.val_accuracy), cell(epoch.validate_seconds));
    for (const std::string& name : more) {
      const auto found = epoch.figures.find(name);
      text += "," + cell(found == epoch.figures.end() ? std::nullopt : std::optional(found->second));
    }
    text += "\n";
  }
  return text;
}

void write_record(const std::filesystem::path& dir, const Record& record) {
  // Names of files may not be UTF-8: shown with a replacement character rather than failing at the very end.
  write_file_atomically(dir / "record.json",
                        to_json(record).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (record.kind == kTrainingKind.name) write_file_atomically(dir / "epochs.csv", epochs_csv(record));
}

Record read_record(const std::filesystem::path& dir) {
  const auto require_readable = [](const std::filesystem::path& path, const std::error_code& error) {
    if (!error || error == std::errc::no_such_file_or_directory) return;
    throw Error(fmt::format("can't look into {}: {}", path.string(), error.message()));
  };
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(dir, error);
  require_readable(dir, error);
  if (!is_folder) {
    throw Error(fmt::format("{} is not a folder; a run folder is what was given to --out", dir.string()));
  }
  const std::filesystem::path path = dir / "record.json";
  const bool exists = std::filesystem::exists(path, error);
  require_readable(path, error);
  if (!exists) {
    throw Error(fmt::format("{} has no record.json: not a run folder, or the run has not done its first step yet",
                            dir.string()));
  }
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(read_file(path, kRecordLimitBytes));
  } catch (const nlohmann::json::exception& problem) {
    throw Error(fmt::format("{} is not JSON: {}", path.string(), problem.what()));
  }
  return from_json(json, path.string());
}

}  // namespace evener::measure
