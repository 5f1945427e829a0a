#include "record/energy.h"

#include <fmt/format.h>

#include "base/names.h"

namespace evener::record {

const char* energy_class_name(EnergyClass kind) {
  switch (kind) {
    case EnergyClass::kMeasured:
      return "measured";
    case EnergyClass::kDerived:
      return "derived";
    case EnergyClass::kEstimated:
      return "estimated";
    case EnergyClass::kMixed:
      return "mixed";
    case EnergyClass::kAbsent:
      break;
  }
  return "absent";
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
  switch (covers) {
    case Covers::kPackage:
      return "package";
    case Covers::kDram:
      return "dram";
    case Covers::kGpu:
      return "gpu";
    case Covers::kMachine:
      break;
  }
  return "machine";
}

const char* agreement_name(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgree:
      return "agree";
    case Agreement::kDisagree:
      return "disagree";
    case Agreement::kUndecided:
      break;
  }
  return "undecided";
}

const char* meter_fault_name(MeterFault fault) {
  switch (fault) {
    case MeterFault::kGain:
      return "gain";
    case MeterFault::kOffset:
      return "offset";
    case MeterFault::kLag:
      return "lag";
    case MeterFault::kStop:
      return "stop";
    case MeterFault::kJump:
      return "jump";
    case MeterFault::kNone:
      break;
  }
  return "none";
}

void set_products(Energy& energy) {
  const auto times = [](const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional(*a * *b) : std::nullopt;
  };
  energy.edp_js = times(energy.joules, energy.seconds);
  energy.ed2p_js2 = times(energy.edp_js, energy.seconds);
  energy.used_edp_js = times(energy.used_joules, energy.seconds);
}

}  // namespace evener::record
