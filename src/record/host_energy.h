// The energy of a run's other hosts, each of which reads its own sensors and tells the first one at the end.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace evener::record {

/// What a host tells of its energy, as text, and back. Throws Error for a text that isn't that.
std::string energy_message(const Energy& energy);
Energy energy_of_message(const std::string& message);

/// Adds what other hosts told to that of the first one; `names` and `energies` are of all hosts, of which the first
/// one's is not looked at. Where a host's energy isn't known the sum isn't either, but the devices of the others stay.
void add_hosts(Energy& energy, const std::vector<std::string>& names, const std::vector<Energy>& energies);

}  // namespace evener::record
