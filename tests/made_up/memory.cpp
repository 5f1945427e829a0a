#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "made_up/card.h"

namespace made_up {
namespace {

constexpr std::size_t kPage = 4096, kAlignment = 256;
/// Addresses, of which only those in use cost memory.
constexpr std::size_t kRegion_bytes = std::size_t{64} << 30;

std::size_t rounded_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

std::size_t number_from(const char* name, std::size_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr && *given != 0 ? std::strtoull(given, nullptr, 10) : otherwise;
}

[[noreturn]] void end(const char* text) {
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  std::abort();
}

/// The same memory at two addresses: the card's, which nobody can touch, and the one that work uses.
class Region {
 public:
  Region() {
    const int file = memfd_create("made_up_card", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(kRegion_bytes)) != 0) end("made-up card: no memory file\n");
    const auto map = [&](int protection) {
      return static_cast<std::byte*>(mmap(nullptr, kRegion_bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0));
    };
    card_ = map(PROT_NONE);
    work_ = map(PROT_READ | PROT_WRITE);
    close(file);
    if (card_ == MAP_FAILED || work_ == MAP_FAILED) end("made-up card: no addresses\n");
    struct sigaction action {};
    action.sa_sigaction = &told;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
  }

  std::byte* card() const { return card_; }
  std::byte* work() const { return work_; }
  bool has(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= card_ && at < card_ + kRegion_bytes;
  }

 private:
  static void told(int number, siginfo_t* info, void* context);

  std::byte *card_ = nullptr, *work_ = nullptr;
};

Region& region() {
  static auto* made = new Region;
  return *made;
}

void Region::told(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const Region& own = region();
  if (own.has(at)) end("made-up card: the host touched memory of the card\n");
  if (at >= own.work_ && at < own.work_ + kRegion_bytes) end("made-up card: work went beyond the end of its memory\n");
  // Somebody else's; the action is the default one by now, and the instruction is tried again.
}

struct Block {
  int card = 0;
  std::size_t bytes = 0, taken = 0;  // taken: with what is between its end and the next block
};

std::mutex mutex;
std::map<std::size_t, Block>& blocks() {  // by offset
  static auto* all = new std::map<std::size_t, Block>;
  return *all;
}
std::vector<MemoryState>& states() {
  static auto* all = [] {
    auto* made = new std::vector<MemoryState>(static_cast<std::size_t>(cards()));
    for (MemoryState& state : *made) state.total = number_from("MADE_UP_MEMORY_BYTES", std::size_t{4} << 30);
    return made;
  }();
  return *all;
}

void fill_with_nan(std::size_t offset, std::size_t bytes) {
  auto* values = reinterpret_cast<float*>(region().work() + offset);
  std::fill_n(values, bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
}

bool is_untouched(std::size_t offset, std::size_t from, std::size_t to) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::byte expected[sizeof nan];
  std::memcpy(expected, &nan, sizeof nan);
  for (std::size_t i = from; i < to; ++i) {
    if (region().work()[offset + i] != expected[i % sizeof nan]) return false;
  }
  return true;
}

/// The first gap of so many bytes.
std::size_t gap_of(std::size_t taken) {
  std::size_t at = 0;
  for (const auto& [offset, block] : blocks()) {
    if (offset - at >= taken) break;
    at = offset + block.taken;
  }
  return at;
}

std::atomic<pid_t> user{0};  // the process that used a card first

}  // namespace

int cards() {
  static const int count = static_cast<int>(number_from("MADE_UP_CARDS", 1));
  return count;
}

bool is_spoilt_by_fork() {
  const pid_t first = user;
  return first != 0 && first != getpid();
}

void require_usable() {
  pid_t nobody = 0;
  user.compare_exchange_strong(nobody, getpid());
  if (is_spoilt_by_fork()) throw Refused("a card can't be used in a child of a process that used it");
}

void* allocate(int card, std::size_t bytes) {
  require_usable();
  const std::lock_guard lock(mutex);
  MemoryState& state = states().at(static_cast<std::size_t>(card));
  const std::size_t whole = rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
  if (state.used + whole > state.total) throw OutOfMemory("the card is full");
  const std::size_t pages = rounded_up(whole, kPage);
  const std::size_t begin = gap_of(pages + kPage);
  if (begin + pages + kPage > kRegion_bytes) throw OutOfMemory("the card has no addresses left");
  // Its end is a page's, and nobody can touch the page after it.
  const std::size_t offset = begin + pages - whole;
  mprotect(region().work() + begin, pages, PROT_READ | PROT_WRITE);
  mprotect(region().work() + begin + pages, kPage, PROT_NONE);
  fill_with_nan(begin, pages);
  blocks()[begin] = {card, bytes, pages + kPage};
  state.used += whole;
  state.peak = std::max(state.peak, state.used);
  return region().card() + offset;
}

namespace {

/// The block that has the address, or the end.
std::map<std::size_t, Block>::iterator block_at(const void* address) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - region().card());
  auto next = blocks().upper_bound(offset);
  if (next == blocks().begin()) return blocks().end();
  --next;
  return offset < next->first + next->second.taken ? next : blocks().end();
}

std::size_t start_of(std::size_t begin, const Block& block) {
  return begin + block.taken - kPage - rounded_up(std::max<std::size_t>(block.bytes, 1), kAlignment);
}

}  // namespace

void release(void* address) {
  const std::lock_guard lock(mutex);
  const auto found = block_at(address);
  if (found == blocks().end()) end("made-up card: memory was released that was never allocated\n");
  const auto [begin, block] = *found;
  const std::size_t start = start_of(begin, block), whole = begin + block.taken - kPage - start;
  if (static_cast<std::size_t>(static_cast<std::byte*>(address) - region().card()) != start) {
    end("made-up card: memory was released by an address within it\n");
  }
  if (!is_untouched(start, block.bytes, whole) || !is_untouched(begin, 0, start - begin)) {
    end("made-up card: something wrote beyond the end of its memory\n");
  }
  fill_with_nan(begin, block.taken - kPage);
  madvise(region().work() + begin, block.taken - kPage, MADV_REMOVE);
  states()[static_cast<std::size_t>(block.card)].used -= whole;
  blocks().erase(found);
}

void* for_work(const void* address) {
  if (address == nullptr || !region().has(address)) return const_cast<void*>(address);
  return region().work() + (static_cast<const std::byte*>(address) - region().card());
}

int card_of(const void* address, std::size_t bytes) {
  if (!region().has(address)) return -1;
  const std::lock_guard lock(mutex);
  const auto found = block_at(address);
  if (found == blocks().end()) return -1;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - region().card());
  const std::size_t start = start_of(found->first, found->second);
  return offset >= start && offset + bytes <= start + found->second.bytes ? found->second.card : -1;
}

MemoryState memory_of(int card) {
  const std::lock_guard lock(mutex);
  return states().at(static_cast<std::size_t>(card));
}

void forget_peak(int card) {
  const std::lock_guard lock(mutex);
  MemoryState& state = states().at(static_cast<std::size_t>(card));
  state.peak = state.used;
}

}  // namespace made_up
