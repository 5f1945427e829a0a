#include "parallel/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/cpu.h"
#include "base/descriptor.h"
#include "base/message.h"
#include "base/phase.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "engine/engine.h"

namespace evener::parallel {
namespace {

constexpr std::chrono::milliseconds kBeat{250};

double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Checks whether the process's other threads use any CPU time.
class Activity {
 public:
  /// From the one thread that only looks. Counts looks rather than seconds, so that a stop of everything (Ctrl-Z, a
  /// suspended laptop) isn't taken for idleness.
  void look() {
    constexpr double kNoise_s = 50e-6;  // used by this thread between reading the two clocks
    const double own_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    const double others_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - own_s;
    ++quiet_looks_;
    if (others_s < used_s_ + kNoise_s) return;
    used_s_ = others_s;
    quiet_looks_ = 0;
  }
  std::int64_t quiet_looks() const { return quiet_looks_; }

 private:
  double used_s_ = 0;
  std::int64_t quiet_looks_ = 0;
};

/// A process's signs of life, and its own check that it doesn't hang.
class Heartbeat {
 public:
  /// Calls `beat` four times a second on a thread of its own, since the process's other threads may compute for
  /// minutes. Once these have used no CPU time for `hangs_after`, calls `on_hang`, which has to end the process.
  /// Threads that wait for other ranks poll now and then, so they use some CPU time and aren't taken for hung.
  Heartbeat(std::function<void()> beat, std::chrono::milliseconds hangs_after, std::function<void()> on_hang);

