// The ranks of several hosts as one group: shared memory within a host, something else between the hosts.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace evener::comm {

/// `local` is of this host's ranks, `between` of the hosts' leading ranks (local rank `leader`), null on the others.
/// Every host has as many ranks as this one. A sum is taken on each host first, over the members of `local`, then over
/// the hosts in their order: the same bits on every rank, and with one rank on each host those of the same ranks on one
/// host. With CommunicationDtype::kBFloat16 it is rounded once more, between the two. All ranks stay members. send and
/// receive reach the ranks of the own host.
std::unique_ptr<Communicator> make_hierarchical_communicator(std::unique_ptr<Communicator> local,
                                                             std::unique_ptr<Communicator> between, int host, int hosts,
                                                             int leader);

}  // namespace evener::comm
