// A communicator over the ranks of several hosts: shared memory within each host, another communicator between them.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace evener::comm {

/// `local` connects this host's ranks; `between` connects the hosts' leading ranks (local rank `leader`), and is null
/// on all other ranks. Every host has as many ranks as this one. All-reduce sums first over the members of `local` on
/// each host, then over the hosts in their order. Every rank gets the same bits; with one rank on each host, they are
/// also the bits of as many ranks on one host. With CommunicationDtype::kBFloat16 the sum is rounded once more, between
/// the two. All ranks stay members. send and receive only reach ranks of the same host.
std::unique_ptr<Communicator> make_hierarchical_communicator(std::unique_ptr<Communicator> local,
                                                             std::unique_ptr<Communicator> between, int host, int hosts,
                                                             int leader);

}  // namespace evener::comm
