// The energy of a run on several hosts: each host reads its own sensors and sends the result to the first host at the
// end.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace evener::record {

/// A host's energy as a message, and back. Throws Error for a text that isn't such a message.
std::string energy_message(const Energy& energy);
Energy energy_of_message(const std::string& message);

/// Adds the other hosts' energies to `energy`, the first host's. `names` and `energies` are by host; energies[0] is
/// ignored. If one host's energy is unknown, so is the sum, but all known devices are listed.
void add_hosts(Energy& energy, const std::vector<std::string>& names, const std::vector<Energy>& energies);

}  // namespace evener::record
