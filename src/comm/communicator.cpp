#include "comm/communicator.h"

#include "base/error.h"

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

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<SelfCommunicator>();
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
