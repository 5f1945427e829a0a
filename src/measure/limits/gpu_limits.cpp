#include "measure/limits/gpu_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "measure/sensors/nvml_library.h"

namespace evener::measure {
namespace {

using Nvml = std::shared_ptr<const NvmlLibrary>;

constexpr double kMilliwattsPerWatt = 1000;

class GpuLimit final : public HardwareLimit {
 public:
  GpuLimit(LimitFacts facts, Nvml library, nvml::Device device)
      : HardwareLimit(std::move(facts)), library_(std::move(library)), device_(device) {}

  std::optional<std::uint64_t> read() const override {
    return library_->ask<unsigned int>(library_->call().power_limit, device_);
  }
  std::optional<LimitProblem> set(std::uint64_t counts) const override {
    const nvml::Functions& call = library_->call();
    const nvml::Result result = call.set_power_limit == nullptr
                                    ? nvml::kNotSupported
                                    : call.set_power_limit(device_, static_cast<unsigned int>(counts));
    if (result == nvml::kSuccess) return std::nullopt;
    return LimitProblem{fmt::format("the power limit of {} could not be set to {:g} W: {}", facts().device,
                                    static_cast<double>(counts) / kMilliwattsPerWatt, call.error_string(result)),
                        result == nvml::kNoPermission};
  }
  bool may_set() const override { return ::geteuid() == 0; }

 private:
  const Nvml library_;  // kept open: a driver that nobody uses may be unloaded, and forgets its limits
  const nvml::Device device_;
};

struct Card {
  unsigned int number = 0;
  nvml::Device device = nullptr;
  std::string uuid = {};
};

std::vector<Card> cards_of(const NvmlLibrary& library) {
  std::vector<Card> cards;
  for (unsigned int number = 0; number < library.cards(); ++number) {
    Card card{.number = number};
    if (library.call().handle_by_index(number, &card.device) != nvml::kSuccess) continue;
    card.uuid = library.uuid(card.device);
    cards.push_back(card);
  }
  return cards;
}

/// By UUID, or else by number: a part of a card (MIG) has a UUID of its own.
bool is_among(const Card& card, const std::vector<Card>& all, const std::vector<LimitedGpu>& gpus) {
  return std::ranges::any_of(gpus, [&](const LimitedGpu& gpu) {
    const bool by_uuid = !gpu.uuid.empty() && std::ranges::find(all, gpu.uuid, &Card::uuid) != all.end();
    return by_uuid ? card.uuid == gpu.uuid : card.number == static_cast<unsigned int>(card_of(gpu.index));
  });
}

std::unique_ptr<GpuLimit> limit_of(const Card& card, const Nvml& library) {
  const nvml::Functions& call = library->call();
  unsigned int least = 0, most = 0;
  if (call.power_limit_range == nullptr || call.power_limit_range(card.device, &least, &most) != nvml::kSuccess ||
      !library->ask<unsigned int>(call.power_limit, card.device)) {
    return nullptr;
  }
  return std::make_unique<GpuLimit>(
      LimitFacts{.id = "nvml/" + (card.uuid.empty() ? std::to_string(card.number) : card.uuid),
                 .device = fmt::format("gpu {}", card.number),
                 .counts_per_unit = kMilliwattsPerWatt,
                 .least = least,
                 .most = most},
      library, card.device);
}

}  // namespace

LimitSet find_gpu_limits(const std::filesystem::path& library, const std::optional<std::vector<LimitedGpu>>& gpus) {
  LimitSet set{.what = "GPU power", .option = "--power-limit gpu=WATTS", .unit = "W"};
  const Nvml nvml = std::make_shared<const NvmlLibrary>(library);
  if (!nvml->refusal().empty()) {
    set.refusal = nvml->refusal();
    set.remedy = nvml->remedy();
    return set;
  }
  std::string numbers;
  const std::vector<Card> cards = cards_of(*nvml);
  for (const Card& card : cards) {
    if (gpus && !is_among(card, cards, *gpus)) continue;
    if (std::unique_ptr<GpuLimit> limit = limit_of(card, nvml)) set.limits.push_back(std::move(limit));
    numbers += (numbers.empty() ? "" : ",") + std::to_string(card.number);
  }
  set.command = [numbers](std::uint64_t counts) {
    return fmt::format("sudo nvidia-smi -i {} -pl {:g}", numbers, static_cast<double>(counts) / kMilliwattsPerWatt);
  };
  if (set.limits.empty()) {
    set.refusal = numbers.empty() ? "NVML shows none of the GPUs in use"
                                  : fmt::format(
                                        "there is nothing to set: the driver has no power limit for GPU {} "
                                        "(usual in laptops and virtual machines)",
                                        numbers);
  }
  return set;
}

}  // namespace evener::measure
