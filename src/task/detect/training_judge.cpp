#include "task/detect/training_judge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/message.h"
#include "data/targets.h"
#include "task/detect/decode.h"

namespace evener::task {
namespace {

/// What an output has of one image.
std::span<const float> of_image(const HostTensor& output, std::size_t image) {
  const auto values = static_cast<std::size_t>(element_count(output.shape) / output.shape.front());
  return {output.floats() + image * values, values};
}

std::size_t index_of(const network::Network& network, const char* name) {
  const auto& outputs = network.outputs();
  const auto found = std::ranges::find(outputs, name, &network::Output::name);
  if (found == outputs.end()) throw Error(network.model() + " has no output '" + name + "', which detectors have");
  return static_cast<std::size_t>(found - outputs.begin());
}

class DetectionJudge : public parallel::OutputJudge {
 public:
  DetectionJudge(const network::Network& network, std::size_t classes)
      : anchors_(network.anchors()),
        boxes_(index_of(network, "boxes")),
        scores_(index_of(network, "scores")),
        height_(static_cast<float>(network.input_shape()[1])),
        width_(static_cast<float>(network.input_shape()[2])),
        classes_(classes),
        tally_(classes) {
    options_.confidence = 0.001F;
  }

  void begin() override { tally_ = DetectionTally(classes_); }

  void add(const data::Batch& batch, const std::vector<HostTensor>& outputs) override {
    const auto boxes = data::box_lists(batch.targets);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const std::vector<Detection> found = decode(of_image(outputs.at(boxes_), i), of_image(outputs.at(scores_), i),
                                                  anchors_, width_, height_, options_);
      const std::vector<TrueBox> truth(boxes[i].begin(), boxes[i].end());
      tally_.add(batch.samples[i], found, truth);
    }
  }

  std::string verdict() const override { return pack_message(tally_); }

 private:
  const std::vector<network::Anchor> anchors_;
  const std::size_t boxes_, scores_;  // indices of the outputs
  const float height_, width_;
  const std::size_t classes_;
  DecodeOptions options_;
  DetectionTally tally_;
};

}  // namespace

std::unique_ptr<parallel::OutputJudge> make_detection_judge(const network::Network& network, std::size_t classes) {
  return std::make_unique<DetectionJudge>(network, classes);
}

DetectionQuality quality_of_verdicts(std::span<const std::string> verdicts) {
  DetectionTally all;
  for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
    auto part =
        unpack_message<DetectionTally>(verdicts[rank], "the boxes that rank " + std::to_string(rank) + " found");
    if (rank == 0) {
      all = std::move(part);
    } else {
      all.join(part);
    }
  }
  return quality_of(all);
}

}  // namespace evener::task
