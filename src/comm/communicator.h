// Collectives among the ranks of a run. All of them block; to compute meanwhile, run them on a CommunicationThread
// (comm/communication_thread.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace evener::comm {

/// How float32 values travel. Sums are taken in float32 either way; with kBFloat16 each rank's values are rounded to
/// the nearest bf16 (ties to even) before, and the sum once after. A group of one rounds nothing: nothing travels.
enum class CommunicationDtype : std::uint8_t { kFloat32, kBFloat16 };

/// One rank's end of a group. Every member calls the same collectives in the same order, with equal sizes; only one
/// thread at a time may use an end. A group of one is legal everywhere. All calls throw Error when the group was
/// aborted (the message says why and names the rank), or when a member didn't take part within the group's timeout.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // 0 to size() - 1
  virtual int size() const = 0;
  virtual const char* name() const = 0;  // "self", "threads", "shm", "mpi"

  /// Sums over all members, in place, added up in the order of ranks: the same bits on every rank and in every run.
  /// `parts` are taken as one long vector, so that a bucket of gradients needs no copy.
  virtual void all_reduce(std::span<const std::span<float>> parts, CommunicationDtype communication_dtype) = 0;
  virtual void all_reduce(std::span<double> values) = 0;
  void all_reduce(std::span<float> values, CommunicationDtype communication_dtype = CommunicationDtype::kFloat32) {
    const std::span<float> parts[] = {values};
    all_reduce(std::span<const std::span<float>>(parts), communication_dtype);
  }

  /// Copies `root`'s bytes to every rank.
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Returns when every member has called it.
  virtual void barrier() = 0;
  /// Sends bytes from one member to another, which has to call receive() with the same size. Each waits for the other.
  virtual void send(std::span<const std::byte> bytes, int to) = 0;
  virtual void receive(std::span<std::byte> bytes, int from) = 0;

  /// From now on only `ranks` (ascending, this one among them) take part in all_reduce, broadcast and barrier; ranks
  /// keep their numbers. Every rank that stays or joins has to call it at the same point, while no rank is inside a
  /// collective of this group; a rank that is left out calls nothing until it joins again.
  virtual void set_members(std::span<const int> ranks) = 0;

  /// Throws Error, as all_reduce would, when the group was aborted. For callers that wait for other members by other
  /// means, and would wait for ever for one that was lost. Any thread may call it.
  virtual void require_whole() {}

  /// Declares the calling thread the one that this rank computes on. If it is bound to one CPU and loses that to
  /// another program, a rank of the host that waits for it exchanges CPUs with it (base/directed_yield.h).
  virtual void compute_here() {}
};

/// A group of one rank, whose collectives change nothing.
std::unique_ptr<Communicator> make_self_communicator();

/// The ranks of several hosts. `local` connects this host's ranks; `between` connects the hosts' leading ranks (local
/// rank `leader`), and is null on all other ranks. Every host has as many ranks as this one. All-reduce sums first over
/// the members of `local` on each host, then over the hosts in their order. Every rank gets the same bits; with one
/// rank on each host, they are also the bits of as many ranks on one host. With CommunicationDtype::kBFloat16 the sum
/// is rounded once more, between the two. All ranks stay members. send and receive only reach ranks of the same host.
std::unique_ptr<Communicator> make_hierarchical_communicator(std::unique_ptr<Communicator> local,
                                                             std::unique_ptr<Communicator> between, int host, int hosts,
                                                             int leader);

/// Returns every member's bytes, by rank; all members call it, each with its own. It broadcasts one message after the
/// other, so it is too slow for every step.
std::vector<std::string> gather_messages(Communicator& communicator, const std::string& own);

}  // namespace evener::comm
