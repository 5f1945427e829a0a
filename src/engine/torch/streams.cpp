#include "engine/torch/streams.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <thread>

namespace evener::engine::torch_engine {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a wait spins before it sleeps: another thread couldn't use the CPU for a shorter time.
constexpr std::chrono::microseconds kSpin{50};
constexpr std::chrono::microseconds kNap{20};

class RepeatedStep : public StepGraph {
 public:
  void capture(const std::function<void()>& step) override { step_ = step; }
  void replay() override { step_(); }

 private:
  std::function<void()> step_;
};

}  // namespace

Streams::Streams(c10::Device device) : device_(device) {
  if (device.is_cpu()) return;
  // Not the default stream, which can't be captured in a graph, and where other libraries' work would wait for ours.
  const c10::impl::VirtualGuardImpl guard(device.type());
  compute_ = guard.getStreamFromGlobalPool(device);
  copy_ = guard.getStreamFromGlobalPool(device);
}

Moment::Moment(const Streams& streams, bool timed) : streams_(&streams) {
  if (!streams.asynchronous()) return;
  event_.emplace(streams.device().type(), timed ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT);
}

void Moment::record(const std::optional<c10::Stream>& stream) {
  if (event_) event_->record(*stream);
}

void Moment::hold_back(const std::optional<c10::Stream>& stream) const {
  if (event_) event_->block(*stream);
}

bool Moment::passed() const {
  return !event_ || event_->query();
}

void Moment::wait() const {
  for (const auto begin = Clock::now(); !passed();) {
    if (Clock::now() - begin <= kSpin) continue;
    streams_->look_around();
    std::this_thread::sleep_for(kNap);
  }
}

double Moment::seconds_since(const Moment& earlier) const {
  return earlier.event_->elapsedTime(*event_) / 1e3;
}

std::unique_ptr<StepGraph> make_repeated_step() {
  return std::make_unique<RepeatedStep>();
}

std::string step_graph_refusal(const StepGraphFacts& facts) {
  if (!facts.wanted) return "--step-graph off";
  if (!facts.device_has_graphs) return "there are graphs on CUDA only";
  if (facts.batch_norm_is_synchronised) return "batch-norm is synchronised with other replicas through host memory";
  if (facts.gradients_are_exchanged) return "gradients are exchanged through host memory";
  return "";
}

}  // namespace evener::engine::torch_engine
