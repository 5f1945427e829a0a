#include "comm/host_group.h"

#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/module.h"
#include "base/numbers.h"

namespace evener::comm {
namespace {

struct Variables {
  const char* host;
  const char* hosts;
};
// mpirun's variables come before Slurm's: in an allocation of Slurm, mpirun starts its helpers by srun, so that both
// are set.
constexpr Variables kKnown[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};

int number_of(const char* variable, const char* text) {
  const int number = to_number<int>(text).value_or(-1);
  if (number >= 0) return number;
  throw Error("the variable " + std::string(variable) + " is '" + text +
              "', not a number: this process can't know which host of the run it leads");
}

std::optional<HostPosition> position_of(const Variables& names) {
  const char* const host = std::getenv(names.host);
  const char* const hosts = std::getenv(names.hosts);
  if (host == nullptr || hosts == nullptr) return std::nullopt;
  const HostPosition position = {number_of(names.host, host), number_of(names.hosts, hosts)};
  if (position.host < position.hosts) return position;
  throw Error(std::string(names.host) + " is " + host + " but " + names.hosts + " is " + hosts +
              ": this process can't know which host of the run it leads");
}

}  // namespace

std::unique_ptr<HostGroup> connect_hosts(int channels) {
  static HostConnector* const connector = static_cast<HostConnector*>(require_module("mpi").create());
  return connector->connect(channels);
}

HostPosition host_position() {
  for (const Variables& names : kKnown) {
    if (const auto position = position_of(names)) return *position;
  }
  throw Error(
      "this process was to lead one host of a run, but neither OMPI_COMM_WORLD_RANK (of mpirun) nor SLURM_PROCID (of "
      "srun) is set; start the run with 'evener train ... --hosts A,B', which starts the others");
}

}  // namespace evener::comm
