#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

/// Streams that are dealt out in turn, as CUDA's are.
constexpr std::size_t kPool = 32;

struct CardStreams {
  std::array<std::unique_ptr<Stream>, kPool + 1> streams;
  std::size_t dealt = 0;
};

std::mutex streams_mutex;
CardStreams& streams_of_card(c10::DeviceIndex card) {
  static auto* all = new std::vector<CardStreams>(static_cast<std::size_t>(cards()));  // threads use them to the end
  TORCH_CHECK(card >= 0 && card < cards(), "there is no card ", static_cast<int>(card), ": there are ", cards());
  return (*all)[static_cast<std::size_t>(card)];
}

thread_local c10::DeviceIndex card_now = 0;
thread_local std::vector<c10::StreamId> streams_now;

c10::StreamId& id_now(c10::DeviceIndex card) {
  streams_now.resize(static_cast<std::size_t>(cards()), 0);
  return streams_now.at(static_cast<std::size_t>(card));
}

c10::Stream stream_with(c10::StreamId id, c10::DeviceIndex card) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, card), id);
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {kType, card_now}; }
  void setDevice(c10::Device device) const override {
    if (device.index() >= 0) card_now = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) card_now = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(cards()); }

  c10::Stream getStream(c10::Device device) const override { return current_stream(index_of(device)); }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream_with(0, index_of(device)); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high_priority*/) const override {
    const std::lock_guard lock(streams_mutex);
    CardStreams& own = streams_of_card(index_of(device));
    return stream_with(static_cast<c10::StreamId>(1 + own.dealt++ % kPool), index_of(device));
  }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    return getStreamFromGlobalPool(device, false);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = current_stream(stream.device_index());
    id_now(stream.device_index()) = stream.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return &stream_of(stream); }
  bool queryStream(const c10::Stream& stream) const override {
    return asked([&] { return stream_of(stream).idle(); });
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    asked([&] { stream_of(stream).wait(); });
  }
  void synchronizeDevice(const c10::DeviceIndex card) const override {
    asked([&] { wait_for_card(card); });
  }
  void recordDataPtrOnStream(const c10::DataPtr& memory_of_tensor, const c10::Stream& stream) const override {
    memory().recordStream(memory_of_tensor, stream);
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex /*card*/,
              const c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) *event = new Event;
    asked([&] { event_of(*event).record(stream_of(stream)); });
  }
  void block(void* event, const c10::Stream& stream) const override {
    asked([&] { event_of(event).hold_back(stream_of(stream)); });
  }
  bool queryEvent(void* event) const override {
    return asked([&] { return event_of(event).passed(); });
  }
  void synchronizeEvent(void* event) const override {
    asked([&] { event_of(event).wait(); });
  }
  double elapsedTime(void* earlier, void* later, const c10::DeviceIndex /*card*/) const override {
    return asked([&] { return event_of(later).milliseconds_since(event_of(earlier)); });
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*card*/) const noexcept override {
    delete static_cast<Event*>(event);
  }

 private:
  static Event& event_of(void* event) { return *static_cast<Event*>(event); }
  static c10::DeviceIndex index_of(c10::Device device) { return device.index() < 0 ? card_now : device.index(); }
};

const bool registered = [] {
  c10::register_privateuse1_backend("late");
  c10::impl::registerDeviceGuard(kType, new Guard);
  return true;
}();

}  // namespace

c10::DeviceIndex current_card() {
  return card_now;
}

c10::Stream current_stream(c10::DeviceIndex card) {
  return stream_with(id_now(card), card);
}

Stream& stream_of(const c10::Stream& stream) {
  const std::lock_guard lock(streams_mutex);
  auto& made = streams_of_card(stream.device_index()).streams.at(static_cast<std::size_t>(stream.id()));
  if (!made) made = asked([&] { return std::make_unique<Stream>(stream.device_index()); });
  return *made;
}

Stream& stream_now(c10::DeviceIndex card) {
  return stream_of(current_stream(card));
}

}  // namespace made_up::late
