// describe() for the structs of a record: the keys of record.json and of other files about runs, each in one place
// (base/described.h).
#pragma once

#include "base/described.h"
#include "record/described_json.h"
#include "record/energy.h"
#include "record/record.h"

namespace evener::record {

inline Words<EnergyClass> words_of(EnergyClass) {
  return {energy_class_name,
          {EnergyClass::kAbsent, EnergyClass::kMeasured, EnergyClass::kDerived, EnergyClass::kEstimated,
           EnergyClass::kMixed}};
}
inline Words<Covers> words_of(Covers) {
  return {covers_name, {Covers::kPackage, Covers::kDram, Covers::kGpu, Covers::kMachine}};
}

inline Words<Agreement> words_of(Agreement) {
  return {agreement_name, {Agreement::kUndecided, Agreement::kAgree, Agreement::kDisagree}};
}
inline Words<MeterFault> words_of(MeterFault) {
  return {meter_fault_name,
          {MeterFault::kNone, MeterFault::kGain, MeterFault::kOffset, MeterFault::kLag, MeterFault::kStop,
           MeterFault::kJump}};
}

template <typename Fields>
void describe(Fields& fields, Of<Interval> auto& interval) {
  fields.value("low", interval.low);
  fields.value("high", interval.high);
}

template <typename Fields>
void describe(Fields& fields, Of<DeviceEnergy> auto& device) {
  fields.value("name", device.name);
  fields.text("sensor", device.sensor);
  fields.value("covers", device.covers);
  fields.value("class", device.kind);
  fields.value("added", device.added);
  fields.value("used", device.used);
  fields.not_negative("joules", device.joules);
  fields.not_negative("uncertainty_joules", device.uncertainty_joules);
  fields.not_negative("mean_watts", device.mean_watts);
  fields.not_negative("peak_watts", device.peak_watts);
  fields.not_negative("idle_watts", device.idle_watts);
  fields.value("net_joules", device.net_joules);
  fields.left_out_if(!device.update_period_s, "update_period_s", device.update_period_s);
  fields.text("note", device.note);
  fields.text("reason", device.reason);
  fields.text("host", device.host);
  fields.text("uuid", device.uuid);
}

template <typename Fields>
void describe(Fields& fields, Of<MeterCheck> auto& check) {
  fields.value("first", check.first);
  fields.value("second", check.second);
  fields.value("nested", check.nested);
  fields.not_negative("ratio", check.ratio);
  fields.interval("ratio_interval_95", check.interval);
  fields.value("windows", check.windows);
  fields.value("window_s", check.window_s);
  fields.value("offset_watts", check.offset_watts);
  fields.value("lag_s", check.lag_s);
  fields.value("agreement", check.agreement);
  fields.value("fault", check.fault);
  fields.text("reason", check.reason);
}

template <typename Fields>
void describe(Fields& fields, Of<IdleEnergy> auto& idle) {
  fields.not_negative("watts", idle.watts);
  fields.interval("watts_interval_95", idle.interval);
  fields.value("seconds", idle.seconds);
}

/// For messages; in record.json the names are the keys of an object.
template <typename Fields>
void describe(Fields& fields, Of<Energy::Domain> auto& domain) {
  fields.value("name", domain.name);
  fields.value("joules", domain.joules);
}

template <typename Fields>
void describe(Fields& fields, Of<PhaseEnergy> auto& phase) {
  fields.value("phase", phase.phase);
  fields.value("joules", phase.joules);
  fields.value("seconds", phase.seconds);
  fields.value("class", phase.kind);
  fields.value("marks_below_ten_counter_steps", phase.short_marks);
}

template <typename Fields>
void describe(Fields& fields, Of<Energy> auto& energy) {
  fields.not_negative("joules", energy.joules);
  fields.not_negative("uncertainty_joules", energy.uncertainty_joules);
  fields.value("class", energy.kind);
  fields.not_negative("edp", energy.edp_js);
  fields.not_negative("ed2p", energy.ed2p_js2);
  fields.not_negative("seconds", energy.seconds);
  fields.text("source", energy.source);
  fields.named("domains_joules", energy.domains, &Energy::Domain::joules);
  fields.value("joules_by_class", energy.by_class);
  fields.not_negative("used_devices_joules", energy.used_joules);
  fields.not_negative("used_devices_edp", energy.used_edp_js);
  fields.text("used_devices_reason", energy.used_reason);
  fields.value("idle", energy.idle);
  fields.value("net_joules", energy.net_joules);
  fields.interval("net_interval_95", energy.net_interval);
  fields.text("net_reason", energy.net_reason);
  fields.not_negative("process_joules", energy.process_joules);
  fields.text("process_reason", energy.process_reason);
  fields.value("devices", energy.devices);
  fields.value("phases", energy.phases);
  fields.text("phases_reason", energy.phases_reason);
  fields.left_out_if_empty("checks", energy.checks);
  fields.value("lost", energy.lost);
  fields.why_absent("reason", energy.joules.has_value(), energy.reason);
}

inline Words<Status> words_of(Status) {
  return {status_name,
          {Status::kDone, Status::kInterrupted, Status::kDiverged, Status::kFailed, Status::kRunning, Status::kKilled}};
}
inline Words<Better> words_of(Better) {
  return {better_name, {Better::kHigher, Better::kLower}};
}
inline Words<MetricRole> words_of(MetricRole) {
  return {role_name, {MetricRole::kSpeed, MetricRole::kQuality, MetricRole::kCost}};
}
template <typename Fields>
void describe(Fields& fields, Of<Spread> auto& spread) {
  fields.value("min", spread.min);
  fields.value("mean", spread.mean);
  fields.value("max", spread.max);
}

template <typename Fields>
void describe(Fields& fields, Of<MachineRecord> auto& machine) {
  fields.value("cpu", machine.cpu);
  fields.value("packages", machine.packages);
  fields.value("cores", machine.cores);
  fields.value("logical_cpus", machine.logical_cpus);
  fields.value("online_cpus", machine.online_cpus);
  fields.value("quota_cpus", machine.quota_cpus);
  fields.value("cpu_kinds", machine.cpu_kinds);
  fields.value("cpu_features", machine.cpu_features);
  fields.value("memory_bytes", machine.memory_bytes);
  fields.value("os", machine.os);
  fields.value("kernel", machine.kernel);
  fields.value("governor", machine.governor);
  fields.value("load_1min", machine.load_1min);
  fields.value("virtualization", machine.virtualization);
}

template <typename Fields>
void describe(Fields& fields, Of<StageRecord> auto& stage) {
  fields.value("device", stage.device);
  fields.value("threads", stage.threads);
  fields.value("cpus", stage.cpus);
  fields.share("emulated_speed", stage.emulated_speed);
  fields.value("predicted_memory_bytes", stage.predicted_memory_bytes);
  fields.value("memory_bytes", stage.memory_bytes);
  fields.share("busy_share", stage.busy_share);
  fields.text("uuid", stage.uuid);
}

template <typename Fields>
void describe(Fields& fields, Of<ReplicaRecord> auto& replica) {
  fields.value("stages", replica.stages);
  fields.text("host", replica.host);
  fields.share("share", replica.share);
  fields.value("samples", replica.samples);
  fields.value("busy_s", replica.busy_s);
}

template <typename Fields>
void describe(Fields& fields, Of<DivisionRecord> auto& division) {
  fields.value("step", division.step);
  fields.value("samples", division.samples);
}

template <typename Fields>
void describe(Fields& fields, Of<PlacementRecord> auto& placement) {
  fields.value("text", placement.text);
  fields.value("replicas", placement.replicas);
  fields.value("divisions", placement.divisions);
}

template <typename Fields>
void describe(Fields& fields, Of<ModelRecord> auto& model) {
  fields.value("name", model.name);
  fields.value("parameters", model.parameters);
  fields.value("forward_flops", model.forward_flops);
  fields.value("train_flops", model.train_flops);
}

template <typename Fields>
void describe(Fields& fields, Of<DataRecord> auto& data) {
  fields.value("location", data.location);
  fields.value("images", data.images);
  fields.value("classes", data.classes);
  fields.value("shape", data.shape);
  fields.group("split", [&](auto& split) {
    split.value("train", data.train);
    split.value("val", data.val);
    split.value("test", data.test);
  });
  fields.value("skipped", data.skipped);
}

template <typename Fields>
void describe(Fields& fields, Of<ValidityReason> auto& reason) {
  fields.value("rule", reason.rule);
  fields.value("what", reason.what);
  fields.value("advice", reason.advice);
}

template <typename Fields>
void describe(Fields& fields, Of<Validity> auto& validity) {
  fields.value("valid", validity.valid);
  fields.value("reasons", validity.reasons);
}

template <typename Fields>
void describe(Fields& fields, Of<Times> auto& times) {
  fields.not_negative("total", times.total);
  fields.not_negative("init", times.init);
  fields.not_negative("load", times.load);
  fields.not_negative("train", times.train);
  fields.not_negative("validate", times.validate);
  fields.not_negative("test", times.test);
  fields.not_negative("checkpoint", times.checkpoint);
  fields.not_negative("to_accuracy", times.to_accuracy);
  fields.not_negative("first_step", times.first_step);
}

/// Also used for the epochs in a checkpoint and the rows of epochs.csv.
template <typename Fields>
void describe(Fields& fields, Of<EpochRecord> auto& epoch) {
  fields.value("epoch", epoch.epoch);
  fields.not_negative("seconds", epoch.seconds);
  fields.not_negative("images_per_s", epoch.images_per_s);
  fields.value("lr", epoch.lr);
  fields.value("train_loss", epoch.train_loss);
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
    more.not_negative("from_s", epoch.from_s);
    more.not_negative("to_s", epoch.to_s);
  });
  fields.check("epoch", epoch.epoch >= 0, "expected a number that isn't negative");
}

