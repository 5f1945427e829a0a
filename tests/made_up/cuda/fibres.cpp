#include "made_up/cuda/fibres.h"

#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <vector>

// What a call must keep of the registers stays on the stack that is left.
extern "C" void made_up_switch_stacks(void** left, void* entered);
asm(R"(
.text
.type made_up_switch_stacks, @function
made_up_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size made_up_switch_stacks, .-made_up_switch_stacks
)");

namespace made_up::cuda {
namespace {

constexpr std::size_t kStack_bytes = std::size_t{64} << 10, kPage = 4096;
constexpr int kSavedRegisters = 6;
constexpr int kEnded = -1, kRunning = 0;  // beside the places of barriers

/// Stacks of a thread, kept from group to group. Nobody can touch the page below each.
class Stacks {
 public:
  ~Stacks() {
    for (std::byte* stack : stacks_) munmap(stack, kStack_bytes);
  }
  std::byte* end_of(int number) {
    while (stacks_.size() <= static_cast<std::size_t>(number)) {
      void* made =
          mmap(nullptr, kStack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) throw std::bad_alloc();
      mprotect(made, kPage, PROT_NONE);
      stacks_.push_back(static_cast<std::byte*>(made));
    }
    return stacks_[static_cast<std::size_t>(number)] + kStack_bytes;
  }

 private:
  std::vector<std::byte*> stacks_;
};

struct Group {
  const std::function<void()>* item = nullptr;
  void* scheduler = nullptr;  // its stack
  std::vector<void*> stacks;  // of the items, where they were left
  std::vector<int> at;        // the place of the barrier that each waits at
  std::size_t current = 0;
};
thread_local Group* group = nullptr;
thread_local Stacks stacks_of_thread;

void leave(int at) {
  group->at[group->current] = at;
  made_up_switch_stacks(&group->stacks[group->current], group->scheduler);
}

void enter_item() {
  (*group->item)();
  leave(kEnded);
  __builtin_unreachable();
}

/// What made_up_switch_stacks() takes from a stack that nothing has run on: registers, then where to go on.
void* fresh_stack(int number) {
  auto* top = reinterpret_cast<std::uint64_t*>(stacks_of_thread.end_of(number)) - 2;
  *top = reinterpret_cast<std::uint64_t>(&enter_item);
  for (int i = 0; i < kSavedRegisters; ++i) *--top = 0;
  return top;
}

}  // namespace

void barrier(int place) {
  leave(place);
}

void run_group(int count, bool last_first, const std::function<void(int)>& before, const std::function<void()>& item) {
  Group own;
  own.item = &item;
  own.at.assign(static_cast<std::size_t>(count), kRunning);
  for (int i = 0; i < count; ++i) own.stacks.push_back(fresh_stack(i));
  group = &own;
  do {
    for (int i = 0; i < count; ++i) {
      const int number = last_first ? count - 1 - i : i;
      own.current = static_cast<std::size_t>(number);
      before(number);
      made_up_switch_stacks(&own.scheduler, own.stacks[own.current]);
    }
    for (const int at : own.at) {
      if (at == own.at.front()) continue;
      const auto text = [](int place) {
        return place == kEnded ? std::string("its end") : "the barrier in line " + std::to_string(place);
      };
      throw Divergent("one item of a group is at " + text(own.at.front()) + ", another at " + text(at));
    }
  } while (own.at.front() != kEnded);
}

}  // namespace made_up::cuda
