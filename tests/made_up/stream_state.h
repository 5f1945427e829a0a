// What streams, events and recordings know of each other. Inside made_up/ only; all of it under everything().
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "made_up/card.h"

namespace made_up {

using Clock = std::chrono::steady_clock;

/// One lock for all cards: what is to be caught is order, not speed.
std::mutex& everything();
/// Streams that were not destroyed.
std::set<StreamState*>& living();
/// The host waits for `what`.
void count_wait(const void* what);
void count_replay();

/// A point that work passes, once.
struct Point {
  bool passed = false;
  Clock::time_point at;
  std::condition_variable changed;
  std::weak_ptr<StreamState> stream;  // which passes it
};

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

  /// On the stream's thread.
  void run();

  void start();

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
  std::map<int, std::pair<int, int>> of_point;  // point -> its lane, and how many that had kept
};

struct EventState {
  std::shared_ptr<Point> point;    // null: never recorded, or
  std::shared_ptr<Keeper> keeper;  // recorded into a recording
  int number = -1;                 // there
};

}  // namespace made_up