template <typename Fields>
void describe(Fields& fields, Of<Accuracy> auto& accuracy) {
  fields.share("train", accuracy.train);
  fields.share("val", accuracy.val);
  fields.value("val_epoch", accuracy.val_epoch);
  fields.share("test", accuracy.test);
  fields.text("test_weights", accuracy.test_weights);
  fields.not_negative("val_loss", accuracy.val_loss);
  fields.not_negative("test_loss", accuracy.test_loss);
}

template <typename Fields>
void describe(Fields& fields, Of<ConfusionRecord> auto& confusion) {
  fields.value("part", confusion.part);
  fields.square("counts", confusion.counts);
}

template <typename Fields>
void describe(Fields& fields, Of<TrainingRecord> auto& training) {
  fields.value("epochs", training.epochs);
  fields.value("accuracy", training.accuracy);
}

template <typename Fields>
void describe(Fields& fields, Of<RateTrial> auto& trial) {
  fields.value("queries_per_s", trial.rate);
  fields.value("queries", trial.queries);
  fields.not_negative("seconds", trial.seconds);
  fields.not_negative("latency_s", trial.latency_s);
  fields.not_negative("latency_p50_s", trial.latency_p50_s);
  fields.value("held", trial.held);
}

template <typename Fields>
void describe(Fields& fields, Of<ScenarioRecord> auto& scenario) {
  fields.value("name", scenario.name);
  fields.share("percentile", scenario.percentile);
  fields.not_negative("latency_limit_s", scenario.latency_limit_s);
  fields.not_negative("seconds", scenario.seconds);
  fields.value("queries", scenario.queries);
  fields.value("samples", scenario.samples);
  fields.value("late", scenario.late);
  fields.value("discarded", scenario.discarded);
  fields.value("lanes", scenario.lanes);
  fields.value("largest_batch", scenario.largest_batch);
  fields.value("samples_per_query", scenario.samples_per_query);
  fields.value("parts_s", scenario.parts_s);
  fields.value("rates", scenario.rates);
}

