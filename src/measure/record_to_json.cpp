// Record -> JSON, in the order of design.md section 7.
#include <cmath>

#include "measure/record.h"

namespace evener::measure {
namespace {

using Json = nlohmann::ordered_json;

/// Null for a missing value; for a number that JSON can't hold (a diverged loss) too.
Json value(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? Json(*number) : Json(nullptr);
}
template <typename T>
Json value(const std::optional<T>& number) {
  return number ? Json(*number) : Json(nullptr);
}
Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
Json spread(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"min", spread->min}, {"mean", spread->mean}, {"max", spread->max}};
}
/// {} rather than null for an empty map.
template <typename T>
Json table(const std::map<std::string, T>& map) {
  Json json = Json::object();
  for (const auto& [key, entry] : map) json[key] = entry;
  return json;
}

Json machine_json(const MachineRecord& machine) {
  return {{"cpu", machine.cpu},
          {"packages", machine.packages},
          {"cores", machine.cores},
          {"logical_cpus", machine.logical_cpus},
          {"online_cpus", machine.online_cpus},
          {"quota_cpus", value(machine.quota_cpus)},
          {"cpu_features", machine.cpu_features},
          {"memory_bytes", machine.memory_bytes},
          {"os", machine.os},
          {"kernel", machine.kernel},
          {"governor", value(machine.governor)},
          {"load_1min", value(machine.load_1min)},
          {"virtualization", value(machine.virtualization)}};
}

Json placement_json(const PlacementRecord& placement) {
  Json replicas = Json::array();
  for (const ReplicaRecord& replica : placement.replicas) {
    Json stages = Json::array();
    for (const StageRecord& stage : replica.stages) {
      stages.push_back({{"device", stage.device},
                        {"threads", value(stage.threads)},
                        {"cpus", stage.cpus},
                        {"emulated_speed", value(stage.emulated_speed)}});
    }
    replicas.push_back({{"stages", stages},
                        {"host", replica.host.empty() ? Json() : Json(replica.host)},
                        {"share", value(replica.share)},
                        {"samples", value(replica.samples)},
                        {"busy_s", value(replica.busy_s)}});
  }
  Json divisions = Json::array();
  for (const DivisionRecord& division : placement.divisions) {
    divisions.push_back({{"step", division.step}, {"samples", division.samples}});
  }
  return {{"text", placement.text}, {"replicas", replicas}, {"divisions", divisions}};
}

Json data_json(const DataRecord& data) {
  return {{"location", data.location},
          {"images", value(data.images)},
          {"classes", data.classes},
          {"shape", data.shape},
          {"split", {{"train", value(data.train)}, {"val", value(data.val)}, {"test", value(data.test)}}},
          {"skipped", data.skipped}};
}

Json validity_json(const Validity& validity) {
  Json reasons = Json::array();
  for (const ValidityReason& reason : validity.reasons) {
    reasons.push_back({{"rule", reason.rule}, {"what", reason.what}, {"advice", reason.advice}});
  }
  return {{"valid", value(validity.valid)}, {"reasons", reasons}};
}

Json epochs_json(const std::vector<EpochRecord>& epochs) {
  Json list = Json::array();
  for (const EpochRecord& epoch : epochs) {
    Json json = {{"epoch", epoch.epoch},
                 {"seconds", value(epoch.seconds)},
                 {"validate_seconds", value(epoch.validate_seconds)},
                 {"images_per_s", value(epoch.images_per_s)},
                 {"lr", value(epoch.lr)},
                 {"train_loss", value(epoch.train_loss)},
                 {"train_accuracy", value(epoch.train_accuracy)},
                 {"val_loss", value(epoch.val_loss)},
                 {"val_accuracy", value(epoch.val_accuracy)}};
    if (!epoch.phases_s.empty()) json["phases_s"] = table(epoch.phases_s);
    list.push_back(std::move(json));
  }
  return list;
}

Json memory_json(const Memory& memory) {
  Json ranks = Json::array();
  for (const RankMemory& rank : memory.ranks) {
    ranks.push_back({{"rank", rank.rank}, {"peak_rss_bytes", value(rank.peak_rss_bytes)}});
  }
  return {{"peak_rss_bytes", value(memory.peak_rss_bytes)},
          {"rss_bytes", spread(memory.rss_bytes)},
          {"pss_bytes", spread(memory.pss_bytes)},
          {"swap_bytes_max", value(memory.swap_bytes_max)},
          {"ranks", ranks}};
}

