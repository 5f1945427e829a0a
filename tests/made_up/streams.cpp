#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "made_up/card.h"

namespace made_up {
namespace {

using Clock = std::chrono::steady_clock;

thread_local bool in_work = false;

std::chrono::microseconds lateness() {
  static const auto value = [] {
    const char* given = std::getenv("MADE_UP_LATENESS_US");
    return std::chrono::microseconds(given != nullptr ? std::atoll(given) : 20000);
  }();
  return value;
}

/// One lock for all cards: what is to be caught is order, not speed.
std::mutex& everything() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::set<StreamState*>& living() {
  static auto* streams = new std::set<StreamState*>;
  return *streams;
}

Counts counted;  // under everything()
const void* last_asked = nullptr;

/// The host waits for `what`.
void count_wait(const void* what) {
  if (what != last_asked) ++counted.waits;
  last_asked = what;
}

/// The process ends: what work needs is about to go.
bool leaving = false;

/// A point that work passes, once.
struct Point {
  bool passed = false;
  Clock::time_point at;
  std::condition_variable changed;
  std::weak_ptr<StreamState> stream;  // which passes it
};

}  // namespace

bool is_work() {
  return in_work;
}

Counts counts() {
  const std::lock_guard lock(everything());
  return counted;
}

struct StreamState : std::enable_shared_from_this<StreamState> {
  struct Item {
    std::function<void()> work;     // or
    std::shared_ptr<Point> passes;  // or
    std::shared_ptr<Point> waits_for;
    Clock::time_point queued = Clock::now();
  };

  explicit StreamState(int on) : card(on) {}

  int card;
  std::deque<Item> items;
  bool busy = false, ends = false;
  bool wanted = false;  // somebody waits for what is queued
  std::condition_variable changed;
  std::thread thread;
  std::shared_ptr<class Keeper> keeper;  // of the recording that this stream is in
  int lane = 0;                          // there

  bool done() const { return items.empty() && !busy; }

  void want() {
    wanted = true;
    changed.notify_all();
  }

  /// For ever: a thread that ended would have to be joined.
  [[noreturn]] void stay(std::unique_lock<std::mutex>& lock) {
    while (true) changed.wait(lock);
  }

  /// On the stream's thread.
  void run() {
    in_work = true;
    std::unique_lock lock(everything());
    while (true) {
      changed.wait(lock, [&] { return ends || leaving || !items.empty(); });
      if (leaving) stay(lock);
      if (items.empty()) return;
      const auto due = items.front().queued + lateness();
      changed.wait_until(lock, due, [&] { return wanted || ends || leaving; });
      if (leaving) stay(lock);
      Item item = std::move(items.front());
      items.pop_front();
      busy = true;
      if (item.work) {
        lock.unlock();
        item.work();
        item.work = nullptr;
        lock.lock();
      } else if (item.passes) {
        item.passes->passed = true;
        item.passes->at = Clock::now();
        item.passes->changed.notify_all();
      } else {
        if (const auto other = item.waits_for->stream.lock(); other && wanted) other->want();
        while (!item.waits_for->passed && !leaving) {
          item.waits_for->changed.wait_for(lock, std::chrono::milliseconds(1));
          if (const auto other = item.waits_for->stream.lock(); other && wanted) other->want();
        }
      }
      busy = false;
      if (items.empty()) wanted = false;
      changed.notify_all();
    }
  }

  void start() {
    thread = std::thread([this] { run(); });
    living().insert(this);
  }

