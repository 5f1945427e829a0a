// The names of the hosts of a run: a list, a file, or a Slurm allocation.
#pragma once

#include <string>
#include <vector>

namespace evener::parallel {

/// "a,b" or, where there is a file of that name, its lines: a name, what follows it (as "slots=8") is passed over; '#'
/// begins a comment. Throws UsageError: no hosts, a name twice, characters that no host name has.
std::vector<std::string> parse_hosts(const std::string& text);

/// Slurm's short form, "n[001-003,7],login", as names. Throws UsageError.
std::vector<std::string> expand_slurm_nodes(const std::string& text);

/// The hosts of the Slurm allocation that this process is in; empty without one, or with one host.
std::vector<std::string> slurm_hosts();

}  // namespace evener::parallel
