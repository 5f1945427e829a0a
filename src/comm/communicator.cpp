#include "comm/communicator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "comm/communication_dtype.h"

namespace evener::comm {
namespace {

class SelfCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const char* name() const override { return "self"; }

  void all_reduce(std::span<const std::span<float>>, CommunicationDtype) override {}
  void all_reduce(std::span<double>) override {}
  void broadcast(std::span<std::byte>, int root) override {
    if (root != 0) fail("take a broadcast from", root);
  }
  void barrier() override {}
  void send(std::span<const std::byte>, int to) override { fail("send to", to); }
  void receive(std::span<std::byte>, int from) override { fail("receive from", from); }
  void set_members(std::span<const int> ranks) override {
    if (ranks.size() != 1 || ranks[0] != 0) throw Error("a group of one rank can only have rank 0 as its member");
  }

 private:
  [[noreturn]] static void fail(const char* what, int rank) {
    throw Error("rank 0 can't " + std::string(what) + " rank " + std::to_string(rank) + ": it is a group of one");
  }
};

class HierarchicalCommunicator : public Communicator {
 public:
  HierarchicalCommunicator(std::unique_ptr<Communicator> local, std::unique_ptr<Communicator> between, int host,
                           int hosts, int leader)
      : local_(std::move(local)), between_(std::move(between)), host_(host), hosts_(hosts), leader_(leader) {
    if ((between_ != nullptr) == (local_->rank() == leader)) return;
    throw Error("rank " + std::to_string(rank()) + ": the leading rank of a host, and no other, speaks with the hosts");
  }

  int rank() const override { return host_ * local_->size() + local_->rank(); }
  int size() const override { return hosts_ * local_->size(); }
  const char* name() const override { return "hosts"; }

  void all_reduce(std::span<const std::span<float>> parts, CommunicationDtype communication_dtype) override {
    std::size_t total = 0;
    for (const auto& part : parts) total += part.size();
    // Many small parts are copied into one vector, because each part would otherwise need a broadcast of its own.
    std::span<float> values;
    if (parts.size() == 1) {
      values = parts[0];
    } else {
      packed_.resize(total);
      values = packed_;
      PartsWalk<float>(parts).next(
          total, [&](const float* run, std::size_t size, std::size_t at) { std::copy_n(run, size, &packed_[at]); });
    }
    local_->all_reduce(values, communication_dtype);
    if (between_) between_->all_reduce(values, communication_dtype);
    local_->broadcast(std::as_writable_bytes(values), leader_);
    if (parts.size() == 1) return;
    PartsWalk<float>(parts).next(
        total, [&](float* run, std::size_t size, std::size_t at) { std::copy_n(&packed_[at], size, run); });
  }

  void all_reduce(std::span<double> values) override {
    local_->all_reduce(values);
    if (between_) between_->all_reduce(values);
    local_->broadcast(std::as_writable_bytes(values), leader_);
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    if (root < 0 || root >= size()) {
      throw Error("rank " + std::to_string(rank()) + " can't take a broadcast from rank " + std::to_string(root) +
                  " in a group of " + std::to_string(size()));
    }
    const int root_host = root / local_->size();
    if (host_ == root_host) local_->broadcast(bytes, root % local_->size());
    if (between_) between_->broadcast(bytes, root_host);
    if (host_ != root_host) local_->broadcast(bytes, leader_);
  }

  void barrier() override {
    local_->barrier();
    if (between_) between_->barrier();
    local_->barrier();
  }

  void send(std::span<const std::byte> bytes, int to) override { local_->send(bytes, local_rank(to, "send to")); }
  void receive(std::span<std::byte> bytes, int from) override {
    local_->receive(bytes, local_rank(from, "receive from"));
  }
  void set_members(std::span<const int> ranks) override {
    bool all = static_cast<int>(ranks.size()) == size();
    for (std::size_t i = 0; all && i < ranks.size(); ++i) all = ranks[i] == static_cast<int>(i);
    if (!all) throw Error("a group over several hosts keeps all its members; use fewer replicas or hosts");
  }

  // The host's leading process aborts the local group when another host is lost; it may be alone on its host.
  void require_whole() override {
    local_->require_whole();
    if (between_) between_->require_whole();
  }
  void compute_here() override { local_->compute_here(); }

 private:
  int local_rank(int rank, const char* what) const {
    if (rank >= 0 && rank / local_->size() == host_) return rank % local_->size();
    throw Error("rank " + std::to_string(this->rank()) + " can't " + what + " rank " + std::to_string(rank) +
                ": single messages go between the ranks of one host");
  }

  std::unique_ptr<Communicator> local_, between_;
  int host_, hosts_, leader_;
  std::vector<float> packed_;
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<SelfCommunicator>();
}

std::unique_ptr<Communicator> make_hierarchical_communicator(std::unique_ptr<Communicator> local,
                                                             std::unique_ptr<Communicator> between, int host, int hosts,
                                                             int leader) {
  return std::make_unique<HierarchicalCommunicator>(std::move(local), std::move(between), host, hosts, leader);
}

std::vector<std::string> gather_messages(Communicator& communicator, const std::string& own) {
  std::vector<std::string> messages(static_cast<std::size_t>(communicator.size()));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    std::string& message = messages[static_cast<std::size_t>(rank)];
    if (rank == communicator.rank()) message = own;
    std::uint64_t size = message.size();
    communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), rank);
    message.resize(size);
    if (size > 0) communicator.broadcast(std::as_writable_bytes(std::span(message)), rank);
  }
  return messages;
}

}  // namespace evener::comm
