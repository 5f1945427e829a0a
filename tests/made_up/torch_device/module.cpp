// The door of the module torch_cuda whose GPUs are late devices.
#include <memory>

#include "base/module_entry.h"
#include "engine/torch/streams.h"
#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

using evener::engine::torch_engine::CudaParts;
using evener::engine::torch_engine::StepGraph;

class LateStepGraph final : public StepGraph {
 public:
  ~LateStepGraph() override {
    if (pool_ != 0) release_pool(pool_);
  }

  void capture(const std::function<void()>& step) override {
    Stream& stream = stream_now(current_card());
    TORCH_CHECK(current_stream(current_card()).id() != 0, "the default stream can't be recorded");
    asked([&] { stream.begin_recording(); });
    pool_ = begin_pool(stream);
    try {
      step();
    } catch (...) {
      try {
        stream.end_recording();
      } catch (const Refused&) {  // why it failed is on its way already
      }
      end_pool(pool_);
      throw;
    }
    recording_ = asked([&] { return stream.end_recording(); });
    end_pool(pool_);
  }

  void replay() override {
    asked([&] { recording_->replay(stream_now(current_card())); });
  }

 private:
  std::uint64_t pool_ = 0;
  std::unique_ptr<Recording> recording_;
};

class LateParts final : public CudaParts {
 public:
  c10::DeviceType device_type() const override { return kType; }
  bool finds_devices() const override { return cards() > 0 && !is_spoilt_by_fork(); }
  std::unique_ptr<StepGraph> make_step_graph() override { return std::make_unique<LateStepGraph>(); }
};

const char* version() {
  return "made-up cards";
}

}  // namespace
}  // namespace made_up::late

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::engine::torch_engine::CudaParts, made_up::late::LateParts>(made_up::late::version);
}
