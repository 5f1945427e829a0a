// The caching allocator: a block that is given back may be taken at once by the stream that it belongs to, as CUDA's
// may. It is overwritten in that stream's order then, so that whoever uses it still finds no values.
#include <c10/core/CachingDeviceAllocator.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

constexpr std::size_t kRounding = 512;

struct Block {
  void* address = nullptr;
  std::size_t bytes = 0;
  c10::DeviceIndex card = 0;
  Stream* stream = nullptr;
  std::uint64_t pool = 0;  // 0: everybody's
  std::set<Stream*> also;  // other streams whose work uses it
  bool has_old_values = false;
};

/// Blocks whose last users are not through.
struct Waiting {
  Block* block;
  std::vector<Event> events;
};

class Memory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device device(kType, current_card());
    if (bytes == 0) return {nullptr, nullptr, &give_back, device};
    Stream& stream = stream_now(device.index());
    Block* const block =
        asked([&] { return take(device.index(), stream, (bytes + kRounding - 1) / kRounding * kRounding); });
    return {block->address, block, &give_back, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const override {
    TORCH_CHECK(false, "the memory of a card is copied by its streams");
  }
  bool initialized() override { return true; }

  /// Gives memory back to the card, whose work is waited for, as cudaFree does.
  void emptyCache(c10::MempoolId_t /*pool*/) override {
    const std::lock_guard lock(mutex_);
    if (!recorded_.empty()) return;
    for (c10::DeviceIndex card = 0; card < cards(); ++card) asked([&] { release_free(card); });
  }

  void recordStream(const c10::DataPtr& memory_of_tensor, c10::Stream stream) override {
    if (memory_of_tensor.get() == nullptr) return;
    auto* const block = static_cast<Block*>(memory_of_tensor.get_context());
    Stream* const user = &stream_of(stream);
    const std::lock_guard lock(mutex_);
    if (user != block->stream) block->also.insert(user);
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex card) override {
    const std::lock_guard lock(mutex_);
    return stats_[card];
  }
  void resetAccumulatedStats(c10::DeviceIndex card) override {
    const std::lock_guard lock(mutex_);
    for (auto* each : counted(card)) each->reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex card) override {
    const std::lock_guard lock(mutex_);
    for (auto* each : counted(card)) each->reset_peak();
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex card) override {
    const MemoryState state = memory_of(card);
    return {state.total - state.used, state.total};
  }

  std::uint64_t begin_pool(Stream& stream) {
    const std::lock_guard lock(mutex_);
    recorded_.emplace(&stream, ++pools_);
    return pools_;
  }

  void end_pool(std::uint64_t pool) {
    const std::lock_guard lock(mutex_);
    std::erase_if(recorded_, [&](const auto& each) { return each.second == pool; });
    if (!recorded_.empty()) return;
    for (Block* block : std::exchange(after_recordings_, {})) wait_for_users(block);
  }

  void release_pool(std::uint64_t pool) {
    const std::lock_guard lock(mutex_);
    for (const auto& block : blocks_) {
      if (block.second->pool == pool) block.second->pool = 0;
    }
    for (auto at = free_.begin(); at != free_.end();) {
      if (std::get<0>(at->first) != pool) {
        ++at;
        continue;
      }
      for (Block* block : at->second) {
        block->has_old_values = true;
        free_[{0, block->stream, block->bytes}].push_back(block);
      }
      at = free_.erase(at);
    }
  }

 private:
  static void give_back(void* block) {
    if (block != nullptr) static_cast<Memory&>(memory()).free(static_cast<Block*>(block));
  }

  static auto aggregate(c10::CachingAllocator::StatArray& stats) {
    return &stats[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  }
  std::vector<c10::CachingAllocator::Stat*> counted(c10::DeviceIndex card) {
    auto& stats = stats_[card];
    return {aggregate(stats.reserved_bytes), aggregate(stats.allocated_bytes), aggregate(stats.allocation)};
  }

  /// The pool that work given to `stream` now takes its memory from.
  std::uint64_t pool_of(Stream& stream) const {
    if (recorded_.empty() || !stream.is_recorded()) return 0;
    const auto found = recorded_.find(&stream);
    return found != recorded_.end() ? found->second : recorded_.begin()->second;  // of one that was drawn in
  }

  Block* take(c10::DeviceIndex card, Stream& stream, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    take_back_what_passed();
    const std::uint64_t pool = pool_of(stream);
    Block* block = nullptr;
    auto& same = free_[{pool, &stream, bytes}];
    if (!same.empty()) {
      block = same.back();
      same.pop_back();
      if (block->has_old_values) overwrite(*block);
    } else {
      block = new_block(card, stream, bytes, pool);
    }
    aggregate(stats_[card].allocated_bytes)->increase(bytes);
    aggregate(stats_[card].allocation)->increase(1);
    return block;
  }

  Block* new_block(c10::DeviceIndex card, Stream& stream, std::size_t bytes, std::uint64_t pool) {
    auto block = std::make_unique<Block>();
    try {
      block->address = made_up::allocate(card, bytes);
    } catch (const OutOfMemory&) {
      if (!recorded_.empty()) throw;  // what the cache has can't be waited for
      release_free(card);
      block->address = made_up::allocate(card, bytes);
    }
    block->bytes = bytes;
    block->card = card;
    block->stream = &stream;
    block->pool = pool;
    aggregate(stats_[card].reserved_bytes)->increase(bytes);
    return blocks_.emplace(block->address, std::move(block)).first->second.get();
  }

  void free(Block* block) {
    const std::lock_guard lock(mutex_);
    aggregate(stats_[block->card].allocated_bytes)->decrease(block->bytes);
    aggregate(stats_[block->card].allocation)->decrease(1);
    if (block->also.empty()) {
      make_free(block);
    } else if (recorded_.empty()) {
      wait_for_users(block);
    } else {
      after_recordings_.push_back(block);
    }
  }

  void wait_for_users(Block* block) {
    Waiting waiting{block, {}};
    for (Stream* user : std::exchange(block->also, {})) waiting.events.emplace_back().record(*user);
    waiting_.push_back(std::move(waiting));
  }

  /// Nobody hurries for it.
  void take_back_what_passed() {
    if (!recorded_.empty()) return;
    std::erase_if(waiting_, [&](const Waiting& waiting) {
      for (const Event& event : waiting.events) {
        if (!event.has_passed()) return false;
      }
      make_free(waiting.block);
      return true;
    });
  }

  void make_free(Block* block) {
    const std::uint64_t recorded = pool_of(*block->stream);
    // What is written while a stream is recorded happens in each replay: there only to memory of the recording. After
    // that its memory is left alone: replays write what they read.
    const bool in_order = recorded == block->pool;
    if (in_order && (recorded != 0 || block->pool == 0)) {
      overwrite(*block);
    } else {
      block->has_old_values = true;
    }
    free_[{block->pool, block->stream, block->bytes}].push_back(block);
  }

  static void overwrite(Block& block) {
    block.has_old_values = false;
    // Bytes of which each floating type makes NaN.
    block.stream->queue(
        [address = for_work(block.address), bytes = block.bytes] { std::memset(address, 0xFF, bytes); });
  }

  void release_free(c10::DeviceIndex card) {
    wait_for_card(card);
    take_back_what_passed();
    wait_for_card(card);
    for (auto& [key, blocks] : free_) {
      if (std::get<0>(key) != 0) continue;
      std::erase_if(blocks, [&](Block* block) {
        if (block->card != card) return false;
        made_up::release(block->address);
        aggregate(stats_[card].reserved_bytes)->decrease(block->bytes);
        blocks_.erase(block->address);
        return true;
      });
    }
  }

  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Block>> blocks_;
  std::map<std::tuple<std::uint64_t, Stream*, std::size_t>, std::vector<Block*>> free_;  // by pool, stream and size
  std::vector<Waiting> waiting_;
  std::vector<Block*> after_recordings_;  // no event of a stream that is recorded would pass
  std::map<Stream*, std::uint64_t> recorded_;
  std::uint64_t pools_ = 0;
  std::map<c10::DeviceIndex, c10::CachingDeviceAllocator::DeviceStats> stats_;
};

Memory& own_memory() {
  static auto* made = new Memory;
  return *made;
}

const bool registered_memory = [] {
  c10::SetAllocator(kType, &own_memory());
  return true;
}();

}  // namespace

c10::DeviceAllocator& memory() {
  return own_memory();
}
std::uint64_t begin_pool(Stream& stream) {
  return own_memory().begin_pool(stream);
}
void end_pool(std::uint64_t pool) {
  own_memory().end_pool(pool);
}
void release_pool(std::uint64_t pool) {
  own_memory().release_pool(pool);
}

}  // namespace made_up::late