  void push(Item item) {
    items.push_back(std::move(item));
    changed.notify_all();
  }
};

/// What a recording keeps while it is made.
class Keeper {
 public:
  struct Kept {
    int lane = 0;
    std::function<void()> work;
    int passes = -1, waits_for = -1;  // numbers of points
  };
  std::vector<Kept> kept;
  int lanes = 1, points = 0;
  std::set<int> joined = {0};  // lanes whose last work the first lane waits for
  std::vector<StreamState*> drawn_in;
  std::map<int, int> last_of;                   // lane -> how many kept when it last had work
  std::map<int, std::pair<int, int>> of_point;  // point -> its lane, and how many that had kept
};

struct EventState {
  std::shared_ptr<Point> point;    // null: never recorded, or
  std::shared_ptr<Keeper> keeper;  // recorded into a recording
  int number = -1;                 // there
};

struct Recording::State {
  std::vector<Keeper::Kept> kept;
  int lanes = 1, points = 0;
  std::vector<std::unique_ptr<Stream>> others;  // of the lanes after the first
};

namespace {

/// Called before what was opened before the first stream goes. Work under way comes to its end, unless it waits for
/// others; what is queued stays undone, and is never taken down.
void leave() {
  constexpr auto kLongest = std::chrono::seconds(2);
  std::unique_lock lock(everything());
  leaving = true;
  const auto end = Clock::now() + kLongest;
  static auto* undone = new std::vector<std::deque<StreamState::Item>>;
  for (StreamState* stream : living()) {
    stream->changed.notify_all();
    stream->changed.wait_until(lock, end, [&] { return !stream->busy; });
    undone->push_back(std::move(stream->items));
  }
}

}  // namespace

Stream::Stream(int card) : state_(std::make_shared<StreamState>(card)) {
  require_usable();
  static const int registered = std::atexit(leave);
  if (registered != 0) throw Refused("no more functions can be called at the end of the process");
  const std::lock_guard lock(everything());
  state_->start();
}

Stream::~Stream() {
  {
    std::unique_lock lock(everything());
    state_->want();
    state_->ends = true;
    state_->changed.notify_all();
    living().erase(state_.get());
    if (leaving) {  // its thread stays in it
      static auto* left = new std::vector<std::shared_ptr<StreamState>>;
      left->push_back(state_);
      state_->thread.detach();
      return;
    }
  }
  state_->thread.join();
}

int Stream::card() const {
  return state_->card;
}

void Stream::queue(std::function<void()> work) {
  const std::lock_guard lock(everything());
  if (const auto& keeper = state_->keeper) {
    keeper->kept.push_back({state_->lane, std::move(work), -1, -1});
    keeper->joined.erase(state_->lane == 0 ? -1 : state_->lane);
    return;
  }
  StreamState::Item item;
  item.work = std::move(work);
  state_->push(std::move(item));
}

bool Stream::idle() {
  const std::lock_guard lock(everything());
  if (state_->keeper) throw Refused("a stream was asked whether it is idle while it was recorded");
  if (state_->done()) return true;
  count_wait(state_.get());
  state_->want();
  return false;
}

void Stream::wait() {
  std::unique_lock lock(everything());
  if (state_->keeper) throw Refused("a stream was waited for while it was recorded");
  if (!state_->done()) count_wait(state_.get());
  state_->want();
  state_->changed.wait(lock, [&] {
    if (!state_->done()) state_->wanted = true;
    return state_->done();
  });
}

void Stream::begin_recording() {
  const std::lock_guard lock(everything());
  if (state_->keeper) throw Refused("a recording began in a recording");
  state_->keeper = std::make_shared<Keeper>();
  state_->lane = 0;
  state_->keeper->drawn_in.push_back(state_.get());
}

bool Stream::is_recorded() const {
  const std::lock_guard lock(everything());
  return state_->keeper != nullptr;
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
  ++counted.replays;
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

void wait_for_card(int card) {
  std::unique_lock lock(everything());
  while (true) {
    StreamState* busy = nullptr;
    for (StreamState* stream : living()) {
      if (stream->card == card && !stream->done()) busy = stream;
      if (stream->card == card && stream->keeper) throw Refused("a card was waited for while it was recorded");
    }
    if (busy == nullptr) return;
    busy->want();
    const auto kept = busy->shared_from_this();
    kept->changed.wait_for(lock, std::chrono::milliseconds(1));
  }
}

}  // namespace made_up
