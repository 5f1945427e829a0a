#include <cstdlib>
#include <utility>

#include "made_up/stream_state.h"

namespace made_up {
namespace {

thread_local bool in_work = false;

std::chrono::microseconds lateness() {
  static const auto value = [] {
    const char* given = std::getenv("MADE_UP_LATENESS_US");
    return std::chrono::microseconds(given != nullptr ? std::atoll(given) : 20000);
  }();
  return value;
}

Counts counted;  // under everything()
const void* last_asked = nullptr;

/// The process ends: what work needs is about to go.
bool leaving = false;

/// For ever: a thread that ended would have to be joined.
[[noreturn]] void stay(std::condition_variable& changed, std::unique_lock<std::mutex>& lock) {
  while (true) changed.wait(lock);
}

}  // namespace

std::mutex& everything() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::set<StreamState*>& living() {
  static auto* streams = new std::set<StreamState*>;
  return *streams;
}

void count_wait(const void* what) {
  if (what != last_asked) ++counted.waits;
  last_asked = what;
}

void count_replay() {
  ++counted.replays;
}

bool is_work() {
  return in_work;
}

Counts counts() {
  const std::lock_guard lock(everything());
  return counted;
}

void StreamState::run() {
  in_work = true;
  std::unique_lock lock(everything());
  while (true) {
    changed.wait(lock, [&] { return ends || leaving || !items.empty(); });
    if (leaving) stay(changed, lock);
    if (items.empty()) return;
    const auto due = items.front().queued + lateness();
    changed.wait_until(lock, due, [&] { return wanted || ends || leaving; });
    if (leaving) stay(changed, lock);
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

void StreamState::start() {
  thread = std::thread([this] { run(); });
  living().insert(this);
}

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

bool Stream::is_recorded() const {
  const std::lock_guard lock(everything());
  return state_->keeper != nullptr;
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