 private:
  std::mutex mutex_;
  std::condition_variable_any condition_;
  std::jthread thread_;
};

Heartbeat::Heartbeat(std::function<void()> beat, std::chrono::milliseconds hangs_after, std::function<void()> on_hang) {
  thread_ = std::jthread(
      [this, beat = std::move(beat), hangs_after, on_hang = std::move(on_hang)](const std::stop_token& stop) {
        Activity activity;
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
          beat();
          condition_.wait_for(lock, stop, kBeat, [] { return false; });
          activity.look();
          if (activity.quiet_looks() * kBeat >= hangs_after && !stop.stop_requested()) on_hang();
        }
      });
}

constexpr int kLook_ms = 100;  // between looks at the children
/// Looks without a sign of life after which a process counts as frozen: 6 s. Looks are counted rather than seconds, so
/// that a stop of everything (Ctrl-Z, a suspended laptop) isn't taken for one.
constexpr int kFrozenLooks = 60;

std::string progress_text(const comm::SharedGroup::Progress& at) {
  if (at.epoch == 0) return "";
  return "; it was in epoch " + std::to_string(at.epoch) + ", step " + std::to_string(at.step);
}

RankOutcome failed(const RankContext& context, RankOutcome::Kind kind, const std::string& text) {
  context.tell_failure(text);
  return {context.local_rank, kind, context.failed_first(), text};
}

/// The outcome of a rank that ran out of memory. If there are other ranks, it counts as lost, so that the run may
/// continue from its last checkpoint, if necessary without this rank.
RankOutcome out_of_memory(const RankContext& context, const std::string& text) {
  if (context.ranks == 1) return failed(context, RankOutcome::Kind::kError, text);
  const auto at =
      context.group != nullptr ? context.group->progress(context.local_rank) : comm::SharedGroup::Progress{};
  return failed(context, RankOutcome::Kind::kLost,
                "rank " + std::to_string(context.rank) + ": " + text + progress_text(at));
}

/// On the pipe an outcome is its message, preceded by the message's size.
using FrameSize = std::uint64_t;

void write_all(int pipe, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(pipe, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody is left to read
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void send_outcome(const RankOutcome& outcome, int pipe) {
  const std::string message = pack_message(outcome);
  const FrameSize size = message.size();
  write_all(pipe, &size, sizeof size);
  write_all(pipe, message.data(), message.size());
}

/// Reports that this process hangs, and ends it.
[[noreturn]] void give_up(const RankContext& context, std::chrono::milliseconds quiet, int pipe) {
  const std::int64_t quiet_s = std::chrono::duration_cast<std::chrono::seconds>(quiet).count();
  const std::string text = "rank " + std::to_string(context.rank) + " (process " + std::to_string(getpid()) +
                           ") hangs: it has used no processor for " + std::to_string(quiet_s) +
                           " s, and waits for no other rank (a disk or a device that does not answer?)" +
                           progress_text(context.group->progress(context.local_rank));
  send_outcome(failed(context, RankOutcome::Kind::kLost, text), pipe);
  _exit(1);
}

/// The life of a child process. It ends with _exit(), without destructors, because objects may wait for threads that
/// only the parent has.
[[noreturn]] void live(const std::vector<RankContext>& contexts, const RankBody& body,
                       std::chrono::milliseconds hangs_after, int pipe) {
  std::vector<RankOutcome> outcomes;
  {
    const auto beat = [&] {
      for (const RankContext& context : contexts) context.group->beat(context.local_rank);
    };
    const Heartbeat heartbeat(beat, hangs_after, [&] { give_up(contexts.front(), hangs_after, pipe); });
    outcomes = run_ranks(contexts, body);
  }
  for (const RankOutcome& outcome : outcomes) send_outcome(outcome, pipe);
  std::fflush(nullptr);
  _exit(0);
}

/// One child as the parent sees it.
struct Child {
  pid_t pid = -1;
  std::vector<RankContext> contexts;
  Descriptor pipe;
  std::string received;
  std::uint64_t beats = 0;
  int looks_without_beat = 0;
  bool ended = false;
};

class Watch {
 public:
  Watch(const placement::Plan& plan, comm::SharedGroup& group, const LaunchOptions& options)
      : plan_(plan), options_(options), group_(group), oom_kills_before_(oom_kills()) {}

  /// Kills all remaining children.
  ~Watch() {
    for (Child& child : children_) {
      if (child.ended) continue;
      kill(child.pid, SIGKILL);
      await_end(child);
    }
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Forks a child for each list of contexts.
  void start(const std::vector<std::vector<RankContext>>& contexts, const RankBody& body) {
    std::fflush(nullptr);  // or children would write buffered output again
    const PhaseMark mark(Phase::kSpawn);
    for (const auto& of_process : contexts) start(of_process, body);
  }

  std::vector<pid_t> pids() const {
    std::vector<pid_t> pids;
    for (const Child& child : children_) pids.push_back(child.pid);
    return pids;
  }

  /// Waits until all ranks have ended well or one has failed. If only consequences of another rank's failure are known
  /// so far, waits some time for that rank's own message, but not for ever, since it may hang.
  std::vector<RankOutcome> wait() {
    std::vector<RankOutcome> outcomes;
    int looks_since_failure = 0;
    while (true) {
      const bool quiet = read_pipes(outcomes);
      bool failed = false;
      for (const RankOutcome& outcome : outcomes) {
        if (outcome.kind == RankOutcome::Kind::kDone) continue;
        if (outcome.first) return outcomes;
        failed = true;
      }
      if (failed && ++looks_since_failure > kFrozenLooks) return outcomes;
      if (!reap(outcomes)) return outcomes;
      if (quiet) look_for_frozen();
      pass_on_stop();
    }
  }

 private:
  void start(const std::vector<RankContext>& contexts, const RankBody& body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("can't make a pipe: ") + std::strerror(errno));
    Child child;
    child.contexts = contexts;
    child.pipe = Descriptor(ends[0]);
    Descriptor writer(ends[1]);
    const pid_t parent = getpid();
    const BlockedStopSignals blocked;
    child.pid = fork();
    if (child.pid < 0) throw Error(std::string("can't start a process for a replica: ") + std::strerror(errno));
    if (child.pid == 0) become_child(parent, contexts, body, writer.get());
    add_live_child(child.pid);
    children_.push_back(std::move(child));
  }

  [[noreturn]] void become_child(pid_t parent, const std::vector<RankContext>& contexts, const RankBody& body,
                                 int pipe) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent died before prctl()
    clear_stop_request();               // the parent passes it on
    take_stop_signals_as_one();
    for (Child& sibling : children_) sibling.pipe.close();
    live(contexts, body, options_.hangs_after, pipe);
  }

  /// True if no data came for kLook_ms. A long result comes in many pieces, each of which returns at once.
  bool read_pipes(std::vector<RankOutcome>& outcomes) {
    std::vector<pollfd> polled;
    for (const Child& child : children_) polled.push_back({child.pipe.get(), POLLIN, 0});
    const bool quiet = poll(polled.data(), polled.size(), kLook_ms) == 0;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (children_[i].pipe.valid() && polled[i].revents != 0) read_pipe(children_[i], outcomes);
    }
    return quiet;
  }

  static void read_pipe(Child& child, std::vector<RankOutcome>& outcomes) {
    char buffer[65536];
    const ssize_t count = read(child.pipe.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      child.pipe.close();
      return;
    }
    child.received.append(buffer, static_cast<std::size_t>(count));
    FrameSize size = 0;
    while (child.received.size() >= sizeof size) {
      std::memcpy(&size, child.received.data(), sizeof size);
      if (child.received.size() - sizeof size < size) return;
      const std::string_view message = std::string_view(child.received).substr(sizeof size, size);
      outcomes.push_back(unpack_message<RankOutcome>(message, "the outcome of a rank"));
      child.received.erase(0, sizeof size + size);
    }
  }

  /// Collects ended children; false when none is left. Throws RankLost if one ended without sending its outcome.
  bool reap(const std::vector<RankOutcome>& outcomes) {
    bool running = false;
    for (Child& child : children_) {
      if (child.pipe.valid()) {  // it may still send something
        running = true;
        continue;
      }
      if (child.ended) continue;
      const int status = await_end(child);
      std::size_t told = 0;
      for (const RankOutcome& outcome : outcomes) {
        for (const RankContext& context : child.contexts) told += outcome.rank == context.local_rank ? 1 : 0;
      }
      if (told == child.contexts.size()) continue;
      const ChildEnd end = WIFEXITED(status) ? ChildEnd{WEXITSTATUS(status), 0} : ChildEnd{0, WTERMSIG(status)};
      lose(child, "ended with " + end_text(end) + reason_of(end));
    }
    return running;
  }

  /// Waits for the end of a child, and returns its status as waitpid() does.
  int await_end(Child& child) const {
    int status = 0;
    rusage usage{};
    while (wait4(child.pid, &status, 0, &usage) < 0 && errno == EINTR) continue;
    remove_live_child(child.pid);
    child.ended = true;
    if (options_.on_ended) options_.on_ended(child.pid, static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
    return status;
  }

  std::string reason_of(const ChildEnd& end) const {
    if (end.signal != SIGKILL) return "";
    if (oom_kills() > oom_kills_before_) {
      return ": the kernel's out-of-memory killer. Use a smaller --batch or fewer replicas";
    }
    return ": somebody killed it, or the machine ran out of memory";
  }

  void look_for_frozen() {
    for (Child& child : children_) {
      if (child.ended) continue;
      const std::uint64_t beats = group_.beats(child.contexts.front().local_rank);
      child.looks_without_beat = beats == child.beats ? child.looks_without_beat + 1 : 0;
      child.beats = beats;
      if (child.looks_without_beat < kFrozenLooks) continue;
      lose(child, "has given no sign of life for " + std::to_string(kFrozenLooks * kLook_ms / 1000) +
                      " s (stopped by a signal, or the machine is swapping)");
    }
  }

  [[noreturn]] void lose(const Child& child, const std::string& what) {
    if (group_.aborted()) throw Error(group_.abort_reason());  // its end is a consequence
    const int rank = child.contexts.front().rank;
    const auto at = group_.progress(child.contexts.front().local_rank);
    const auto& device = placement::stage_of(plan_, rank);
    std::string text = placement::rank_text(plan_, rank) + " (process " + std::to_string(child.pid) + ", " +
                       device_text(device.device);
    if (device.device.kind == DeviceKind::kCpu) text += "/t" + std::to_string(device.threads);
    text += ") " + what;
    text += progress_text(at);
    group_.abort(text);
    throw RankLost(rank, text);
  }

  void pass_on_stop() {
    if (!stop_requested() || told_to_stop_) return;
    told_to_stop_ = true;
    for (const Child& child : children_) {
      if (!child.ended) kill(child.pid, SIGTERM);
    }
  }

  const placement::Plan& plan_;
  const LaunchOptions& options_;
  comm::SharedGroup& group_;
  const std::uint64_t oom_kills_before_;
  std::vector<Child> children_;
  bool told_to_stop_ = false;
};

}  // namespace

RankOutcome outcome_of(const RankContext& context, const RankBody& body) {
  using Kind = RankOutcome::Kind;
  try {
    return {context.local_rank, Kind::kDone, true, body(context)};
  } catch (const UsageError& error) {
    return failed(context, Kind::kUsageError, error.what());
  } catch (const Interrupted& error) {
    return failed(context, Kind::kInterrupted, error.what());
  } catch (const engine::OutOfMemory& error) {
    return out_of_memory(context, error.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory(context, "out of memory; use a smaller --batch or fewer replicas");
  } catch (const std::exception& error) {
    return failed(context, Kind::kError, error.what());
  }
}

std::vector<std::string> results_of(const std::vector<RankOutcome>& outcomes) {
  using Kind = RankOutcome::Kind;
  const RankOutcome* failure = nullptr;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.kind == Kind::kDone) continue;
    if (failure == nullptr || (outcome.first && !failure->first)) failure = &outcome;
  }
  if (failure == nullptr) {
    std::vector<std::string> results(outcomes.size());
    for (const RankOutcome& outcome : outcomes) results.at(static_cast<std::size_t>(outcome.rank)) = outcome.text;
    return results;
  }
  if (failure->kind == Kind::kUsageError) throw UsageError(failure->text);
  if (failure->kind == Kind::kInterrupted) throw Interrupted(failure->text);
  if (failure->kind == Kind::kLost) throw RankLost(failure->rank, failure->text);
  throw Error(failure->text);
}

std::vector<RankOutcome> run_ranks(const std::vector<RankContext>& contexts, const RankBody& body) {
  std::vector<RankOutcome> outcomes(contexts.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < contexts.size(); ++i) {
    threads.emplace_back(as_this_work([&, i] { outcomes[i] = outcome_of(contexts[i], body); }));
  }
  outcomes[0] = outcome_of(contexts[0], body);
  threads.clear();  // joins
  return outcomes;
}

std::vector<RankOutcome> run_processes(const placement::Plan& plan,
                                       const std::vector<std::vector<RankContext>>& contexts, const RankBody& body,
                                       const LaunchOptions& options) {
  Watch watch(plan, *contexts.front().front().group, options);
  watch.start(contexts, body);
  if (options.on_started) options.on_started(watch.pids());
  return watch.wait();
}

}  // namespace evener::parallel
