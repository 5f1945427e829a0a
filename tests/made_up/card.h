// A made-up accelerator: streams whose work is done later, events, recordings of work, memory that the host can't
// touch. The made-up device of LibTorch, the made-up CUDA driver and the made-up NCCL are all made of it, so that code
// for GPUs meets on any machine what it meets there: nothing has happened yet when a call returns.
//
// A stream is as late as it can be: its work begins when somebody waits for it, or asks whether it is done, or when
// nobody has for MADE_UP_LATENESS_US (20000). Programs that order their work rightly can't tell the difference, others
// read what isn't there yet.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>

namespace made_up {

/// What a real card would refuse: waiting in a recording, memory that ends, a child of a process that used the card.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class OutOfMemory : public Refused {
 public:
  using Refused::Refused;
};

/// How many cards there are: MADE_UP_CARDS (1).
int cards();
/// Throws Refused in a child that was forked after the first use of a card; otherwise counts as a use.
void require_usable();
/// Whether require_usable() would throw.
bool is_spoilt_by_fork();

class Recording;
struct StreamState;
struct EventState;

/// Work in its order, done by a thread of the stream's own.
class Stream {
 public:
  explicit Stream(int card);
  /// Waits for the work.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int card() const;
  /// Does `work` later; while the stream is recorded, keeps it for replays instead. `work` must not throw.
  void queue(std::function<void()> work);
  bool idle();
  /// Throws Refused while the stream is recorded.
  void wait();

  /// From now on the stream's work is kept, not done, and that of streams which wait for its events.
  void begin_recording();
  bool is_recorded() const;
  /// Throws Refused when another stream was drawn in and never waited for; the recording is over all the same.
  std::unique_ptr<Recording> end_recording();

 private:
  friend class Event;
  friend class Recording;
  std::shared_ptr<StreamState> state_;
};

/// A point in a stream's work. Before record() it counts as passed.
class Event {
 public:
  Event();
  void record(Stream& stream);
  /// `stream` goes on when this point is passed.
  void hold_back(Stream& stream) const;
  bool passed() const;
  /// The same, without making anybody hurry: what was recorded into a recording has not passed.
  bool has_passed() const;
  /// Throws Refused where it was recorded into a recording.
  void wait() const;
  /// Both passed.
  double milliseconds_since(const Event& earlier) const;

 private:
  std::shared_ptr<EventState> state_;
};

/// Work that was kept. Streams that were drawn in have threads of their own in a replay too.
class Recording {
 public:
  Recording();
  ~Recording();
  void replay(Stream& stream);
  /// How many works it has.
  std::size_t size() const;

 private:
  friend class Stream;
  struct State;
  std::shared_ptr<State> state_;
};

/// Waits for all streams of a card that live.
void wait_for_card(int card);

/// Memory of a card, a multiple of 256, full of NaN. The host can't touch it at this address: it ends the program and
/// says so. Throws OutOfMemory when the card has fewer bytes left of its MADE_UP_MEMORY_BYTES (4 GiB).
void* allocate(int card, std::size_t bytes);
/// Ends the program where something wrote beyond the block's end. The memory is full of NaN from now on.
void release(void* block);
/// Where a stream's work finds what the card has at `address`. What is no card's memory is returned as it is.
void* for_work(const void* address);
/// Whether `address` to `address + bytes` lie in one block, of which card (-1: none).
int card_of(const void* address, std::size_t bytes = 1);
struct MemoryState {
  std::size_t total = 0, used = 0, peak = 0;
};
MemoryState memory_of(int card);
void forget_peak(int card);

/// Whether the calling thread is doing a stream's work.
bool is_work();

/// What happened so far in this process.
struct Counts {
  std::size_t waits = 0;    // of the host, for something that had not happened yet; asking over and over is one
  std::size_t replays = 0;  // of recordings
};
Counts counts();

}  // namespace made_up
