
#include "made_up/stream_state.h"

namespace made_up {

Event::Event() : state_(std::make_shared<EventState>()) {}

void Event::record(Stream& stream) {
  const std::lock_guard lock(everything());
  StreamState& state = *stream.state_;
  if (state.keeper) {
    state_->keeper = state.keeper;
    state_->point = nullptr;
    state_->number = state.keeper->points++;
    state.keeper->of_point[state_->number] = {state.lane, static_cast<int>(state.keeper->kept.size())};
    state.keeper->kept.push_back({state.lane, nullptr, state_->number, -1});
    return;
  }
  state_->keeper = nullptr;
  state_->point = std::make_shared<Point>();
  state_->point->stream = stream.state_;
  StreamState::Item item;
  item.passes = state_->point;
  state.push(std::move(item));
}

void Event::hold_back(Stream& stream) const {
  const std::lock_guard lock(everything());
  StreamState& state = *stream.state_;
  if (const auto& keeper = state_->keeper) {
    if (!state.keeper) {  // it is drawn in
      state.keeper = keeper;
      state.lane = keeper->lanes++;
      keeper->drawn_in.push_back(&state);
      keeper->joined.insert(state.lane);  // it has no work yet
    } else if (state.keeper != keeper) {
      throw Refused("a stream waits for an event of another recording");
    }
    keeper->kept.push_back({state.lane, nullptr, -1, state_->number});
    const auto [lane, at] = keeper->of_point[state_->number];
    bool last = true;  // nothing of that lane came after the point
    for (auto i = static_cast<std::size_t>(at); i < keeper->kept.size(); ++i) {
      if (keeper->kept[i].lane == lane && keeper->kept[i].work) last = false;
    }
    if (state.lane == 0 && last) keeper->joined.insert(lane);
    return;
  }
  if (!state_->point) return;
  if (state.keeper) {
    throw Refused("a stream that is recorded waits for an event from before the recording");
  }
  StreamState::Item item;
  item.waits_for = state_->point;
  state.push(std::move(item));
}

bool Event::passed() const {
  const std::lock_guard lock(everything());
  if (state_->keeper) throw Refused("an event of a recording was asked whether it has passed");
  if (!state_->point || state_->point->passed) return true;
  count_wait(state_->point.get());
  if (const auto stream = state_->point->stream.lock()) stream->want();
  return false;
}

bool Event::has_passed() const {
  const std::lock_guard lock(everything());
  return !state_->keeper && (!state_->point || state_->point->passed);
}

void Event::wait() const {
  std::unique_lock lock(everything());
  if (state_->keeper) throw Refused("an event of a recording was waited for");
  const auto point = state_->point;
  if (point && !point->passed) count_wait(point.get());
  while (point && !point->passed) {
    if (const auto stream = point->stream.lock()) stream->want();
    point->changed.wait_for(lock, std::chrono::milliseconds(1));
  }
}

double Event::milliseconds_since(const Event& earlier) const {
  const std::lock_guard lock(everything());
  if (!state_->point || !earlier.state_->point || !state_->point->passed || !earlier.state_->point->passed) {
    throw Refused("the time between events that have not passed");
  }
  return std::chrono::duration<double, std::milli>(state_->point->at - earlier.state_->point->at).count();
}

}  // namespace made_up
