#include "record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "record/record_json.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kRecordLimitBytes = std::uint64_t{256} << 20;

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

std::string epochs_csv(const Record& record) {
  std::set<std::string> more;  // figures that any epoch has
  for (const EpochRecord& epoch : record.training.epochs) {
    for (const auto& [name, value] : epoch.figures) more.insert(name);
  }
  std::string text = "epoch,seconds,images_per_s,lr,train_loss,train_accuracy,val_loss,val_accuracy,validate_seconds";
  for (const std::string& name : more) text += "," + name;
  const bool has_energy =
      std::ranges::any_of(record.training.epochs, [](const EpochRecord& epoch) { return epoch.joules.has_value(); });
  text += has_energy ? ",joules\n" : "\n";
  for (const EpochRecord& epoch : record.training.epochs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}", epoch.epoch, cell(epoch.seconds), cell(epoch.images_per_s),
                        cell(epoch.lr), cell(epoch.train_loss), cell(epoch.train_accuracy), cell(epoch.val_loss),
                        cell(epoch.val_accuracy), cell(epoch.validate_seconds));
    for (const std::string& name : more) {
      const auto found = epoch.figures.find(name);
      text += "," + cell(found == epoch.figures.end() ? std::nullopt : std::optional(found->second));
    }
    text += has_energy ? "," + cell(epoch.joules) + "\n" : "\n";
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
  return record::from_json(json, path.string());
}

}  // namespace evener::record
