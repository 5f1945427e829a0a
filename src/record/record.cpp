#include "record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "record/described_csv.h"
#include "record/record_fields.h"
#include "record/record_json.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kRecordLimitBytes = std::uint64_t{256} << 20;

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

void set_speed(EpochRecord& epoch, std::size_t train_images) {
  const double seconds = epoch.seconds.value_or(0);
  if (seconds > 0 && !epoch.head_only) epoch.images_per_s = epoch.share * static_cast<double>(train_images) / seconds;
}

std::string CsvRow::cell_of(double number) {
  return fmt::format("{}", number);
}

std::string epochs_csv(const Record& record) {
  return described_csv(record.training.epochs);
}

void write_record(const std::filesystem::path& dir, const Record& record) {
  // Names of files may not be UTF-8: a replacement character is better than an exception that loses the record.
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
