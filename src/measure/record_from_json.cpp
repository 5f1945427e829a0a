// JSON -> Record. The file may come from another version or another hand: types and ranges are checked.
#include <limits>
#include <string>

#include "measure/json_reader.h"
#include "measure/record.h"

namespace evener::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void read_seconds(const JsonReader& json, const char* key, std::optional<double>& target) {
  json.read_within(key, 0, kInfinity, target);
}
void read_share(const JsonReader& json, const char* key, std::optional<double>& target) {
  json.read_within(key, 0, 1, target);
}

void read_spread(const JsonReader& json, const char* key, std::optional<Spread>& target) {
  if (json.find(key) == nullptr) return;
  const JsonReader object = json.object(key);
  Spread spread;
  object.read("min", spread.min);
  object.read("mean", spread.mean);
  object.read("max", spread.max);
  target = spread;
}

void read_into(const JsonReader& json, MachineRecord& machine) {
  json.read("cpu", machine.cpu);
  json.read("packages", machine.packages);
  json.read("cores", machine.cores);
  json.read("logical_cpus", machine.logical_cpus);
  json.read("online_cpus", machine.online_cpus);
  json.read("quota_cpus", machine.quota_cpus);
  json.read("cpu_features", machine.cpu_features);
  json.read("memory_bytes", machine.memory_bytes);
  json.read("os", machine.os);
  json.read("kernel", machine.kernel);
  json.read("governor", machine.governor);
  json.read("load_1min", machine.load_1min);
  json.read("virtualization", machine.virtualization);
}

void read_into(const JsonReader& json, ModelRecord& model) {
  json.read("name", model.name);
  json.read("parameters", model.parameters);
  json.read("forward_flops", model.forward_flops);
  json.read("train_flops", model.train_flops);
}

void read_into(const JsonReader& json, DataRecord& data) {
  json.read("location", data.location);
  json.read("images", data.images);
  json.read("classes", data.classes);
  json.read("shape", data.shape);
  json.read("skipped", data.skipped);
  const JsonReader split = json.object("split");
  split.read("train", data.train);
  split.read("val", data.val);
  split.read("test", data.test);
}

void read_into(const JsonReader& json, PlacementRecord& placement) {
  json.read("text", placement.text);
  json.each("replicas", [&](const JsonReader& replica_json) {
    ReplicaRecord replica;
    replica_json.read("host", replica.host);
    read_share(replica_json, "share", replica.share);
    replica_json.read("samples", replica.samples);
    replica_json.read("busy_s", replica.busy_s);
    replica_json.each("stages", [&](const JsonReader& stage_json) {
      StageRecord stage;
      stage_json.read("device", stage.device);
      stage_json.read("threads", stage.threads);
      stage_json.read("cpus", stage.cpus);
      read_share(stage_json, "emulated_speed", stage.emulated_speed);
      replica.stages.push_back(std::move(stage));
    });
    placement.replicas.push_back(std::move(replica));
  });
  json.each("divisions", [&](const JsonReader& division_json) {
    DivisionRecord division;
    division_json.read("step", division.step);
    division_json.read("samples", division.samples);
    placement.divisions.push_back(std::move(division));
  });
}

void read_into(const JsonReader& json, Validity& validity) {
  json.read("valid", validity.valid);
  json.each("reasons", [&](const JsonReader& reason_json) {
    ValidityReason reason;
    reason_json.read("rule", reason.rule);
    reason_json.read("what", reason.what);
    reason_json.read("advice", reason.advice);
    validity.reasons.push_back(std::move(reason));
  });
}

void read_into(const JsonReader& json, Times& times) {
  read_seconds(json, "total", times.total);
  read_seconds(json, "init", times.init);
  read_seconds(json, "load", times.load);
  read_seconds(json, "train", times.train);
  read_seconds(json, "validate", times.validate);
  read_seconds(json, "test", times.test);
  read_seconds(json, "to_accuracy", times.to_accuracy);
  read_seconds(json, "first_step", times.first_step);
}

void read_throughput(const JsonReader& json, Throughput& throughput) {
  json.read_within("images_per_s", 0, kInfinity, throughput.median);
  json.object("missing").read("images_per_s", throughput.reason);
  const JsonReader details = json.object("images_per_s_details");
  details.read("over", throughput.over);
  details.read("samples", throughput.samples);
  std::vector<double> interval;
  details.read("interval_95", interval);
  if (interval.size() == 2) {
    throughput.interval = {interval[0], interval[1]};
  } else if (!interval.empty()) {
    details.fail("interval_95", "expected two numbers");
  }
}

EpochRecord read_epoch(const JsonReader& json) {
  EpochRecord epoch;
  json.read("epoch", epoch.epoch);
  read_seconds(json, "seconds", epoch.seconds);
  read_seconds(json, "validate_seconds", epoch.validate_seconds);
  json.read_within("images_per_s", 0, kInfinity, epoch.images_per_s);
  json.read("lr", epoch.lr);
  json.read("train_loss", epoch.train_loss);
  read_share(json, "train_accuracy", epoch.train_accuracy);
  json.read("val_loss", epoch.val_loss);
  read_share(json, "val_accuracy", epoch.val_accuracy);
  json.read("phases_s", epoch.phases_s);
  return epoch;
}