template <typename Fields>
void describe(Fields& fields, Of<LayerRecord> auto& layer) {
  fields.text("name", layer.name);
  fields.text("what", layer.what);
  fields.value("joined", layer.joined);
  fields.not_negative("forward_s", layer.forward_s);
  fields.not_negative("backward_s", layer.backward_s);
  fields.value("flops", layer.flops);
  fields.value("bytes", layer.bytes);
  fields.not_negative("roofline", layer.roofline);
}

/// The metric's name isn't a member here: it is the key of the object.
template <typename Fields>
void describe(Fields& fields, Of<Metric> auto& metric) {
  fields.value("value", metric.value);
  fields.value("unit", metric.unit);
  fields.value("better", metric.better);
  fields.value("role", metric.role);
  fields.text("title", metric.title);
  fields.value("label", metric.label);
  fields.interval("interval_95", metric.interval);
  fields.value("samples", metric.samples);
  fields.text("over", metric.over);
  fields.value("of_images", metric.of_images);
  fields.text("stands_in_for", metric.stands_in_for);
  fields.text("reason", metric.reason);
}

template <typename Fields>
void describe(Fields& fields, Of<RankMemory> auto& rank) {
  fields.value("rank", rank.rank);
  fields.value("peak_rss_bytes", rank.peak_rss_bytes);
}

