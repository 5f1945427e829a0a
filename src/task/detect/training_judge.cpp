#include "task/detect/training_judge.h"

#include <utility>
#include <vector>

#include "base/message.h"
#include "data/targets.h"
#include "task/detect/output_boxes.h"

namespace evener::task {
namespace {

DecodeOptions judged_options() {
  DecodeOptions options;
  options.confidence = 0.001F;
  return options;
}

class DetectionJudge : public parallel::OutputJudge {
 public:
  DetectionJudge(const network::Network& network, std::size_t classes)
      : boxes_(network, judged_options()), classes_(classes), tally_(classes) {}

  void begin() override { tally_ = DetectionTally(classes_); }

  void add(const data::Batch& batch, const std::vector<HostTensor>& outputs) override {
    const auto boxes = data::box_lists(batch.targets);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const std::vector<TrueBox> truth(boxes[i].begin(), boxes[i].end());
      tally_.add(batch.samples[i], boxes_.found(outputs, i), truth);
    }
  }

  std::string verdict() const override { return pack_message(tally_); }

 private:
  const OutputBoxes boxes_;
  const std::size_t classes_;
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