Json cpu_json(const CpuUse& cpu) {
  return {{"seconds", value(cpu.seconds)},
          {"percent", spread(cpu.percent)},
          {"core_percent_mean", cpu.core_percent_mean},
          {"others_percent", spread(cpu.others_percent)},
          {"steal_percent_mean", value(cpu.steal_percent_mean)},
          {"throttle_events", value(cpu.throttle_events)},
          {"samples", cpu.samples}};
}

Json gpus_json(const std::vector<GpuUse>& gpus) {
  Json list = Json::array();
  for (const GpuUse& gpu : gpus) {
    list.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"utilisation_percent_mean", value(gpu.utilisation_percent_mean)},
                    {"peak_memory_bytes", value(gpu.peak_memory_bytes)},
                    {"joules", value(gpu.joules)},
                    {"step_phases_s", table(gpu.step_phases_s)}});
  }
  return list;
}

Json energy_json(const Energy& energy) {
  Json domains = Json::object();
  for (const Energy::Domain& domain : energy.domains) domains[domain.name] = domain.joules;
  Json json = {{"joules", value(energy.joules)},
               {"edp", value(energy.edp_js)},
               {"seconds", value(energy.seconds)},
               {"source", text_or_null(energy.source)},
               {"domains_joules", domains}};
  if (!energy.joules) json["reason"] = energy.reason.empty() ? "not measured" : energy.reason;
  return json;
}

Json throughput_json(const Throughput& throughput) {
  Json json = {{"over", text_or_null(throughput.over)}, {"interval_95", nullptr}, {"samples", throughput.samples}};
  if (throughput.interval) json["interval_95"] = {throughput.interval->low, throughput.interval->high};
  return json;
}

}  // namespace

nlohmann::ordered_json to_json(const Record& record) {
  Json json;
  json["schema"] = kRecordSchema;
  json["kind"] = record.kind;
  json["status"] = status_name(record.status);
  json["started"] = record.started;
  json["command"] = record.command;
  json["config"] = record.config;
  json["seeds"] = table(record.seeds);
  json["machine"] = machine_json(record.machine);
  json["versions"] = table(record.versions);
  json["model"] = {{"name", record.model.name},
                   {"parameters", value(record.model.parameters)},
                   {"forward_flops", value(record.model.forward_flops)},
                   {"train_flops", value(record.model.train_flops)}};
  json["data"] = data_json(record.data);
  json["placement"] = placement_json(record.placement);
  json["engine"] = record.engine;
  json["precision"] = record.precision;
  json["batch"] = value(record.batch);
  json["fallbacks"] = record.fallbacks;
  json["notes"] = record.notes;
  json["validity"] = validity_json(record.validity);
  json["times_s"] = {{"total", value(record.times.total)},
                     {"init", value(record.times.init)},
                     {"load", value(record.times.load)},
                     {"train", value(record.times.train)},
                     {"validate", value(record.times.validate)},
                     {"test", value(record.times.test)},
                     {"to_accuracy", value(record.times.to_accuracy)},
                     {"first_step", value(record.times.first_step)}};
  json["phases_s"] = table(record.phases_s);
  json["hidden_s"] = table(record.hidden_s);
  json["images_per_s"] = value(record.images_per_s.median);
  json["images_per_s_details"] = throughput_json(record.images_per_s);
  json["epochs"] = epochs_json(record.epochs);
  json["accuracy"] = {{"train", value(record.accuracy.train)},
                      {"val", value(record.accuracy.val)},
                      {"val_epoch", value(record.accuracy.val_epoch)},
                      {"test", value(record.accuracy.test)},
                      {"test_weights", text_or_null(record.accuracy.test_weights)},
                      {"val_loss", value(record.accuracy.val_loss)},
                      {"test_loss", value(record.accuracy.test_loss)}};
  json["confusion"] = nullptr;
  if (!record.confusion.counts.empty()) {
    json["confusion"] = {{"part", record.confusion.part}, {"counts", record.confusion.counts}};
  }
  json["memory"] = memory_json(record.memory);
  json["cpu"] = cpu_json(record.cpu);
  json["gpus"] = gpus_json(record.gpus);
  json["energy"] = energy_json(record.energy);
  json["missing"] = table(record.missing);
  if (!record.images_per_s.reason.empty()) json["missing"]["images_per_s"] = record.images_per_s.reason;
  return json;
}

}  // namespace evener::measure
