// describe() for the energy structs: their keys in record.json and in messages between hosts.
#pragma once

#include "base/described.h"
#include "record/described_json.h"
#include "record/energy.h"

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

}  // namespace evener::record
