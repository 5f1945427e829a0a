// describe() for the structs of a record: the keys of record.json and of other files about runs, each in one place
// (base/described.h).
#pragma once

#include "base/described.h"
#include "record/described_json.h"
#include "record/energy.h"
#include "record/record.h"

namespace evener::record {

inline Words<EnergyClass> words_of(EnergyClass) {
  return {energy_class_name, EnergyClass::kMixed};
}
inline Words<Covers> words_of(Covers) {
  return {covers_name, Covers::kMachine};
}

inline Words<Agreement> words_of(Agreement) {
  return {agreement_name, Agreement::kDisagree};
}
inline Words<MeterFault> words_of(MeterFault) {
  return {meter_fault_name, MeterFault::kJump};
}

void describe(auto& fields, Of<Interval> auto& interval) {
  fields.values("low", interval.low, "high", interval.high);
}

void describe(auto& fields, Of<DeviceEnergy> auto& device) {
  fields.value("name", device.name);
  fields.text("sensor", device.sensor);
  fields.values("covers", device.covers, "class", device.kind, "added", device.added, "used", device.used);
  fields.all_not_negative("joules", device.joules, "uncertainty_joules", device.uncertainty_joules, "mean_watts",
                          device.mean_watts, "peak_watts", device.peak_watts, "idle_watts", device.idle_watts);
  fields.value("net_joules", device.net_joules);
  fields.left_out_if(!device.update_period_s, "update_period_s", device.update_period_s);
  fields.text("note", device.note);
  fields.text("reason", device.reason);
  fields.text("host", device.host);
  fields.text("uuid", device.uuid);
}

void describe(auto& fields, Of<MeterCheck> auto& check) {
  fields.values("first", check.first, "second", check.second, "nested", check.nested);
  fields.not_negative("ratio", check.ratio);
  fields.interval("ratio_interval_95", check.interval);
  fields.values("windows", check.windows, "window_s", check.window_s, "offset_watts", check.offset_watts, "lag_s",
                check.lag_s, "agreement", check.agreement, "fault", check.fault);
  fields.text("reason", check.reason);
}

void describe(auto& fields, Of<IdleEnergy> auto& idle) {
  fields.not_negative("watts", idle.watts);
  fields.interval("watts_interval_95", idle.interval);
  fields.value("seconds", idle.seconds);
}

/// For messages; in record.json the names are the keys of an object.
void describe(auto& fields, Of<Energy::Domain> auto& domain) {
  fields.values("name", domain.name, "joules", domain.joules);
}

void describe(auto& fields, Of<PhaseEnergy> auto& phase) {
  fields.values("phase", phase.phase, "joules", phase.joules, "seconds", phase.seconds, "class", phase.kind,
                "marks_below_ten_counter_steps", phase.short_marks);
}

void describe(auto& fields, Of<Energy> auto& energy) {
  fields.all_not_negative("joules", energy.joules, "uncertainty_joules", energy.uncertainty_joules);
  fields.value("class", energy.kind);
  fields.all_not_negative("edp", energy.edp_js, "ed2p", energy.ed2p_js2, "seconds", energy.seconds);
  fields.text("source", energy.source);
  fields.named("domains_joules", energy.domains, &Energy::Domain::joules);
  fields.value("joules_by_class", energy.by_class);
  fields.all_not_negative("used_devices_joules", energy.used_joules, "used_devices_edp", energy.used_edp_js);
  fields.text("used_devices_reason", energy.used_reason);
  fields.values("idle", energy.idle, "net_joules", energy.net_joules);
  fields.interval("net_interval_95", energy.net_interval);
  fields.text("net_reason", energy.net_reason);
  fields.not_negative("process_joules", energy.process_joules);
  fields.text("process_reason", energy.process_reason);
  fields.values("devices", energy.devices, "phases", energy.phases);
  fields.text("phases_reason", energy.phases_reason);
  fields.left_out_if_empty("checks", energy.checks);
  fields.value("lost", energy.lost);
  // Older records, and those without energy, say nothing of the work alone.
  fields.left_out_if(!energy.work_joules && energy.work_reason.empty(), "work_joules", energy.work_joules);
  fields.left_out_if(!energy.work_seconds, "work_seconds", energy.work_seconds);
  fields.left_out_if_empty("work_reason", energy.work_reason);
  fields.left_out_if_empty("lacks", energy.lacks);
  fields.why_absent("reason", energy.joules.has_value(), energy.reason);
}

inline Words<Status> words_of(Status) {
  return {status_name, Status::kKilled};
}
inline Words<Better> words_of(Better) {
  return {better_name, Better::kLower};
}
inline Words<MetricRole> words_of(MetricRole) {
  return {role_name, MetricRole::kCost};
}
void describe(auto& fields, Of<Spread> auto& spread) {
  fields.values("min", spread.min, "mean", spread.mean, "max", spread.max);
}

void describe(auto& fields, Of<MachineRecord> auto& machine) {
  fields.values("cpu", machine.cpu, "packages", machine.packages, "cores", machine.cores, "logical_cpus",
                machine.logical_cpus, "online_cpus", machine.online_cpus, "quota_cpus", machine.quota_cpus, "cpu_kinds",
                machine.cpu_kinds, "cpu_features", machine.cpu_features, "memory_bytes", machine.memory_bytes, "os",
                machine.os, "kernel", machine.kernel, "governor", machine.governor, "load_1min", machine.load_1min,
                "virtualization", machine.virtualization);
}

void describe(auto& fields, Of<StageRecord> auto& stage) {
  fields.values("device", stage.device, "threads", stage.threads, "cpus", stage.cpus);
  fields.share("emulated_speed", stage.emulated_speed);
  fields.values("predicted_memory_bytes", stage.predicted_memory_bytes, "memory_bytes", stage.memory_bytes);
  fields.share("busy_share", stage.busy_share);
  fields.text("uuid", stage.uuid);
}

void describe(auto& fields, Of<ReplicaRecord> auto& replica) {
  fields.value("stages", replica.stages);
  fields.text("host", replica.host);
  fields.share("share", replica.share);
  fields.values("samples", replica.samples, "busy_s", replica.busy_s);
}

void describe(auto& fields, Of<DivisionRecord> auto& division) {
  fields.values("step", division.step, "samples", division.samples);
}

void describe(auto& fields, Of<PlacementRecord> auto& placement) {
  fields.values("text", placement.text, "replicas", placement.replicas, "divisions", placement.divisions);
}

void describe(auto& fields, Of<ModelRecord> auto& model) {
  fields.values("name", model.name, "parameters", model.parameters, "forward_flops", model.forward_flops, "train_flops",
                model.train_flops);
}

void describe(auto& fields, Of<DataRecord> auto& data) {
  fields.values("location", data.location, "images", data.images, "classes", data.classes, "shape", data.shape);
  fields.group("split", [&](auto& split) { split.values("train", data.train, "val", data.val, "test", data.test); });
  fields.value("skipped", data.skipped);
}

void describe(auto& fields, Of<ValidityReason> auto& reason) {
  fields.values("rule", reason.rule, "what", reason.what, "advice", reason.advice);
}

void describe(auto& fields, Of<Validity> auto& validity) {
  fields.values("valid", validity.valid, "reasons", validity.reasons);
}

void describe(auto& fields, Of<Times> auto& times) {
  fields.all_not_negative("total", times.total, "init", times.init, "load", times.load, "train", times.train,
                          "validate", times.validate, "test", times.test, "checkpoint", times.checkpoint, "to_accuracy",
                          times.to_accuracy, "first_step", times.first_step);
}

/// Also used for the epochs in a checkpoint and the rows of epochs.csv.
void describe(auto& fields, Of<EpochRecord> auto& epoch) {
  fields.value("epoch", epoch.epoch);
  fields.all_not_negative("seconds", epoch.seconds, "images_per_s", epoch.images_per_s);
  fields.values("lr", epoch.lr, "train_loss", epoch.train_loss);
  fields.share("train_accuracy", epoch.train_accuracy);
  fields.value("val_loss", epoch.val_loss);
  fields.share("val_accuracy", epoch.val_accuracy);
  fields.not_negative("validate_seconds", epoch.validate_seconds);
  fields.left_out_if_empty("figures", epoch.figures);
  fields.column_if_known("joules", epoch.joules);
  fields.outside_tables([&](auto& more) {
    more.left_out_if(!epoch.best, "best", epoch.best);
    more.left_out_if(!epoch.head_only, "head_only", epoch.head_only);
    more.left_out_if(epoch.share == 1, "share", epoch.share);
    more.left_out_if_empty("phases_s", epoch.phases_s);
    more.all_not_negative("from_s", epoch.from_s, "to_s", epoch.to_s);
  });
  fields.check("epoch", epoch.epoch >= 0, "expected a number that isn't negative");
}

void describe(auto& fields, Of<Accuracy> auto& accuracy) {
  fields.share("train", accuracy.train);
  fields.share("val", accuracy.val);
  fields.value("val_epoch", accuracy.val_epoch);
  fields.share("test", accuracy.test);
  fields.text("test_weights", accuracy.test_weights);
  fields.all_not_negative("val_loss", accuracy.val_loss, "test_loss", accuracy.test_loss);
}

void describe(auto& fields, Of<ConfusionRecord> auto& confusion) {
  fields.value("part", confusion.part);
  fields.square("counts", confusion.counts);
}

void describe(auto& fields, Of<TrainingRecord> auto& training) {
  fields.values("epochs", training.epochs, "accuracy", training.accuracy);
}

void describe(auto& fields, Of<RateTrial> auto& trial) {
  fields.values("queries_per_s", trial.rate, "queries", trial.queries);
  fields.all_not_negative("seconds", trial.seconds, "latency_s", trial.latency_s, "latency_p50_s", trial.latency_p50_s);
  fields.value("held", trial.held);
}

void describe(auto& fields, Of<ScenarioRecord> auto& scenario) {
  fields.value("name", scenario.name);
  fields.share("percentile", scenario.percentile);
  fields.all_not_negative("latency_limit_s", scenario.latency_limit_s, "seconds", scenario.seconds);
  fields.values("queries", scenario.queries, "samples", scenario.samples, "late", scenario.late, "discarded",
                scenario.discarded, "lanes", scenario.lanes, "largest_batch", scenario.largest_batch,
                "samples_per_query", scenario.samples_per_query, "parts_s", scenario.parts_s, "rates", scenario.rates);
}

void describe(auto& fields, Of<LayerRecord> auto& layer) {
  fields.text("name", layer.name);
  fields.text("what", layer.what);
  fields.value("joined", layer.joined);
  fields.all_not_negative("forward_s", layer.forward_s, "backward_s", layer.backward_s);
  fields.values("flops", layer.flops, "bytes", layer.bytes);
  fields.not_negative("roofline", layer.roofline);
}

/// The metric's name isn't a member here: it is the key of the object.
void describe(auto& fields, Of<Metric> auto& metric) {
  fields.values("value", metric.value, "unit", metric.unit, "better", metric.better, "role", metric.role);
  fields.text("title", metric.title);
  fields.value("label", metric.label);
  fields.interval("interval_95", metric.interval);
  fields.value("samples", metric.samples);
  fields.text("over", metric.over);
  fields.value("of_images", metric.of_images);
  fields.text("stands_in_for", metric.stands_in_for);
  fields.text("reason", metric.reason);
}

void describe(auto& fields, Of<RankMemory> auto& rank) {
  fields.values("rank", rank.rank, "peak_rss_bytes", rank.peak_rss_bytes);
}

void describe(auto& fields, Of<Memory> auto& memory) {
  fields.values("peak_rss_bytes", memory.peak_rss_bytes, "rss_bytes", memory.rss_bytes, "pss_bytes", memory.pss_bytes,
                "swap_bytes_max", memory.swap_bytes_max, "ranks", memory.ranks);
}

void describe(auto& fields, Of<CpuUse> auto& cpu) {
  fields.not_negative("seconds", cpu.seconds);
  fields.values("percent", cpu.percent, "core_percent_mean", cpu.core_percent_mean, "others_percent",
                cpu.others_percent, "steal_percent_mean", cpu.steal_percent_mean, "throttle_events",
                cpu.throttle_events);
  fields.left_out_if(!cpu.exchanged, "exchanged", cpu.exchanged);
  fields.left_out_if(!cpu.lent, "lent", cpu.lent);
  fields.value("samples", cpu.samples);
}

void describe(auto& fields, Of<GpuUse> auto& gpu) {
  fields.values("index", gpu.index, "name", gpu.name, "utilisation_percent_mean", gpu.utilisation_percent_mean,
                "peak_memory_bytes", gpu.peak_memory_bytes);
  fields.not_negative("joules", gpu.joules);
  fields.value("step_phases_s", gpu.step_phases_s);
  fields.share("throttled_share", gpu.throttled_share);
  fields.text("throttle_reasons", gpu.throttle_reasons);
  fields.values("temperature_c", gpu.temperature_c, "clock_mhz", gpu.clock_mhz);
  fields.text("uuid", gpu.uuid);
}

void describe(auto& fields, Of<SessionRecord> auto& session) {
  fields.values("started", session.started, "command", session.command, "status", session.status);
  fields.text("placement", session.placement);
  fields.value("replicas", session.replicas);
  fields.text("engine", session.engine);
  fields.text("cpu", session.cpu);
  fields.all_not_negative("seconds", session.seconds, "cpu_seconds", session.cpu_seconds);
  fields.values("epochs", session.epochs, "images", session.images);
}

void describe(auto& fields, Of<Record> auto& record) {
  fields.schema("schema", kRecordSchema);
  fields.values("kind", record.kind, "status", record.status, "started", record.started, "command", record.command,
                "sessions", record.sessions);
  fields.config("config", record.config);
  fields.values("options", record.options, "seeds", record.seeds, "machine", record.machine, "versions",
                record.versions, "model", record.model, "data", record.data, "placement", record.placement, "engine",
                record.engine, "precision", record.precision, "batch", record.batch, "fallbacks", record.fallbacks,
                "notes", record.notes);
  fields.left_out_if_empty("warnings", record.warnings);
  fields.values("validity", record.validity, "times_s", record.times, "phases_s", record.phases_s, "hidden_s",
                record.hidden_s);
  fields.not_negative("images_per_s", record.images_per_s.median);
  fields.group("images_per_s_details", [&](auto& details) {
    details.text("over", record.images_per_s.over);
    details.interval("interval_95", record.images_per_s.interval);
    details.value("samples", record.images_per_s.samples);
  });
  if (record.kind == "train") {
    describe(fields, record.training);  // its keys are those of the record itself
    fields.null_if(record.confusion.empty(), "confusion", record.confusion);
  } else {
    fields.left_out_if_empty("confusion", record.confusion);
  }
  fields.left_out_if_empty("scenario", record.scenario);
  fields.left_out_if_empty("layers", record.layers);
  fields.by_name("metrics", record.metrics);
  fields.values("memory", record.memory, "cpu", record.cpu, "gpus", record.gpus, "energy", record.energy);
  fields.left_out_if_empty("host_energies", record.host_energies);
  fields.value("missing", record.missing);
  fields.reason_of("images_per_s", record.images_per_s.reason);
}

}  // namespace evener::record
