#include "record/energy.h"

#include <fmt/format.h>

#include "base/message.h"
#include "base/names.h"
#include "record/record_fields.h"

namespace evener::record {
namespace {

void add_optional(std::optional<double>& sum, const std::optional<double>& more) {
  sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

void name_host(std::vector<MeterCheck>& checks, const std::string& host) {
  for (MeterCheck& check : checks) {
    check.first = host + " " + check.first;
    check.second = host + " " + check.second;
  }
}

}  // namespace

const char* energy_class_name(EnergyClass kind) {
  return name_in({"absent", "measured", "derived", "estimated", "mixed"}, kind);
}

EnergyClass together(EnergyClass a, EnergyClass b) {
  if (a == EnergyClass::kAbsent || a == b) return b;
  return b == EnergyClass::kAbsent ? a : EnergyClass::kMixed;
}

std::string joules_text(double joules) {
  constexpr double kMilli = 1e-3, kMicro = 1e-6;
  if (joules > 0 && joules < kMilli) return fmt::format("{:.3g} uJ", joules / kMicro);
  return joules > 0 && joules < 1 ? fmt::format("{:.3g} mJ", joules / kMilli) : si_text(joules, "J");
}

const char* covers_name(Covers covers) {
  return name_in({"package", "dram", "gpu", "machine"}, covers);
}

const char* agreement_name(Agreement agreement) {
  return name_in({"undecided", "agree", "disagree"}, agreement);
}

const char* meter_fault_name(MeterFault fault) {
  return name_in({"none", "gain", "offset", "lag", "stop", "jump"}, fault);
}

std::optional<double> per_image(const std::optional<double>& amount, double images) {
  return amount && images > 0 ? std::optional(*amount / images) : std::nullopt;
}

std::string lacks_text(const Energy& energy) {
  return energy.lacks.empty() ? "" : fmt::format("without {}", fmt::join(energy.lacks, ", "));
}

std::string contradiction_text(const MeterCheck& check) {
  if (check.agreement != Agreement::kDisagree) return "";
  return fmt::format("{} and {} contradict each other ({}): {}", check.first, check.second,
                     meter_fault_name(check.fault), check.reason);
}

void set_products(Energy& energy) {
  const auto times = [](const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional(*a * *b) : std::nullopt;
  };
  energy.edp_js = times(energy.joules, energy.seconds);
  energy.ed2p_js2 = times(energy.edp_js, energy.seconds);
  energy.used_edp_js = times(energy.used_joules, energy.seconds);
}

std::string energy_message(const Energy& energy) {
  return pack_message(energy);
}

Energy energy_of_message(const std::string& message) {
  return unpack_message<Energy>(message, "the energy of a host");
}

void add_hosts(Energy& energy, const std::vector<std::string>& names, const std::vector<Energy>& energies) {
  for (DeviceEnergy& device : energy.devices) device.host = names.front();
  for (std::string& part : energy.lacks) part += " on " + names.front();
  for (Energy::Domain& domain : energy.domains) domain.name = names.front() + " " + domain.name;
  name_host(energy.checks, names.front());
  if (!energy.reason.empty()) energy.reason = fmt::format("on {}: {}", names.front(), energy.reason);
  for (std::size_t host = 1; host < names.size(); ++host) {
    Energy other = host < energies.size() ? energies[host] : Energy{.reason = "it did not tell its energy"};
    for (DeviceEnergy device : other.devices) {
      device.host = names[host];
      energy.devices.push_back(std::move(device));
    }
    name_host(other.checks, names[host]);
    energy.checks.insert(energy.checks.end(), other.checks.begin(), other.checks.end());
    for (const std::string& part : other.lacks) energy.lacks.push_back(fmt::format("{} on {}", part, names[host]));
    for (const std::string& lost : other.lost) energy.lost.push_back(fmt::format("on {}: {}", names[host], lost));
    if (!other.joules && energy.reason.empty()) {
      energy.reason = fmt::format("on {}: {}", names[host], other.reason);
    }
    for (const Energy::Domain& domain : other.domains) {
      energy.domains.push_back({names[host] + " " + domain.name, domain.joules});
    }
    for (const auto& [kind, joules] : other.by_class) energy.by_class[kind] += joules;
    energy.kind = together(energy.kind, other.kind);
    add_optional(energy.joules, other.joules);
    add_optional(energy.uncertainty_joules, other.uncertainty_joules);
    add_optional(energy.process_joules, other.process_joules);
    if (energy.process_reason.empty() && !energy.process_joules) {
      energy.process_reason = "what this program used of another host's processors is not known";
    }
    // The other hosts' idle power was not measured.
    energy.net_joules.reset();
    energy.net_interval.reset();
  }
  energy.net_reason = "idle power is measured on one host only";
  energy.work_reason = "when the work began and ended is not known on all hosts";
  energy.phases.clear();
  energy.phases_reason = "the replicas are processes of their own, whose phases the sampler does not see";
  if (!energy.reason.empty()) {
    const Energy known = std::move(energy);
    energy = {.seconds = known.seconds,
              .reason = known.reason,
              .devices = known.devices,
              .checks = known.checks,
              .lost = known.lost,
              .lacks = known.lacks};
  }
  set_products(energy);
}

}  // namespace evener::record
