// The module's entry, which base/module.h looks for, and the group of hosts that it connects.
#include <mpi.h>

#include <csignal>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/module_entry.h"
#include "comm/host_group.h"
#include "comm/host_position.h"
#include "comm/mpi/mpi_communicator.h"
#include "comm/mpi/mpi_heartbeat.h"
#include "comm/mpi/mpi_link.h"

namespace evener::comm::mpi {
namespace {

/// The group of hosts. It makes all communicators at once, in the same order on all hosts, as MPI requires.
class MpiGroup : public HostGroup {
 public:
  explicit MpiGroup(int channels) {
    for (int i = 0; i < channels + 1; ++i) {
      MPI_Comm copy = MPI_COMM_NULL;
      check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
      check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      communicators_.push_back(copy);
    }
    check(MPI_Comm_rank(MPI_COMM_WORLD, &host_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &hosts_), "MPI_Comm_size");
  }

  int host() const override { return host_; }
  int hosts() const override { return hosts_; }

  std::unique_ptr<Communicator> channel(int index) override {
    return make_mpi_communicator(communicators_.at(static_cast<std::size_t>(index)), link_);
  }

  void watch(std::vector<std::string> names, std::function<void(const std::string&)> on_lost) override {
    heartbeat_ = std::make_unique<Heartbeat>(communicators_.back(), std::move(names),
                                             [this, on_lost = std::move(on_lost)](const std::string& what) {
                                               link_.lose(what);
                                               on_lost(what);
                                             });
  }

  void close() override {
    make_mpi_communicator(communicators_.front(), link_)->barrier();
    heartbeat_.reset();
    check(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  Link link_;
  std::vector<MPI_Comm> communicators_;  // of the channels, then the heartbeat's
  std::unique_ptr<Heartbeat> heartbeat_;
  int host_ = 0, hosts_ = 1;
};

class MpiConnector : public HostConnector {
 public:
  std::unique_ptr<HostGroup> connect(int channels) override {
    const HostPosition told = host_position();
    std::signal(SIGPIPE, SIG_IGN);  // writing to a lost connection becomes an error instead of ending this process
    int threads = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init_thread");
    if (threads < MPI_THREAD_MULTIPLE) {
      throw Error("this MPI was built without MPI_THREAD_MULTIPLE, which several hosts need; install Open MPI 4");
    }
    auto group = std::make_unique<MpiGroup>(channels);
    if (group->host() == told.host && group->hosts() == told.hosts) return group;
    throw Error("whoever started this process says it leads host " + std::to_string(told.host) + " of " +
                std::to_string(told.hosts) + ", MPI says " + std::to_string(group->host()) + " of " +
                std::to_string(group->hosts()) +
                ": mpirun (or srun --mpi=pmix) and the MPI library are not of one installation");
  }
};

const char* version() {
  static const std::string text = [] {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    const std::string whole(library, library + length);
    return whole.substr(0, whole.find_first_of(",\n"));
  }();
  return text.c_str();
}

const char* unusable_reason() {
  int finalized = 0;
  return MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0 ? "" : "MPI has ended in this process already";
}

}  // namespace
}  // namespace evener::comm::mpi

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::comm::HostConnector, evener::comm::mpi::MpiConnector>(
        evener::comm::mpi::version, evener::comm::mpi::unusable_reason);
}
