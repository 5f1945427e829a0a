// Transfers between neighbouring stages of a pipeline, in the background while the stages compute.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "comm/communication_thread.h"
#include "comm/communicator.h"
#include "engine/trainer.h"

namespace evener::parallel {

/// Sends values to another rank, in the order of send() calls.
class StageSender {
 public:
  /// Nobody else may use the same channel.
  StageSender(std::unique_ptr<comm::Communicator> communicator, int to);

  /// Returns at once; the values' memory must stay unchanged until finish(). Throws if an earlier send failed.
  void send(std::vector<engine::StageValues> values);
  /// Waits until all values have been sent.
  void finish();

 private:
  std::unique_ptr<comm::Communicator> communicator_;
  const int to_;
  std::deque<comm::Pending> under_way_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

/// Receives values from another rank, in the order in which it sends them. One message is received ahead of take().
class StageReceiver {
 public:
  StageReceiver(std::unique_ptr<comm::Communicator> communicator, int from);

  /// Announces a message; sizes[i]: the number of values in its i-th tensor.
  void expect(std::vector<std::size_t> sizes);
  /// Waits for the next message and returns it.
  std::vector<engine::StageValues> take();

 private:
  struct Message {
    std::vector<engine::StageValues> values;
    comm::Pending arrival;
  };
  void fetch();

  std::unique_ptr<comm::Communicator> communicator_;
  const int from_;
  std::deque<std::vector<std::size_t>> expected_;  // not yet being received
  std::deque<Message> coming_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

}  // namespace evener::parallel
