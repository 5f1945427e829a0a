// The names of the hosts of a run: a list, a file, or a Slurm allocation.
#pragma once

#include <string>
#include <vector>

namespace evener::parallel {

/// Reads "a,b", or a host file if `text` names one: a host name begins each line, anything after it (such as "slots=8")
/// is ignored, and '#' begins a comment. Throws UsageError for no hosts, a name twice, and characters that no host name
/// has.
std::vector<std::string> parse_hosts(const std::string& text);

/// Expands Slurm's short form, "n[001-003,7],login", to host names. Throws UsageError.
std::vector<std::string> expand_slurm_nodes(const std::string& text);

/// The hosts of the Slurm allocation that this process is in; empty outside of an allocation, or in one of a single
/// host.
std::vector<std::string> slurm_hosts();

}  // namespace evener::parallel
