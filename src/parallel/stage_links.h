// How values go from a stage of a pipeline to its neighbours, and come from them, while it computes.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "comm/communication_thread.h"
#include "comm/communicator.h"
#include "engine/capabilities.h"

namespace evener::parallel {

/// Values on their way to another rank, in the order in which they were given.
class StageSender {
 public:
  /// `communicator` is used by nobody else.
  StageSender(std::unique_ptr<comm::Communicator> communicator, int to);

  /// Returns at once; the values stay as they are until they have arrived. Throws what sending earlier ones threw.
  void send(std::vector<engine::StageValues> values);
  /// Waits until all have arrived.
  void finish();

 private:
  std::unique_ptr<comm::Communicator> communicator_;
  const int to_;
  std::deque<comm::Pending> under_way_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

/// Values from another rank, in the order in which it sends them. One message is fetched ahead of the one that is
/// asked for.
class StageReceiver {
 public:
  StageReceiver(std::unique_ptr<comm::Communicator> communicator, int from);

  /// A message will come with so many numbers in each of its tensors.
  void expect(std::vector<std::size_t> sizes);
  /// The next message. Waits for it.
  std::vector<engine::StageValues> take();

 private:
  struct Message {
    std::vector<engine::StageValues> values;
    comm::Pending arrival;
  };
  void fetch();

  std::unique_ptr<comm::Communicator> communicator_;
  const int from_;
  std::deque<std::vector<std::size_t>> expected_;  // and not fetched yet
  std::deque<Message> coming_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

}  // namespace evener::parallel
