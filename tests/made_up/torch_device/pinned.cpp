// Host memory that streams may read and write late, and the hooks by which LibTorch asks for it.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

constexpr std::size_t kPinnedRounding = 4096;

struct PinnedBlock {
  std::size_t bytes = 0;
  std::set<Stream*> users;
  bool is_recorded = false;  // work of a recording uses it, which may be replayed for ever
};

/// As CUDA's: a block goes to its next owner when the copies have passed that used it.
class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (bytes == 0) return {nullptr, nullptr, &give_back, c10::Device(c10::kCPU)};
    const std::size_t whole = (bytes + kPinnedRounding - 1) / kPinnedRounding * kPinnedRounding;
    take_back_what_passed();
    auto& same = free_[whole];
    void* address = nullptr;
    if (!same.empty()) {
      address = same.back();
      same.pop_back();
    } else {
      address = std::aligned_alloc(kPinnedRounding, whole);
      TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr, "no pinned memory of ", bytes, " bytes");
      std::memset(address, 0xFF, whole);
      blocks_[address] = {whole, {}, false};
    }
    return {address, address, &give_back, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  void use(const void* address, Stream& stream) {
    const std::lock_guard lock(mutex_);
    const auto found = block_at(address);
    if (found == blocks_.end()) return;
    if (stream.is_recorded()) {
      found->second.is_recorded = true;
    } else {
      found->second.users.insert(&stream);
    }
  }

  bool has(const void* address) {
    const std::lock_guard lock(mutex_);
    return block_at(address) != blocks_.end();
  }

  static PinnedMemory& own() {
    static auto* made = new PinnedMemory;
    return *made;
  }

 private:
  struct WaitingPinned {
    void* address;
    std::vector<Event> events;
  };

  static void give_back(void* address) {
    if (address != nullptr) own().free(address);
  }

  void free(void* address) {
    const std::lock_guard lock(mutex_);
    PinnedBlock& block = blocks_.at(address);
    if (block.is_recorded) return;
    WaitingPinned waiting{address, {}};
    for (Stream* user : block.users) {
      if (!user->is_recorded()) waiting.events.emplace_back().record(*user);
    }
    block.users.clear();
    waiting_.push_back(std::move(waiting));
    take_back_what_passed();
  }

  void take_back_what_passed() {
    std::erase_if(waiting_, [&](const WaitingPinned& waiting) {
      for (const Event& event : waiting.events) {
        if (!event.has_passed()) return false;
      }
      const std::size_t bytes = blocks_.at(waiting.address).bytes;
      std::memset(waiting.address, 0xFF, bytes);
      free_[bytes].push_back(waiting.address);
      return true;
    });
  }

  std::map<void*, PinnedBlock>::iterator block_at(const void* address) {
    auto next = blocks_.upper_bound(const_cast<void*>(address));
    if (next == blocks_.begin()) return blocks_.end();
    --next;
    const auto distance = static_cast<const std::byte*>(address) - static_cast<const std::byte*>(next->first);
    return static_cast<std::size_t>(distance) < next->second.bytes ? next : blocks_.end();
  }

  std::mutex mutex_;
  std::map<void*, PinnedBlock> blocks_;
  std::map<std::size_t, std::vector<void*>> free_;
  std::vector<WaitingPinned> waiting_;
};

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return cards() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex /*card*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(cards()); }
  c10::DeviceIndex getCurrentDevice() const override { return current_card(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &PinnedMemory::own(); }
  bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
  c10::Device getDeviceFromPtr(void* address) const override {
    return {kType, static_cast<c10::DeviceIndex>(card_of(address))};
  }
};

const bool registered_hooks = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

void use_pinned(const void* address, Stream& stream) {
  PinnedMemory::own().use(address, stream);
}
bool is_pinned(const void* address) {
  return PinnedMemory::own().has(address);
}

}  // namespace made_up::late