void read_into(const JsonReader& json, ConfusionRecord& confusion) {
  json.read("part", confusion.part);
  json.read("counts", confusion.counts);
  for (const auto& row : confusion.counts) {
    if (row.size() != confusion.counts.size()) json.fail("counts", "expected as many columns as rows");
  }
}

void read_into(const JsonReader& json, Accuracy& accuracy) {
  read_share(json, "train", accuracy.train);
  read_share(json, "val", accuracy.val);
  json.read("val_epoch", accuracy.val_epoch);
  read_share(json, "test", accuracy.test);
  json.read("test_weights", accuracy.test_weights);
  json.read_within("val_loss", 0, kInfinity, accuracy.val_loss);
  json.read_within("test_loss", 0, kInfinity, accuracy.test_loss);
}

void read_into(const JsonReader& json, Memory& memory) {
  json.read("peak_rss_bytes", memory.peak_rss_bytes);
  read_spread(json, "rss_bytes", memory.rss_bytes);
  read_spread(json, "pss_bytes", memory.pss_bytes);
  json.read("swap_bytes_max", memory.swap_bytes_max);
  json.each("ranks", [&](const JsonReader& rank_json) {
    RankMemory rank;
    rank_json.read("rank", rank.rank);
    rank_json.read("peak_rss_bytes", rank.peak_rss_bytes);
    memory.ranks.push_back(rank);
  });
}

void read_into(const JsonReader& json, CpuUse& cpu) {
  read_seconds(json, "seconds", cpu.seconds);
  read_spread(json, "percent", cpu.percent);
  json.read("core_percent_mean", cpu.core_percent_mean);
  read_spread(json, "others_percent", cpu.others_percent);
  json.read("steal_percent_mean", cpu.steal_percent_mean);
  json.read("throttle_events", cpu.throttle_events);
  json.read("samples", cpu.samples);
}

GpuUse read_gpu(const JsonReader& json) {
  GpuUse gpu;
  json.read("index", gpu.index);
  json.read("name", gpu.name);
  json.read("utilisation_percent_mean", gpu.utilisation_percent_mean);
  json.read("peak_memory_bytes", gpu.peak_memory_bytes);
  json.read_within("joules", 0, kInfinity, gpu.joules);
  json.read("step_phases_s", gpu.step_phases_s);
  return gpu;
}

void read_into(const JsonReader& json, Energy& energy) {
  json.read_within("joules", 0, kInfinity, energy.joules);
  json.read_within("edp", 0, kInfinity, energy.edp_js);
  read_seconds(json, "seconds", energy.seconds);
  json.read("source", energy.source);
  json.read("reason", energy.reason);
  std::map<std::string, double> domains;
  json.read("domains_joules", domains);
  for (const auto& [name, joules] : domains) energy.domains.push_back({name, joules});
}

void read_status(const JsonReader& json, Status& target) {
  std::string status = status_name(target);
  json.read("status", status);
  for (const Status known : {Status::kDone, Status::kInterrupted, Status::kDiverged}) {
    if (status == status_name(known)) {
      target = known;
      return;
    }
  }
  json.fail("status", "expected \"done\", \"interrupted\" or \"diverged\"");
}

void check_schema(const JsonReader& json) {
  std::string schema;
  json.read("schema", schema);
  if (schema != kRecordSchema) {
    json.fail("schema", std::string("expected \"") + kRecordSchema + "\" (not a record of this program's version)");
  }
}

}  // namespace

Record from_json(const nlohmann::json& file, const std::string& source) {
  const JsonReader json(file, source);
  check_schema(json);
  Record record;
  json.read("kind", record.kind);
  read_status(json, record.status);
  json.read("started", record.started);
  json.read("command", record.command);
  json.object("config");  // throws if it isn't an object
  if (const nlohmann::json* config = json.find("config")) record.config = *config;
  json.read("seeds", record.seeds);
  read_into(json.object("machine"), record.machine);
  json.read("versions", record.versions);
  read_into(json.object("model"), record.model);
  read_into(json.object("data"), record.data);
  read_into(json.object("placement"), record.placement);
  json.read("engine", record.engine);
  json.read("precision", record.precision);
  json.read("batch", record.batch);
  json.read("fallbacks", record.fallbacks);
  json.read("notes", record.notes);
  read_into(json.object("validity"), record.validity);
  read_into(json.object("times_s"), record.times);
  json.read("phases_s", record.phases_s);
  json.read("hidden_s", record.hidden_s);
  read_throughput(json, record.images_per_s);
  json.each("epochs", [&](const JsonReader& epoch) { record.epochs.push_back(read_epoch(epoch)); });
  read_into(json.object("accuracy"), record.accuracy);
  read_into(json.object("confusion"), record.confusion);
  read_into(json.object("memory"), record.memory);
  read_into(json.object("cpu"), record.cpu);
  json.each("gpus", [&](const JsonReader& gpu) { record.gpus.push_back(read_gpu(gpu)); });
  read_into(json.object("energy"), record.energy);
  json.read("missing", record.missing);
  return record;
}

}  // namespace evener::measure
