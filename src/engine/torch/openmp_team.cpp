#include "engine/torch/openmp_team.h"

#include <unistd.h>

#include <algorithm>

namespace evener::engine::torch_engine::openmp {

void WorkShare::begin(long begin, long end, long step, long chunk) {
  const std::lock_guard lock(mutex_);
  if (has_begun_) return;
  has_begun_ = true;
  next_ = begin;
  end_ = end;
  step_ = step;
  chunk_ = std::max(1L, chunk);
}

bool WorkShare::take(long* first, long* last, long* turn) {
  const std::lock_guard lock(mutex_);
  if (step_ > 0 ? next_ >= end_ : next_ <= end_) return false;
  *first = next_;
  const long most = (end_ - next_) / step_ + ((end_ - next_) % step_ != 0 ? 1 : 0);
  next_ += std::min(chunk_, most) * step_;
  *last = step_ > 0 ? std::min(next_, end_) : std::max(next_, end_);
  *turn = turns_given_++;
  return true;
}

void WorkShare::await_turn(long turn) {
  std::unique_lock lock(mutex_);
  turns_.wait(lock, [&] { return turn_ == turn; });
}

void WorkShare::end_turn(long turn) {
  await_turn(turn);
  const std::lock_guard lock(mutex_);
  ++turn_;
  turns_.notify_all();
}

WorkShare& Region::share(int number) {
  const std::lock_guard lock(mutex_);
  return shares_[number];
}

Position& position() {
  thread_local Position of_this_thread;
  return of_this_thread;
}

Team::Team() : process_(getpid()) {
  members_.emplace_back();
}

Team::~Team() {
  if (!is_alive()) return;
  ending_ = true;
  for (std::size_t i = 1; i < members_.size(); ++i) announce(members_[i].rounds, members_[i].sleepers);
  for (std::size_t i = 1; i < members_.size(); ++i) pthread_join(members_[i].handle, nullptr);
}

bool Team::is_alive() const {
  return getpid() == process_;
}

void Team::start(int size) {
  while (members_.size() < static_cast<std::size_t>(size)) {
    Member& member = members_.emplace_back();
    member.team = this;
    member.caller = &members_.front();
    member.number = static_cast<int>(members_.size()) - 1;
    const auto begin = [](void* of) -> void* {
      auto& self = *static_cast<Member*>(of);
      self.team->serve(self);
      return nullptr;
    };
    if (pthread_create(&member.handle, nullptr, begin, &member) != 0) {
      members_.pop_back();
      return;
    }
    ++size_;
  }
}

void Team::run(Region& region) {
  Member& caller = members_.front();
  caller.tie.begin(caller.thread.place(), 0);
  start(region.size);
  region.size = std::min(region.size, static_cast<int>(members_.size()));
  for (int i = 0; i < region.size; ++i) members_[static_cast<std::size_t>(i)].stage = 0;
  arrivals_before_ = arrivals_;
  caller.thread.settle();
  for (int i = 1; i < region.size; ++i) {
    Member& member = members_[static_cast<std::size_t>(i)];
    member.region = &region;
    announce(member.rounds, member.sleepers);
  }
  Position& here = position();
  const Position before = here;
  here = {.region = &region, .team = this, .is_parallel = true, .most_threads = region.most_threads};
  region.body(region.data);
  const std::uint32_t last = caller.stage + 1;
  here = before;
  caller.thread.settle();
  arrive(caller, last);
  await_all(caller, region, last);
}

void Team::serve(Member& member) {
  member.tie.begin(member.thread.place(), member.number, &member.caller->thread.place());
  for (std::uint32_t seen = 0;; ++seen) {
    StepWait(member.thread, size_)
        .until(
            member.rounds, member.sleepers, [&] { return member.rounds != seen; },
            [&] { return &member.caller->thread; });
    if (ending_) return;
    Region& region = *member.region;
    position() = {.region = &region,
                  .team = this,
                  .member = member.number,
                  .is_parallel = true,
                  .most_threads = region.most_threads};
    region.body(region.data);
    position() = {};
    member.thread.settle();
    arrive(member, member.stage + 1);
  }
}

void Team::arrive(Member& member, std::uint32_t stage) {
  member.stage = stage;
  announce(arrivals_, sleepers_);
}

/// Counts arrivals instead of looking at each member, since all who wait would read as many cache lines as there are
/// members. Nobody passes a barrier before all others have reached it, so the count tells.
void Team::await_all(Member& member, const Region& region, std::uint32_t stage) {
  const std::uint32_t all = stage * static_cast<std::uint32_t>(region.size);
  const auto missing = [&]() -> StepThread* {
    for (int i = 0; i < region.size; ++i) {
      Member& other = members_[static_cast<std::size_t>(i)];
      if (other.stage < stage) return &other.thread;
    }
    return nullptr;
  };
  StepWait(member.thread, region.size)
      .until(
          arrivals_, sleepers_, [&] { return arrivals_ - arrivals_before_ >= all; }, missing);
}

void Team::barrier(int number, const Region& region) {
  Member& member = members_[static_cast<std::size_t>(number)];
  const std::uint32_t stage = member.stage + 1;
  member.thread.settle();
  arrive(member, stage);
  await_all(member, region, stage);
}

}  // namespace evener::engine::torch_engine::openmp
