#include <algorithm>

#include "made_up/stream_state.h"

namespace made_up {

struct Recording::State {
  std::vector<Keeper::Kept> kept;
  int lanes = 1, points = 0;
  std::vector<std::unique_ptr<Stream>> others;  // of the lanes after the first
};

void Stream::begin_recording() {
  const std::lock_guard lock(everything());
  if (state_->keeper) throw Refused("a recording began in a recording");
  state_->keeper = std::make_shared<Keeper>();
  state_->lane = 0;
  state_->keeper->drawn_in.push_back(state_.get());
}

std::unique_ptr<Recording> Stream::end_recording() {
  const std::lock_guard lock(everything());
  const auto keeper = state_->keeper;
  if (!keeper) throw Refused("a recording ended that had not begun");
  for (StreamState* stream : keeper->drawn_in) {
    if (stream == state_.get() || living().contains(stream)) stream->keeper = nullptr;
  }
  for (int lane = 1; lane < keeper->lanes; ++lane) {
    if (!keeper->joined.contains(lane)) throw Refused("a recording ended with a stream that nobody had waited for");
  }
  auto recording = std::make_unique<Recording>();
  recording->state_->kept = std::move(keeper->kept);
  recording->state_->lanes = keeper->lanes;
  recording->state_->points = keeper->points;
  return recording;
}

Recording::Recording() : state_(std::make_shared<State>()) {}
Recording::~Recording() = default;

std::size_t Recording::size() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(state_->kept, [](const Keeper::Kept& each) { return each.work != nullptr; }));
}

void Recording::replay(Stream& stream) {
  while (static_cast<int>(state_->others.size()) + 1 < state_->lanes) {
    state_->others.push_back(std::make_unique<Stream>(stream.card()));
  }
  const std::lock_guard lock(everything());
  if (stream.state_->keeper) throw Refused("a recording was replayed in a recording");
  count_replay();
  std::vector<std::shared_ptr<Point>> points(static_cast<std::size_t>(state_->points));
  for (auto& point : points) point = std::make_shared<Point>();
  for (std::size_t i = 0; i < state_->kept.size(); ++i) {
    const Keeper::Kept& kept = state_->kept[i];
    const auto& lane = kept.lane == 0 ? stream.state_ : state_->others[static_cast<std::size_t>(kept.lane) - 1]->state_;
    StreamState::Item item;
    if (kept.work) {
      item.work = [state = state_, i] { state->kept[i].work(); };  // what it keeps alive belongs to the recording
    } else if (kept.passes >= 0) {
      item.passes = points[static_cast<std::size_t>(kept.passes)];
      item.passes->stream = lane;
    } else {
      item.waits_for = points[static_cast<std::size_t>(kept.waits_for)];
    }
    lane->push(std::move(item));
  }
}

}  // namespace made_up
