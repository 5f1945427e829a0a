#include "record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>

#include "base/described.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "record/record_fields.h"
#include "record/record_json.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kRecordLimitBytes = std::uint64_t{256} << 20;

/// A visitor for describe() that collects the cells of one row: a column's name and its text, empty if unknown.
class CsvRow : public PlainVisitor<CsvRow> {
 public:
  struct Column {
    std::string name, cell;
    bool if_known = false;  // shown only if some row has a value
  };

  void value(const char* key, const auto& member) { columns_.push_back({key, cell_of(member)}); }
  /// A map of numbers: each name that any row has becomes a column.
  void value(const char* /*key*/, const std::map<std::string, double>& members) {
    map_at_ = columns_.size();
    for (const auto& [name, number] : members) named_[name] = cell_of(number);
  }
  void column_if_known(const char* key, const auto& member) { columns_.push_back({key, cell_of(member), true}); }
  void outside_tables(auto /*members*/) {}

  /// Inserts the map's columns, one for each of `names`, at the map's place.
  void spread(const std::set<std::string>& names) {
    std::vector<Column> spread;
    for (const std::string& name : names) spread.push_back({name, named_[name]});
    columns_.insert(columns_.begin() + static_cast<std::ptrdiff_t>(map_at_), spread.begin(), spread.end());
  }

  const std::map<std::string, std::string>& named() const { return named_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  /// The shortest text that reads back as the same number.
  static std::string cell_of(double number) { return fmt::format("{}", number); }
  static std::string cell_of(int number) { return std::to_string(number); }
  template <typename T>
  static std::string cell_of(const std::optional<T>& value) {
    return value ? cell_of(*value) : "";
  }

  std::vector<Column> columns_;
  std::map<std::string, std::string> named_;  // cells of the map, by name
  std::size_t map_at_ = 0;                    // index of the column that follows the map
};

/// The header and the rows, each ended by '\n'.
template <typename T>
std::string described_csv(const std::vector<T>& structs) {
  std::vector<CsvRow> rows(structs.size() + 1);  // the last is of a default struct, for the header
  for (std::size_t i = 0; i < structs.size(); ++i) describe(rows[i], structs[i]);
  const T nothing{};
  describe(rows.back(), nothing);
  std::set<std::string> names;
  for (const CsvRow& row : rows) {
    for (const auto& [name, cell] : row.named()) names.insert(name);
  }
  for (CsvRow& row : rows) row.spread(names);
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < rows.back().columns().size(); ++c) {
    const auto is_known = [c](const CsvRow& row) { return !row.columns()[c].cell.empty(); };
    if (!rows.back().columns()[c].if_known || std::any_of(rows.begin(), rows.end(), is_known)) shown.push_back(c);
  }
  const auto line = [&shown](const CsvRow& row, std::string CsvRow::Column::*text) {
    std::string cells;
    for (const std::size_t c : shown) cells += (c == shown.front() ? "" : ",") + row.columns()[c].*text;
    return cells + "\n";
  };
  std::string text = line(rows.back(), &CsvRow::Column::name);
  for (std::size_t i = 0; i < structs.size(); ++i) text += line(rows[i], &CsvRow::Column::cell);
  return text;
}

/// Refuses a file in which two figures have the same name: one would be shown under the other's heading.
void require_own_names(const Record& record, const JsonReader& json) {
  Record without = record;
  without.metrics.clear();
  const std::vector<Metric> others = metrics_of(without);
  for (const auto& [name, metric] : record.metrics) {
    if (find_metric(others, name) != nullptr) {
      json.object("metrics").fail(name.c_str(), "expected a name that no other figure of a record has");
    }
  }
}

}  // namespace

const char* status_name(Status status) {
  return name_in({"done", "interrupted", "diverged", "failed", "running", "killed"}, status);
}

void set_speed(EpochRecord& epoch, std::size_t train_images) {
  const double seconds = epoch.seconds.value_or(0);
  if (seconds > 0 && !epoch.head_only) epoch.images_per_s = epoch.share * static_cast<double>(train_images) / seconds;
}

std::string epochs_csv(const Record& record) {
  return described_csv(record.training.epochs);
}

nlohmann::ordered_json to_json(const Record& record) {
  return described_json(record);
}

Record from_json(const nlohmann::json& file, const std::string& source) {
  const JsonReader json(file, source);
  Record record;
  read_described(file, source, record);
  require_own_names(record, json);
  return record;
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