template <typename Fields>
void describe(Fields& fields, Of<Memory> auto& memory) {
  fields.value("peak_rss_bytes", memory.peak_rss_bytes);
  fields.value("rss_bytes", memory.rss_bytes);
  fields.value("pss_bytes", memory.pss_bytes);
  fields.value("swap_bytes_max", memory.swap_bytes_max);
  fields.value("ranks", memory.ranks);
}

template <typename Fields>
void describe(Fields& fields, Of<CpuUse> auto& cpu) {
  fields.not_negative("seconds", cpu.seconds);
  fields.value("percent", cpu.percent);
  fields.value("core_percent_mean", cpu.core_percent_mean);
  fields.value("others_percent", cpu.others_percent);
  fields.value("steal_percent_mean", cpu.steal_percent_mean);
  fields.value("throttle_events", cpu.throttle_events);
  fields.left_out_if(!cpu.exchanged, "exchanged", cpu.exchanged);
  fields.left_out_if(!cpu.lent, "lent", cpu.lent);
  fields.value("samples", cpu.samples);
}

template <typename Fields>
void describe(Fields& fields, Of<GpuUse> auto& gpu) {
  fields.value("index", gpu.index);
  fields.value("name", gpu.name);
  fields.value("utilisation_percent_mean", gpu.utilisation_percent_mean);
  fields.value("peak_memory_bytes", gpu.peak_memory_bytes);
  fields.not_negative("joules", gpu.joules);
  fields.value("step_phases_s", gpu.step_phases_s);
  fields.share("throttled_share", gpu.throttled_share);
  fields.text("throttle_reasons", gpu.throttle_reasons);
  fields.value("temperature_c", gpu.temperature_c);
  fields.value("clock_mhz", gpu.clock_mhz);
  fields.text("uuid", gpu.uuid);
}

template <typename Fields>
void describe(Fields& fields, Of<SessionRecord> auto& session) {
  fields.value("started", session.started);
  fields.value("command", session.command);
  fields.value("status", session.status);
  fields.text("placement", session.placement);
  fields.value("replicas", session.replicas);
  fields.text("engine", session.engine);
  fields.text("cpu", session.cpu);
  fields.not_negative("seconds", session.seconds);
  fields.not_negative("cpu_seconds", session.cpu_seconds);
  fields.value("epochs", session.epochs);
  fields.value("images", session.images);
}

template <typename Fields>
void describe(Fields& fields, Of<Record> auto& record) {
  fields.schema("schema", kRecordSchema);
  fields.value("kind", record.kind);
  fields.value("status", record.status);
  fields.value("started", record.started);
  fields.value("command", record.command);
  fields.value("sessions", record.sessions);
  fields.config("config", record.config);
  fields.value("options", record.options);
  fields.value("seeds", record.seeds);
  fields.value("machine", record.machine);
  fields.value("versions", record.versions);
  fields.value("model", record.model);
  fields.value("data", record.data);
  fields.value("placement", record.placement);
  fields.value("engine", record.engine);
  fields.value("precision", record.precision);
  fields.value("batch", record.batch);
  fields.value("fallbacks", record.fallbacks);
  fields.value("notes", record.notes);
  fields.left_out_if_empty("warnings", record.warnings);
  fields.value("validity", record.validity);
  fields.value("times_s", record.times);
  fields.value("phases_s", record.phases_s);
  fields.value("hidden_s", record.hidden_s);
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
  fields.value("memory", record.memory);
  fields.value("cpu", record.cpu);
  fields.value("gpus", record.gpus);
  fields.value("energy", record.energy);
  fields.left_out_if_empty("host_energies", record.host_energies);
  fields.value("missing", record.missing);
  fields.reason_of("images_per_s", record.images_per_s.reason);
}

}  // namespace evener::record
