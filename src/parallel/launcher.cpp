#include "parallel/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/cpu.h"
#include "base/descriptor.h"
#include "base/forked.h"
#include "base/host_name.h"
#include "base/message.h"
#include "base/phase.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "comm/communicator.h"
#include "engine/engine.h"

namespace evener::parallel {
namespace {

struct RankOutcome {
  /// kLost: out of memory or hanging, so that the run may go on from its last checkpoint.
  enum class Kind : std::int32_t { kDone, kError, kUsageError, kInterrupted, kLost };
  int rank = 0;  // on its host
  Kind kind = Kind::kDone;
  bool first = true;  // false: the rank failed because another rank had failed
  std::string text;   // the result, or the error message
};

void describe(auto& visitor, Of<RankOutcome> auto& outcome) {
  visitor.members(outcome.rank, outcome.kind, outcome.first, outcome.text);
}

constexpr std::chrono::milliseconds kBeat{250};

double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A process's signs of life, and its own check that it doesn't hang.
class Heartbeat {
 public:
  /// Calls `beat` four times a second on a thread of its own, since the process's other threads may compute for
  /// minutes. Once these have used no CPU time for `hangs_after`, calls `on_hang`, which has to end the process.
  /// Threads that wait for other ranks poll now and then, so they use some CPU time and aren't taken for hung.
  template <class Beat, class OnHang>
  Heartbeat(Beat beat, std::chrono::milliseconds hangs_after, OnHang on_hang) {
    thread_ = std::jthread([=, this](const std::stop_token& stop) {
      constexpr double kNoise_s = 50e-6;  // used by this thread between reading the two clocks
      double used_s = 0;
      // Looks are counted rather than seconds, so that a stop of everything (Ctrl-Z, a suspended laptop) isn't taken
      // for idleness.
      std::int64_t quiet_looks = 0;
      std::unique_lock lock(mutex_);
      while (!stop.stop_requested()) {
        beat();
        condition_.wait_for(lock, stop, kBeat, [] { return false; });
        const double own_s = clock_s(CLOCK_THREAD_CPUTIME_ID), others_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - own_s;
        ++quiet_looks;
        if (others_s >= used_s + kNoise_s) {
          used_s = others_s;
          quiet_looks = 0;
        }
        if (quiet_looks * kBeat >= hangs_after && !stop.stop_requested()) on_hang();
      }
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any condition_;
  std::jthread thread_;
};

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

/// Runs `body` and turns an exception into an outcome. A failure also aborts the group, so that no other rank waits for
/// this one.
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

/// The results by local rank. If any rank failed, throws the first failure instead.
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

/// Runs the contexts of one process: the first on the calling thread, the others on threads of their own.
std::vector<RankOutcome> run_threads(const std::vector<RankContext>& contexts, const RankBody& body) {
  std::vector<RankOutcome> outcomes(contexts.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < contexts.size(); ++i) {
    threads.emplace_back(as_this_work([&, i] { outcomes[i] = outcome_of(contexts[i], body); }));
  }
  outcomes[0] = outcome_of(contexts[0], body);
  threads.clear();  // joins
  return outcomes;
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
[[noreturn]] void end_hung(const RankContext& context, std::chrono::milliseconds quiet, int pipe) {
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
    const Heartbeat heartbeat(beat, hangs_after, [&] { end_hung(contexts.front(), hangs_after, pipe); });
    outcomes = run_threads(contexts, body);
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
    {
      const PhaseMark mark(Phase::kSpawn);
      for (const auto& of_process : contexts) start(of_process, body);
    }
    std::vector<pid_t> pids;
    for (const Child& child : children_) pids.push_back(child.pid);
    if (options_.on_started) options_.on_started(pids);
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
      return ": the kernel's out-of-memory killer. Use a smaller --batch or fewer replicas, or " + memory_advice();
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

std::string failure_of(const RankContext& context) {
  return "rank " + std::to_string(context.rank) + " failed: ";
}

constexpr int kControl = 0, kSums = 1, kGradients = 2, kChannels = 3;
/// Channels between neighbouring stages: two pairs that alternate along the pipeline, so that a stage's two sides use
/// different ones.
constexpr int kLinks = 4;

/// The number of channels that also connect hosts: those above for the first stage, and two for each further stage.
int summing_channels(int stages) {
  return kChannels + 2 * (stages - 1);
}
/// How long ranks may take to end by themselves after the loss of a host; a rank in a long computation doesn't notice
/// it.
constexpr std::chrono::seconds kGraceOfRanks{3};

std::unique_ptr<comm::Communicator> local_channel(const RankContext& context, int index) {
  const char* name = context.own_process ? "shm" : "threads";
  return context.group == nullptr ? comm::make_self_communicator()
                                  : context.group->join(context.local_rank, index, name);
}

/// Extends the channel `local` to all hosts, if there are several; the local rank `leader` talks to the other hosts.
std::unique_ptr<comm::Communicator> over_hosts(const RankContext& context, std::unique_ptr<comm::Communicator> local,
                                               int index, int leader) {
  if (context.hosts == 1) return local;
  const bool leads = context.link != nullptr && context.local_rank == leader;
  auto between = leads ? context.link->channel(index) : nullptr;
  return comm::make_hierarchical_communicator(std::move(local), std::move(between), context.host, context.hosts,
                                              leader);
}

std::unique_ptr<comm::Communicator> channel_of(const RankContext& context, int index) {
  return over_hosts(context, local_channel(context, index), index, /*leader=*/0);
}

/// The channel between the same stage of all replicas.
std::unique_ptr<comm::Communicator> peers_of(const RankContext& context, int index) {
  if (context.stages == 1) return channel_of(context, index);
  const int stage = context.rank % context.stages;
  const int own_index = stage == 0 ? index : kChannels + 2 * (stage - 1) + index - kSums;
  auto local = local_channel(context, own_index);
  std::vector<int> ranks;
  for (int rank = stage; rank < context.ranks / context.hosts; rank += context.stages) ranks.push_back(rank);
  local->set_members(ranks);
  return over_hosts(context, std::move(local), own_index, /*leader=*/stage);
}

StageChannels links_of(const RankContext& context) {
  const int stage = context.rank % context.stages;
  const int first = summing_channels(context.stages);
  StageChannels links;
  if (stage > 0) {
    const int before = first + 2 * ((stage - 1) % 2);
    links.values_in = local_channel(context, before);
    links.gradients_out = local_channel(context, before + 1);
  }
  if (stage + 1 < context.stages) {
    const int after = first + 2 * (stage % 2);
    links.values_out = local_channel(context, after);
    links.gradients_in = local_channel(context, after + 1);
  }
  return links;
}

/// Ends this process because a host was lost. If the ranks are `watched` child processes, their parent reports the
/// reason; else this process does.
void give_up(const RankContext& context, const std::string& what, bool watched) {
  if (context.group != nullptr) context.group->abort(what);
  std::thread([what, watched] {
    std::this_thread::sleep_for(kGraceOfRanks);
    if (!watched) std::fprintf(stderr, "evener: on host %s: %s\n", host_name().c_str(), what.c_str());
    _exit(1);
  }).detach();
}

/// Connects this host with the others.
std::unique_ptr<HostLink> connect(const RankContext& context, const HostsOptions& hosts, bool watched) {
  const PhaseMark mark(Phase::kConnect);
  auto link = std::make_unique<HostLink>(hosts, summing_channels(context.stages));
  link->watch([context, watched](const std::string& what) { give_up(context, what, watched); });
  return link;
}

/// Runs `body` in a process of the rank's own. The leading rank of a host connects the host with the others before, and
/// waits for them afterwards.
std::string run_connected(const RankContext& context, const RankBody& body, const HostsOptions& hosts) {
  if (hosts.hosts == 1 || context.local_rank != 0) return body(context);
  const std::unique_ptr<HostLink> link = connect(context, hosts, /*watched=*/true);
  RankContext connected = context;
  connected.link = link.get();
  std::string result = body(connected);
  link->close();
  return result;
}

/// Runs `body` for ranks that are threads of this process. The first replica's stages lead those of the others.
std::vector<RankOutcome> run_connected_threads(std::vector<RankContext> contexts, const RankBody& body,
                                               const HostsOptions& hosts) {
  if (hosts.hosts == 1) return run_threads(contexts, body);
  const std::unique_ptr<HostLink> link = connect(contexts.front(), hosts, /*watched=*/false);
  for (RankContext& context : contexts) context.link = context.local_rank < context.stages ? link.get() : nullptr;
  auto outcomes = run_threads(contexts, body);
  // After a failure don't wait in the final barrier: the others notice this host's end.
  const bool all_done =
      std::ranges::all_of(outcomes, [](const RankOutcome& each) { return each.kind == RankOutcome::Kind::kDone; });
  if (all_done) link->close();
  return outcomes;
}

}  // namespace

Channels RankContext::channels() const {
  const bool one_host = group != nullptr && hosts == 1;
  return {channel_of(*this, kControl), peers_of(*this, kSums), peers_of(*this, kGradients),
          one_host ? group->common() : std::span<std::byte>(), links_of(*this)};
}

void RankContext::tell_failure(const std::string& why) const {
  if (group != nullptr) group->abort(failure_of(*this) + why);
}

bool RankContext::failed_first() const {
  return group == nullptr || group->abort_reason().starts_with(failure_of(*this));
}

std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options) {
  const int ranks = placement::rank_count(plan), local_ranks = ranks / options.hosts.hosts;
  const bool processes = plan.processes.size() > 1 || (options.always_fork && may_fork());
  std::unique_ptr<comm::SharedGroup> group;
  if (local_ranks > 1 || options.always_group || processes) {
    comm::SharedGroupOptions of_group;
    of_group.ranks = local_ranks;
    const int stages = placement::stage_count(plan);
    of_group.channels = summing_channels(stages) + (stages > 1 ? kLinks : 0);
    of_group.common_bytes = options.shared_bytes;
    group = std::make_unique<comm::SharedGroup>(of_group);
  }
  std::vector<std::vector<RankContext>> contexts;
  for (const auto& process : plan.processes) {
    contexts.emplace_back();
    for (const int local_rank : process.ranks) {
      const int rank = options.hosts.host * local_ranks + local_rank;
      contexts.back().push_back({rank, ranks, group.get(), process.ranks.size() == 1, local_rank, options.hosts.host,
                                 options.hosts.hosts, nullptr, placement::stage_count(plan)});
    }
  }
  if (!processes) return results_of(run_connected_threads(contexts.front(), body, options.hosts));
  const RankBody connected = [&](const RankContext& context) { return run_connected(context, body, options.hosts); };
  Watch watch(plan, *group, options);
  watch.start(contexts, connected);
  return results_of(watch.wait());
}

}  // namespace evener::parallel
