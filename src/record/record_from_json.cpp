// JSON -> Record. The file may come from another version or another hand: types and ranges are checked.
#include <limits>
#include <string>

#include "record/json_reader.h"
#include "record/record_fields.h"
#include "record/record_json.h"

namespace evener::record {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Reader {
 public:
  explicit Reader(JsonReader json) : json_(std::move(json)) {}

  template <typename T>
  void value(const char* key, T& member) {
    if constexpr (requires(Reader & reader) { describe(reader, member); }) {
      Reader inner(json_.object(key));
      describe(inner, member);
    } else {
      json_.read(key, member);
    }
  }
  void value(const char* key, std::optional<Spread>& member) {
    if (json_.find(key) == nullptr) return;
    Spread spread;
    value(key, spread);
    member = spread;
  }
  template <typename T>
  void value(const char* key, std::vector<T>& members) {
    if constexpr (requires(Reader & reader, T & member) { describe(reader, member); }) {
      json_.each(key, [&](const JsonReader& element) {
        Reader inner(element);
        describe(inner, members.emplace_back());
      });
    } else {
      json_.read(key, members);
    }
  }
  void value(const char* key, std::map<std::string, Metric>& metrics) {
    const JsonReader table = json_.object(key);
    for (const std::string& name : table.keys()) {
      Reader inner(table.object(name.c_str()));
      Metric& metric = metrics[name];
      metric.name = name;
      describe(inner, metric);
    }
  }
  void value(const char* key, Status& member) {
    word(key, member, status_name,
         {Status::kDone, Status::kInterrupted, Status::kDiverged, Status::kFailed, Status::kRunning, Status::kKilled});
  }
  void value(const char* key, Better& member) { word(key, member, better_name, {Better::kHigher, Better::kLower}); }
  void value(const char* key, MetricRole& member) {
    word(key, member, role_name, {MetricRole::kSpeed, MetricRole::kQuality, MetricRole::kCost});
  }
  void value(const char* key, EnergyClass& member) {
    word(key, member, energy_class_name,
         {EnergyClass::kAbsent, EnergyClass::kMeasured, EnergyClass::kDerived, EnergyClass::kEstimated,
          EnergyClass::kMixed});
  }
  void value(const char* key, Covers& member) {
    word(key, member, covers_name, {Covers::kPackage, Covers::kDram, Covers::kGpu, Covers::kMachine});
  }
  void text(const char* key, std::string& member) { json_.read(key, member); }
  void not_negative(const char* key, std::optional<double>& member) { json_.read_within(key, 0, kInfinity, member); }
  void share(const char* key, std::optional<double>& member) { json_.read_within(key, 0, 1, member); }
  void square(const char* key, std::vector<std::vector<std::int64_t>>& rows) {
    json_.read(key, rows);
    for (const auto& row : rows) {
      if (row.size() != rows.size()) json_.fail(key, "expected as many columns as rows");
    }
  }
  void schema(const char* key) {
    std::string schema;
    json_.read(key, schema);
    if (schema == kRecordSchema) return;
    json_.fail(key, std::string("expected \"") + kRecordSchema + "\" (not a record of this program's version)");
  }
  template <typename Members>
  void group(const char* key, Members members) {
    Reader inner(json_.object(key));
    members(inner);
  }
  template <typename T>
  void null_if(bool /*absent*/, const char* key, T& member) {
    value(key, member);
  }
  template <typename T>
  void left_out_if_empty(const char* key, T& member) {
    value(key, member);
  }
  void interval(const char* key, std::optional<Interval>& member) {
    std::vector<double> ends;
    json_.read(key, ends);
    if (ends.size() == 2) {
      member = {ends[0], ends[1]};
    } else if (!ends.empty()) {
      json_.fail(key, "expected two numbers");
    }
  }
  template <typename T>
  void named(const char* key, std::vector<T>& members, double T::*number) {
    std::map<std::string, double> numbers;
    json_.read(key, numbers);
    for (const auto& [name, entry] : numbers) {
      members.emplace_back().name = name;
      members.back().*number = entry;
    }
  }
  void why_absent(const char* key, bool /*present*/, std::string& reason) { json_.read(key, reason); }
  void reason_of(const char* path, std::string& reason) { json_.object("missing").read(path, reason); }
  void config(const char* key, std::map<std::string, std::string>& options) {
    json_.object(key);  // throws if it isn't an object
    if (const nlohmann::json* object = json_.find(key)) options = config_from_json(*object);
  }

 private:
  template <typename Enum>
  void word(const char* key, Enum& member, const char* (*name_of)(Enum), std::initializer_list<Enum> known) {
    std::string word = name_of(member);
    json_.read(key, word);
    std::string expected;
    for (const Enum each : known) {
      if (word == name_of(each)) {
        member = each;
        return;
      }
      expected += (expected.empty() ? "\"" : " or \"") + std::string(name_of(each)) + "\"";
    }
    json_.fail(key, "expected " + expected);
  }

  JsonReader json_;
};

/// A file that gives two figures one name would show one of them under the other's heading.
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

Record from_json(const nlohmann::json& file, const std::string& source) {
  const JsonReader json(file, source);
  Record record;
  Reader reader(json);
  describe(reader, record);
  require_own_names(record, json);
  return record;
}

}  // namespace evener::record
